"""Output about topics whose ledgers are in all locations, compared with the admin REST API; audits of reads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster import everywhere as places
from integration.cluster.administration import ClusterAdmin
from integration.cluster.everywhere import PARTED, PARTITIONS, PLAIN, Everywhere
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

import pyspark_pulsar
from pyspark_pulsar.datasource import PulsarDataSource

READERS = {
    places.BUCKET: "tiered",
    # The policy now names the bucket, where these are not; bookies have kept them.
    places.FOLDER: "bookie",
    places.TWO_BOOKIES: "bookie",
    places.THREE_BOOKIES: "bookie",
    places.OPEN: "broker",
}
Facts = dict[str, Any]


def command(name: str, options: dict[str, str], *more: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user types it; options without a flag of their own are passed with --option."""
    given = dict(options)
    arguments = [given.pop("topic"), "--service-url", given.pop("service.url")]
    arguments += ["--admin-url", given.pop("admin.url")]
    for key, value in given.items():
        arguments += ["--option", f"{key}={value}"]
    line = [sys.executable, "-m", "pyspark_pulsar.tools.cli", name, *arguments, *more]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)


def output_of(name: str, options: dict[str, str], *more: str) -> list[Facts]:
    done = command(name, options, "--json", *more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def stated(admin: ClusterAdmin, partition: str) -> dict[int, Facts]:
    """Return the admin REST API's facts about each ledger."""
    path = "persistent/" + partition.removeprefix("persistent://")
    stats = json.loads(admin.request("GET", f"{path}/internalStats?metadata=true").data)
    info = json.loads(admin.request("GET", f"{path}/internal-info").data)
    closed = {each["ledgerId"]: each for each in info["ledgers"]}
    found = {each["ledgerId"]: {**closed[each["ledgerId"]], **each} for each in stats["ledgers"]}
    last = found[stats["ledgers"][-1]["ledgerId"]]
    last |= {"entries": stats["currentLedgerEntries"], "size": stats["currentLedgerSize"]}
    return found


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def readers_in(plan: list[Facts]) -> dict[tuple[str, int, int], set[str]]:
    """Return the readers that return entries, by topic, partition and ledger."""
    found: dict[tuple[str, int, int], set[str]] = {}
    for split in plan:
        for split_range in split["pieces"]:
            for ledger in split_range["ledgers"]:
                key = (split["topic"], split["partition"], ledger)
                found.setdefault(key, set()).add(split_range["reader"])
    return found


@pytest.mark.parametrize("topic", [PLAIN, PARTED], ids=["plain", "partitioned"])
def test_segments_are_what_the_admin_api_and_the_plan_say(
    topic: str, everywhere: Everywhere, cluster: PulsarCluster, cluster_admin: ClusterAdmin
) -> None:
    options = everywhere.options(cluster, topic)
    lines = output_of("segments", options)
    planned = readers_in(output_of("plan", options))
    names = [name for name in PARTITIONS if name.startswith(topic)]
    assert [(line["topic"], line["partition"], line["ledger"]) for line in lines] == [
        (topic, number if topic == PARTED else -1, ledger)
        for number, name in enumerate(names)
        for ledger in sorted(everywhere.places[name])
    ]
    for number, name in enumerate(names):
        facts = stated(cluster_admin, name)
        ensembles = cluster_admin.ensembles(name)
        before = None
        for line in lines:
            if line["partition"] not in {-1, number}:
                continue
            ledger, place = line["ledger"], everywhere.places[name][line["ledger"]]
            assert (line["entries"], line["bytes"]) == (facts[ledger]["entries"], facts[ledger]["size"]), name
            assert line["state"] == ("open" if place == places.OPEN else "closed")
            offloaded = place in {places.BUCKET, places.FOLDER}
            assert line["location"] == ("tiered" if offloaded else "bookie")
            assert (line["opened"] and milliseconds(line["opened"])) == before
            before = None if line["closed"] is None else milliseconds(line["closed"])
            assert before == (None if place == places.OPEN else facts[ledger]["timestamp"])
            assert not offloaded or f"{facts[ledger]['offloadedContextUuid']}-ledger-{ledger}" in line["copy"]
            if not offloaded:
                assert line["copy"] is None
                assert set(ensembles[ledger]) <= set(line["bookies"])
            expected = READERS[place] if line["entries"] else None
            assert (line["reader"], line["skipped"]) == (expected, None if expected else "empty")
            assert planned.get((topic, line["partition"], ledger), {None}) == {expected}
            assert line["fault"] is None


def test_the_picture_has_every_ledger(everywhere: Everywhere, cluster: PulsarCluster, tmp_path: Path) -> None:
    page = tmp_path / "segments.html"
    options = everywhere.options(cluster, PARTED)
    done = command("segments", options, "--html", str(page))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert str(page) in done.stderr
    assert "secret" not in page.read_text()
    root = ET.fromstring(page.read_text().removeprefix("<!DOCTYPE html>\n"))
    rows = [[cell.text or "" for cell in row.iter("td")] for row in root.iter("tr")][1:]
    lines = output_of("segments", options)
    assert [(row[1], row[2], row[3].replace(",", ""), row[-1]) for row in rows] == [
        (str(line["ledger"]), line["state"], str(line["entries"]), line["reader"] or "not read: empty")
        for line in lines
    ]
    bars = [each for each in root.iter() if "ledger" in (each.get("class") or "").split()]
    assert len(bars) == len(lines)


def test_a_read_that_would_fail_is_reported_with_its_ledgers(
    everywhere: Everywhere, cluster: PulsarCluster, spark: SparkSession
) -> None:
    options = everywhere.options(cluster, PLAIN, readFrom="tiered")
    done = command("segments", options)
    assert done.returncode == 0
    assert "A read with these options would fail" in done.stderr
    rows = pyspark_pulsar.segments(spark, **options).collect()
    assert [row.ledger for row in rows] == sorted(everywhere.places[PLAIN])
    (fault,) = {row.fault for row in rows}
    assert fault in done.stderr
    assert {row.reader for row in rows} == {None}
    refused = command("plan", options)
    assert refused.returncode == 1
    assert fault in refused.stderr


def test_a_plan_by_time(everywhere: Everywhere, cluster: PulsarCluster, cluster_admin: ClusterAdmin) -> None:
    """Ledgers outside of the window are left out, and listed as such; the ledgers of all rows inside are
    read.
    """
    rows = everywhere.rows[PLAIN]
    last = everywhere.ledgers(PLAIN, places.TWO_BOOKIES)[-1]
    first_of_next = next(row for row in rows if row[0].ledger > last)
    begin = round(first_of_next[1]["__publishTime"].timestamp() * 1000)
    options = everywhere.options(cluster, PLAIN, clockSlackMs="500")
    times = ("--starting-timestamp", str(begin))
    splits = output_of("plan", options, *times)
    read = {ledger for _, _, ledger in readers_in(splits)}
    facts = stated(cluster_admin, PLAIN)
    opened = everywhere.ledgers(PLAIN, places.OPEN)[-1]
    assert read == {
        ledger
        for ledger, each in facts.items()
        if each["entries"] and (ledger == opened or each["timestamp"] >= begin - 500)
    }
    assert read < facts.keys()
    wanted = {row[0].ledger for row in rows if row[1]["__publishTime"].timestamp() * 1000 >= begin}
    assert wanted <= read
    assert {milliseconds(split["published_from"]) for split in splits} == {begin}
    for ledger in read - {opened}:
        ranges = [each for split in splits for each in split["pieces"] if each["ledgers"] == [ledger]]
        assert sum(each["entries"] for each in ranges) == facts[ledger]["entries"]
    text = command("plan", options, *times).stdout
    left_out = sum(each["entries"] for ledger, each in facts.items() if ledger not in read)
    assert f"{left_out:,} entries" in text
    assert "closed before startingTimestamp" in text


def test_tables_in_spark_are_what_the_command_says(
    everywhere: Everywhere, cluster: PulsarCluster, spark: SparkSession
) -> None:
    options = everywhere.options(cluster, PARTED, minPartitions="9")
    assert as_json(pyspark_pulsar.segments(spark, **options)) == output_of("segments", options)
    splits = pyspark_pulsar.plan(spark, **options)
    assert splits.count() == spark.read.format("pulsar").options(**options).load().rdd.getNumPartitions()
    assert as_json(splits) == output_of("plan", options)


def as_json(frame: DataFrame) -> list[Facts]:
    lines = [json.dumps(row, default=lambda time: time.isoformat()) for row in frame.toArrow().to_pylist()]
    return [json.loads(line) for line in lines]


def test_an_audit_of_a_batch(
    everywhere: Everywhere,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    """Every entry of closed ledgers was read, as many as the admin REST API counts."""
    path = str(tmp_path / "audits")
    options = everywhere.options(cluster, PARTED, maxBytesPerPartition="80000", auditPath=path)
    names = PARTITIONS[1:]
    frame = spark.read.format("pulsar").options(**options).load()
    assert frame.count() == sum(len(everywhere.rows[name]) for name in names)
    rows = pyspark_pulsar.audit(spark, path).collect()
    assert len({row.run for row in rows}) == 1
    assert {row.topic for row in rows} == {PARTED}
    assert not [row for row in rows if row.short or row.fallbacks or row.repeated]
    for number, name in enumerate(names):
        facts = stated(cluster_admin, name)
        found = {row.ledger: row for row in rows if row.partition == number}
        for ledger, place in everywhere.places[name].items():
            entries = facts[ledger]["entries"]
            if not entries:
                continue
            row = found.pop(ledger)
            assert row.readers == [READERS[place]]
            if place != places.OPEN:
                assert (row.expected, row.entries, row.last_ledger) == (entries, entries, ledger)
                assert (row.first, row.last) == (f"{ledger}:0", f"{ledger}:{entries - 1}")
                assert row.bytes == facts[ledger]["size"]
            else:
                # The broker sends no markers, and nothing after the beginning of the open transaction.
                assert row.expected is None
                assert 0 < row.entries <= entries
        assert not found
    parts = pyspark_pulsar.audit(spark, path, attempts=True).collect()
    assert Counter(row.ledger for row in parts if row.reader == "tiered")
    assert {row.state for row in parts} == {"finished"}
    assert all(row.counts for row in parts)


def short_source(what: str) -> type[DataSource]:
    """Return a source `short-pulsar` whose tasks do not read everything; `what` names the method that returns less.

    Spark pickles a class within a function by value, so workers need no module of it.
    """

    class ShortReader(DataSourceReader):
        def __init__(self, reader: DataSourceReader) -> None:
            self.whole = reader

        def partitions(self) -> Any:
            return self.whole.partitions()

        def read(self, partition: InputPartition) -> Iterator[Any]:
            from pyspark_pulsar.read.sources.closed_ledger import ClosedLedger
            from pyspark_pulsar.read.task.fallback import RangeReader

            # A location that returns nothing; a range that ends after its first entries.
            owner, batches = {"open": (ClosedLedger, 0), "entries": (RangeReader, 1)}[what]
            original = getattr(owner, what)

            def short(*given: Any, **named: Any) -> Iterator[Any]:
                with closing(original(*given, **named)) as source:
                    yield from islice(source, batches)

            setattr(owner, what, short)
            try:
                yield from self.whole.read(partition)
            finally:
                setattr(owner, what, original)

    class ShortSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "short-pulsar"

        def schema(self) -> StructType:
            return PulsarDataSource(self.options).schema()

        def reader(self, schema: StructType) -> DataSourceReader:
            return ShortReader(PulsarDataSource(self.options).reader(schema))

    return ShortSource


@pytest.mark.parametrize(
    ("what", "read_from", "said"),
    [
        ("open", "bookie", "entries, got"),
        ("open", "auto", None),
        ("entries", "bookie", "audit of the split"),
        ("entries", "auto", "audit of the split"),
        ("entries", "broker", "audit of the split"),
    ],
)
def test_a_short_split_fails_the_job(
    what: str,
    read_from: str,
    said: str | None,
    everywhere: Everywhere,
    cluster: PulsarCluster,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    """A negative control on real data: without the audit, these reads would succeed, with rows missing.

    With `auto`, the broker replaces a location that is short.
    """
    path = str(tmp_path / "audits")
    ledgers = everywhere.ledgers(PLAIN, places.TWO_BOOKIES)
    bounds = {
        "startingOffsets": json.dumps({PLAIN: f"{ledgers[0]}:0"}),
        "endingOffsets": json.dumps({PLAIN: f"{ledgers[-1] + 1}:0"}),
    }
    options = everywhere.options(cluster, PLAIN, readFrom=read_from, auditPath=path) | bounds
    spark.dataSource.register(short_source(what))
    rows = [row for row in everywhere.rows[PLAIN] if ledgers[0] <= row[0].ledger <= ledgers[-1]]
    frame = spark.read.format("short-pulsar").options(**options).load()
    if said is None:
        assert frame.count() == len(rows)
        audit = pyspark_pulsar.audit(spark, path).collect()
        assert [text for row in audit for text in row.fallbacks if "entries, got" in text]
        assert not [row for row in audit if row.short]
        return
    with pytest.raises(Exception, match=r"LedgerUnavailable(?s:.*)" + said) as failed:
        frame.count()
    assert PLAIN in str(failed.value)
    audit = pyspark_pulsar.audit(spark, path, attempts=True).collect()
    assert {row.state for row in audit} == {"failed"}
    assert all("LedgerUnavailable" in row.error for row in audit)
    assert spark.read.format("pulsar").options(**options).load().count() == len(rows)
