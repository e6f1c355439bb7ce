"""Tables that others read and change: other engines, missing files, upkeep, the command line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pulsar as official_client
import pyarrow as pa
import pytest
from click.testing import CliRunner
from fixtures.key_pair import new_key_pair
from fixtures.position_deletes import delete_rows
from integration.tier.conftest import ENTRIES, ICEBERG, Tier, both_formats
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.manifest import DataFileContent
from pyspark.sql import SparkSession

import pyspark_pulsar
from pyspark_pulsar.errors import ColumnsUnavailable, DataLossError, DecryptionError, TierMismatch
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering import upkeep
from pyspark_pulsar.history.tiering.definition import parse_table_settings
from pyspark_pulsar.history.tiering.upkeep import keep_up
from pyspark_pulsar.inspect.planned_splits import planned_splits
from pyspark_pulsar.inspect.segments import survey
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.tools.cli import cli

Same = Callable[..., pa.Table]
Call = Callable[..., str]


def catalog_of(tier: Tier) -> Catalog:
    """Open the catalog with pyiceberg alone, without this package."""
    return load_catalog("default", **tier.catalog)


def url_of(path: str) -> str:
    return path.removeprefix("file://")


def data_files(tier: Tier) -> list[Path]:
    return [Path(url_of(file.url)) for file in tier.table.files()]


def fill(tier: Tier, rounds: int = 4) -> None:
    for number in range(rounds):
        tier.send(range(number * ENTRIES, (number + 1) * ENTRIES), batching_enabled=False)
        tier.roll()
        tier.run()


def test_other_engines_read_the_table(tier: Tier) -> None:
    fill(tier, 2)
    expected = tier.rows(columns="value")["value"].to_pylist()
    table = catalog_of(tier).load_table(tier.table.name)
    assert table.metadata.format_version == 2
    assert str(table.spec().fields[0].transform) == "day"
    assert sorted(table.scan().to_arrow()["value"].to_pylist()) == sorted(expected)
    by_duckdb = duckdb.sql(
        f"SELECT value FROM read_parquet({[str(path) for path in data_files(tier)]})"
    ).fetchall()
    assert sorted(value for (value,) in by_duckdb) == sorted(expected)
    by_polars = pl.scan_iceberg(table).select("value").collect()
    assert sorted(by_polars["value"].to_list()) == sorted(expected)
    # Reads find files by position and by time.
    first = table.scan(row_filter="__messageId.entry < 5").to_arrow()
    assert first.num_rows == 10
    assert not list(table.scan(row_filter="__publishTime < '2001-01-01T00:00:00+00:00'").plan_files())


def test_files_rewritten_by_another_engine_are_read(tier: Tier, same: Same) -> None:
    """The other engine writes one file with the unsorted rows of two partitions; the tiered end stays the
    same.
    """
    tier.admin.create_partitioned(tier.topic, 2)
    tier.send(range(10 * ENTRIES), batching_enabled=True, batching_max_messages=3)
    tier.roll()
    tier.run()
    positions = tier.table.positions
    table = catalog_of(tier).load_table(tier.table.name)
    rows = table.scan().to_arrow()
    order = pa.array([(index * 7919) % rows.num_rows for index in range(rows.num_rows)])
    assert len(set(order.to_pylist())) == rows.num_rows
    table.overwrite(rows.take(order))
    assert tier.table.positions == positions
    assert set(tier.places()) == {"columns"}
    assert same().num_rows == 10 * ENTRIES
    middle = same(columns="__messageId").to_pylist()[5 * ENTRIES]["__messageId"]
    partition = f"{tier.topic}-partition-{middle['partition']}"
    same(startingOffsets=json.dumps({partition: f"{middle['ledger']}:{middle['entry']}", "*": "earliest"}))
    # Tiering continues after the rewrite.
    tier.send(range(10 * ENTRIES, 12 * ENTRIES), batching_enabled=False)
    tier.roll()
    tier.run()
    assert same().num_rows == 12 * ENTRIES


def test_rows_deleted_by_another_engine_stay_deleted(tier: Tier) -> None:
    fill(tier, 2)
    table = catalog_of(tier).load_table(tier.table.name)
    table.delete(EqualTo("__key", b"k3"))  # type: ignore[call-arg]
    keys = tier.rows(columns="__key")["__key"].to_pylist()
    assert 0 < len(keys) < 2 * ENTRIES
    assert b"k3" not in keys


def test_deletion_files_of_another_engine_are_obeyed(tier: Tier) -> None:
    """Deletions apply on read, for any range, batch size and selection of columns."""
    fill(tier, 3)
    tier.send(range(1000, 1005))
    before = tier.rows()
    first, second = (file.url for file in sorted(tier.table.files(), key=lambda file: file.first)[:2])
    delete_rows(catalog_of(tier).load_table(tier.table.name), {first: [0, 3, 4, ENTRIES - 1]})
    delete_rows(catalog_of(tier).load_table(tier.table.name), {first: [5], second: list(range(ENTRIES))})
    gone = {0, 3, 4, 5, *range(ENTRIES - 1, 2 * ENTRIES)}
    kept = before.take([number for number in range(before.num_rows) if number not in gone])
    assert tier.rows().equals(kept)
    assert tier.rows(columns="value", batchRows="3").equals(kept.select(["value"]))
    assert tier.rows(minPartitions="7").equals(kept)
    at = before["__messageId"][2].as_py()
    start = json.dumps({tier.topic: f"{at['ledger']}:{at['entry']}"})
    assert tier.rows(startingOffsets=start).equals(kept.slice(1))
    # Compaction skips files with rows that others deleted, and rounds continue.
    keep_up(tier.table)
    assert tier.rows().equals(kept)
    tier.roll()
    tier.run()
    assert tier.rows().equals(kept)
    by_value = catalog_of(tier).load_table(tier.table.name)
    delete_rows(by_value, {second: [1]}, DataFileContent.EQUALITY_DELETES)
    with pytest.raises(ColumnsUnavailable, match="position deletes"):
        tier.rows()


def test_a_table_keeps_the_users_partitioning_and_sort_order(tier: Tier, same: Same) -> None:
    settings = parse_table_settings("day(__publishTime),__key", "__eventTime,value")
    tier.send(range(20 * ENTRIES), batching_enabled=True, batching_max_messages=7)
    tier.roll()
    tier.run(settings)
    assert len(tier.table.files()) >= 7
    table = catalog_of(tier).load_table(tier.table.name)
    assert [field.name for field in table.spec().fields] == ["publishTime_day", "key"]
    assert len(list(table.scan(row_filter=EqualTo("__key", b"k3")).plan_files())) == 1  # type: ignore[call-arg]
    assert same().num_rows == 20 * ENTRIES
    same(columns="value")


def test_ledgers_replace_a_missing_file(tier: Tier, same: Same) -> None:
    fill(tier, 3)
    expected = tier.rows(readFrom="broker")
    gone = data_files(tier)[1]
    gone.unlink()
    # The ledgers still exist.
    assert tier.rows().equals(expected)
    with pytest.raises(ColumnsUnavailable, match=gone.name):
        tier.rows(readFrom="columns")
    tier.trim()
    with pytest.raises(ColumnsUnavailable, match=gone.name):
        tier.rows()


def test_a_damaged_file_repeats_no_row(tier: Tier) -> None:
    """Rows that were returned before the fault are not returned again."""
    tier.send(range(5 * ENTRIES), batching_enabled=False)
    tier.roll()
    tier.run()
    expected = tier.rows(readFrom="broker")
    (path,) = data_files(tier)
    data = bytearray(path.read_bytes())
    # The damage is in the pages of the last columns, so that other columns are read before.
    place = len(data) * 2 // 3
    data[place : place + 64] = bytes(64)
    path.write_bytes(data)
    assert tier.rows(maxBytesPerPartition="100000000").equals(expected)


def test_ledgers_replace_an_unreachable_catalog(tier: Tier) -> None:
    fill(tier, 2)
    away = json.dumps({"type": "rest", "uri": "http://127.0.0.1:9/", "token": "hush-hush"})
    for call in (tier.rows, tier.run):
        with pytest.raises(ColumnsUnavailable) as told:
            call(tierCatalog=away)
        assert "hush-hush" not in str(told.value)
        assert "hush-hush" not in repr(tier.options(tierCatalog=away))
    # For a start at a position, the ledgers show whether rows are missing.
    middle = tier.rows(readFrom="broker").to_pylist()[ENTRIES // 2]["__messageId"]
    start = json.dumps({tier.topic: f"{middle['ledger']}:{middle['entry']}"})
    expected = tier.rows(startingOffsets=start)
    assert tier.rows(startingOffsets=start, tierCatalog=away).equals(expected)
    tier.send(range(1), batching_enabled=False)
    tier.trim()
    with pytest.raises(DataLossError):
        tier.rows(startingOffsets=start, tierCatalog=away)
    assert tier.rows(startingOffsets=start).num_rows == expected.num_rows + 1


def test_columns_alone_need_the_table(tier: Tier) -> None:
    tier.send(range(2 * ENTRIES), batching_enabled=False)
    with pytest.raises(ColumnsUnavailable, match="expected a table of the topic"):
        tier.rows(readFrom="columns")
    tier.roll()
    tier.run()
    tier.send(range(ENTRIES // 2), batching_enabled=False)
    assert tier.rows(readFrom="columns").num_rows == 2 * ENTRIES
    assert tier.rows().num_rows == 2 * ENTRIES + ENTRIES // 2


def test_a_table_of_another_owner_is_refused(tier: Tier) -> None:
    fill(tier, 1)
    other = catalog_of(tier)
    namespace = tier.table.name.rpartition(".")[0]
    other.create_table(f"{namespace}.theirs", pa.schema([pa.field("a", pa.int64())]))
    for call in (tier.rows, tier.run):
        with pytest.raises(TierMismatch, match=r"expected the table of topic .*, got a table of no topic"):
            call(tierTable=namespace + ".{topic}heirs")


@both_formats
def test_upkeep_compacts_and_expires(tier: Tier, same: Same) -> None:
    fill(tier, 5)
    before = same()
    orphan = data_files(tier)[0].with_name("-1-1-1-" + "0" * 32 + ".parquet")
    orphan.write_bytes(b"left by a task that failed")
    fresh = orphan.with_name("-1-1-1-" + "1" * 32 + ".parquet")
    fresh.write_bytes(b"of a task that runs")
    os.utime(orphan, (time.time() - 200_000,) * 2)
    done = keep_up(tier.table)
    assert (done.compacted, done.made, done.swept, done.expired) == (5, 1, 1, 0)
    assert not orphan.exists()
    assert fresh.exists()
    assert same().equals(before)
    assert keep_up(tier.table).made == 0
    # Snapshots expire later, and with them the small files.
    assert len(list(fresh.parent.rglob("*.parquet"))) == 5 + 1 + 1
    # Delta keeps its log for longer than its files.
    assert keep_up(tier.table, expire_after=0).expired == (5 if tier.table.format == ICEBERG else 0)
    assert len(list(fresh.parent.rglob("*.parquet"))) == 1 + 1
    assert same().equals(before)
    tier.send(range(ENTRIES), batching_enabled=False)
    tier.roll()
    tier.run()
    assert same().num_rows == before.num_rows + ENTRIES


@both_formats
def test_a_round_commits_during_compaction(
    tier: Tier, same: Same, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tier, 2)
    tier.send(range(2 * ENTRIES, 3 * ENTRIES), batching_enabled=False)
    tier.roll()
    plain, others = upkeep._rewrite_files, []

    def rewritten(*arguments: Any) -> Any:
        others.append(tier.run().rows)
        return plain(*arguments)

    monkeypatch.setattr(upkeep, "_rewrite_files", rewritten)
    assert "another writer has committed; run the command again" in call("compact")
    assert others == [ENTRIES]
    assert same().num_rows == 3 * ENTRIES
    assert "3 files became 1" in call("compact")
    assert same().num_rows == 3 * ENTRIES


@pytest.fixture
def call(tier: Tier, tmp_path: Path) -> Call:
    """Return a function that runs a command about the topic and returns its output."""
    file = tmp_path / "catalog.json"
    file.write_text(json.dumps(tier.catalog))
    where = [
        "--service-url",
        tier.server.service_url,
        "--admin-url",
        tier.server.admin_url,
        "--catalog",
        str(file),
    ]

    def call(command: str, *arguments: str) -> str:
        done = CliRunner().invoke(
            cli, ["tier", command, tier.topic, *where, *arguments], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        return done.output

    return call


@both_formats
def test_tier_commands(tier: Tier, call: Call) -> None:
    tier.send(range(3 * ENTRIES), batching_enabled=False)
    tier.roll()
    # The read loads the topic.
    assert tier.rows().num_rows == 3 * ENTRIES
    (before,) = (json.loads(line) for line in call("status", "--json").splitlines())
    assert (before["format"], before["ledgers_behind"]) == (None, 3)
    (ran,) = (json.loads(line) for line in call("run", "--json").splitlines())
    assert (ran["rows"], ran["fault"]) == (3 * ENTRIES, None)
    (after,) = (json.loads(line) for line in call("status", "--json").splitlines())
    assert (after["ledgers_behind"], after["rows"]) == (0, 3 * ENTRIES)
    assert after["format"] == tier.table.format
    assert after["table"] in call("status")
    assert "files became" in call("compact")
    assert "dropped" in call("drop", "--yes")
    assert tier.rows().num_rows == 3 * ENTRIES


@both_formats
def test_spark_tasks_write_the_files(tier: Tier, same: Same, spark: SparkSession, tmp_path: Path) -> None:
    tier.admin.create_partitioned(tier.topic, 2)
    tier.send(range(20 * ENTRIES), batching_enabled=False)
    options = {**tier.texts(), "maxBytesPerPartition": 1000}
    (outcome,) = pyspark_pulsar.tier(spark, **options)
    assert outcome.rows > 15 * ENTRIES
    assert same().num_rows == 20 * ENTRIES
    # A failure of one topic is reported under its name, and does not stop the other topics.
    bad, good, pair = f"{tier.topic}-bad", f"{tier.topic}-good", new_key_pair(tmp_path)
    # The tasks do not get the private key.
    keys = official_client.CryptoKeyReader(pair.public, pair.private)
    for topic, encryption in ((bad, {"encryption_key": "one", "crypto_key_reader": keys}), (good, {})):
        producer = tier.official.create_producer(topic, **encryption)
        producer.send(b"something")
        producer.close()
        tier.admin.unload(topic)
    options = {key: text for key, text in tier.texts().items() if key != "topic"}
    with pytest.raises(DecryptionError):
        pyspark_pulsar.tier(spark, topics=json.dumps([bad, good]), **options)
    tables = TopicTables(tier.options())
    files = [table.files() for topic in (bad, good) if (table := tables.load(TopicName.parse(topic)))]
    assert [len(of_one) for of_one in files] == [0, 1]


def test_plan_and_segments_show_the_location_of_rows(tier: Tier) -> None:
    """The plan and the segments list what is read from the table, also for removed ledgers."""
    fill(tier)
    tier.send(range(1000, 1010))
    tier.trim()
    rows = tier.table.files()
    options = tier.options()
    seen = survey(options)
    (part,) = seen.tables
    assert (part.files, part.rows, part.is_read) == (len(rows), sum(file.rows for file in rows), True)
    assert len(seen.segments) < len({file.ledgers for file in rows})
    planned = planned_splits(tier.plan())
    assert sum(split.rows or 0 for split in planned) == part.rows
    assert "columns" in {reader for split in planned for reader in split.readers}
    (unread,) = survey(tier.options(startingOffsets="latest", endingOffsets="latest")).tables
    assert (unread.is_read, unread.skipped) == (False, "outside of the requested range")
    assert survey(tier.options(readFrom="broker", failOnDataLoss="false")).tables == ()
    arguments = [
        tier.topic,
        f"--service-url={tier.server.service_url}",
        f"--admin-url={tier.server.admin_url}",
    ]
    arguments.append(f"--option=tierCatalog={json.dumps(tier.catalog)}")
    for command, text in (("segments", f"table {tier.table.name}"), ("plan", f"about {part.rows:,} rows")):
        shown = CliRunner().invoke(cli, [command, *arguments])
        assert shown.exit_code == 0, shown.output
        assert text in shown.output.replace("\n", " ")
