"""Topics of several ledgers: plans by size, number and time, rows at every cut, and what retention has removed."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from integration.official import Admin, messages_of
from integration.raw_producer import RawProducer
from integration.streams import Stream
from pyspark.sql import SparkSession

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import DataLossError, OptionError, PermissionDenied
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import BatchPlan, plan_batch
from pyspark_pulsar.read.batch.batch_reader import PulsarBatchReader
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.tools.standalone import LocalPulsar

Id = tuple[int, int, int]
Options = Callable[..., ReadOptions]
Fill = Callable[[int], list[Id]]
BATCH = 20


@pytest.fixture
def options(topic: str, pulsar: LocalPulsar) -> Options:
    """Return `options(readFrom="broker")`, which returns options to read the test's topic."""

    def make(**given: str) -> ReadOptions:
        known = {"service.url": pulsar.service_url, "admin.url": pulsar.admin_url, "topic": topic}
        return parse_options(ReadOptions, known | given)

    return make


@pytest.fixture
def fill(topic: str, official: official_client.Client, admin: Admin) -> Fill:
    """Return `fill(ledgers)`, which adds messages and returns the ids of all messages of the topic.

    It adds the given number of closed ledgers with batched and single messages, and messages in an open
    ledger.
    """

    def send(number: int, *, batched: bool) -> None:
        producer = official.create_producer(
            topic,
            batching_enabled=batched,
            batching_max_messages=BATCH,
            batching_max_publish_delay_ms=600_000,
            block_if_queue_full=True,
        )
        for index in range(number):
            producer.send_async(str(index).encode() * 3, callback=lambda *_: None)
        producer.flush()
        producer.close()

    def write(ledgers: int) -> list[Id]:
        for index in range(ledgers):
            send(200, batched=index % 2 == 0)
            admin.unload(topic)
        send(100, batched=True)
        found = [message.message_id() for message in messages_of(official, topic)]
        return [(each.ledger_id(), each.entry_id(), max(0, each.batch_index())) for each in found]

    return write


def rows_of(options: ReadOptions) -> list[Id]:
    reader = PulsarBatchReader(options, resolve_source_schema(options))
    batches = [batch for split in reader.partitions() for batch in reader.read(split)]
    return [as_id(row) for batch in batches for row in batch.column("__messageId").to_pylist()]


def as_id(row: dict[str, int]) -> Id:
    return (row["ledger"], row["entry"], max(0, row["batchIndex"]))


def at(ids: list[Id], cut: int) -> str:
    """Return the position of a message, or of the next entry after the last message."""
    if cut == len(ids):
        ledger, entry, _ = ids[-1]
        return f"{ledger}:{entry + 1}"
    return ":".join(map(str, ids[cut]))


def places(plan: BatchPlan) -> set[str]:
    return {split_range.location.name for split in plan.splits for split_range in split.ranges}


@pytest.mark.parametrize("read_from", ["broker", "bookie", "auto"])
def test_splits_at_every_cut_read_each_row_once(
    topic: str, fill: Fill, options: Options, rng: random.Random, read_from: str
) -> None:
    ids = fill(3)
    assert len({ledger for ledger, _, _ in ids}) == 4
    assert places(plan_batch(options(readFrom=read_from))) == {"broker"} | (
        set() if read_from == "broker" else {"bookie"}
    )
    for _ in range(6):
        start, end = sorted(rng.choices(range(len(ids) + 1), k=2))
        limit = rng.choice(
            [
                {"minPartitions": str(rng.randrange(1, 30))},
                {"maxRecordsPerPartition": str(rng.randrange(1, 300))},
                {"maxBytesPerPartition": str(rng.randrange(200, 20_000))},
            ]
        )
        bounds = {
            "startingOffsets": json.dumps({topic: at(ids, start)}),
            "endingOffsets": json.dumps({topic: at(ids, end)}),
        }
        given = options(readFrom=read_from, **bounds, **limit)
        assert rows_of(given) == ids[start:end], (bounds, limit)


def test_the_compacted_view_and_the_later_ledgers_are_read(
    topic: str, options: Options, official: official_client.Client, admin: Admin
) -> None:
    producer = official.create_producer(topic, batching_enabled=False)
    last: dict[str, Id] = {}

    def send(number: int) -> Id:
        found = producer.send(str(number).encode(), partition_key=f"k{number % 7}")
        return (found.ledger_id(), found.entry_id(), 0)

    for number in range(40):
        last[f"k{number % 7}"] = send(number)
        if number % 15 == 14:
            admin.unload(topic)
    admin.compact(topic)
    behind = [send(number) for number in range(5)]
    producer.close()
    for read_from, found in (("broker", set()), ("auto", {"compacted"}), ("bookie", {"compacted"})):
        given = options(readFrom=read_from, readCompacted="true", minPartitions="3")
        assert places(plan_batch(given)) == found | {"broker"}
        assert rows_of(given) == [*sorted(last.values()), *behind]
        ids = [*sorted(last.values()), *behind]
        bounds = {
            "startingOffsets": json.dumps({topic: at(ids, 3)}),
            "endingOffsets": json.dumps({topic: at(ids, 9)}),
        }
        assert rows_of(options(readFrom=read_from, readCompacted="true", **bounds)) == ids[3:9]


def test_splits_obey_the_limits(fill: Fill, options: Options) -> None:
    ids = fill(2)
    whole = plan_batch(options())
    assert len(whole.splits) == 1
    ledgers = whole.partitions[0].ledgers
    assert ledgers is not None
    assert sum(ledger.entries for ledger in ledgers.ledgers) == len({each[:2] for each in ids})
    assert len(plan_batch(options(minPartitions="7")).splits) == 7
    assert len(plan_batch(options(maxBytesPerPartition="1")).splits) == len({each[:2] for each in ids})
    splits = plan_batch(options(maxRecordsPerPartition="50")).splits
    counts = [sum(split.start <= Position(*each) < split.end for each in ids) for split in splits]
    assert sum(counts) == len(ids)
    assert max(counts) <= 50
    assert max(counts) >= BATCH


def test_without_the_admin_api_a_range_in_one_ledger_can_be_cut(
    topic: str, fill: Fill, pulsar: LocalPulsar, caplog: pytest.LogCaptureFixture
) -> None:
    ids = fill(1)
    first = [each for each in ids if each[0] == ids[0][0]]
    known = {"service.url": pulsar.service_url, "topic": topic, "minPartitions": "4"}
    plain = parse_options(ReadOptions, known)
    assert len(plan_batch(plain).splits) == 1
    assert "admin.url" in caplog.text
    bounds = {
        "startingOffsets": json.dumps({topic: at(ids, 3)}),
        "endingOffsets": json.dumps({topic: at(ids, len(first) - 5)}),
    }
    one = parse_options(ReadOptions, known | bounds)
    assert len(plan_batch(one).splits) == 4
    assert rows_of(one) == ids[3 : len(first) - 5]
    with pytest.raises(OptionError, match="readFrom"):
        plan_batch(parse_options(ReadOptions, known | {"readFrom": "bookie"}))


def test_ledgers_outside_the_time_are_not_read(
    fill: Fill, options: Options, caplog: pytest.LogCaptureFixture
) -> None:
    fill(3)
    ledgers = plan_batch(options()).partitions[0].ledgers
    assert ledgers is not None
    second, third = ledgers.ledgers[1:3]
    window = {"startingTimestamp": str(second.closed_ms), "endingTimestamp": str(third.closed_ms)}
    bounds = replace(options(**window), clock_slack_ms=0)
    plan = plan_batch(bounds).partitions[0]
    assert (plan.start, plan.end) == (Position(second.id, 0), Position(ledgers.ledgers[3].id, 0))
    assert {(split.window.published_from, split.window.published_before) for split in plan.splits} == {
        (second.closed_ms, third.closed_ms)
    }
    assert caplog.text.count("The read can miss messages") == 1
    caplog.clear()
    assert plan_batch(options(**window)).partitions[0].start.is_earliest
    assert not caplog.text


@pytest.mark.parametrize("late_ms", [-20_000, 0, 20_000])
def test_many_small_ledgers_exceed_a_small_slack(
    topic: str,
    options: Options,
    pulsar: LocalPulsar,
    admin: Admin,
    caplog: pytest.LogCaptureFixture,
    late_ms: int,
) -> None:
    """Some messages arrive late, or their producer's clock is wrong."""
    published: dict[Id, int] = {}
    with RawProducer(pulsar.service_url, topic) as producer:
        for _ in range(5):
            for _ in range(4):
                time_ms = max(round(time.time() * 1000) - late_ms, max(published.values(), default=0) + 1)
                place = producer.send(b"x", (3, time_ms))
                published[place.ledger, place.entry, 0] = time_ms
            admin.unload(topic)
    times = sorted(published.values())
    windows = [(first, behind) for first in times[::3] for behind in times[2::5] if first < behind]
    windows += [(times[3] + 1, times[4]), (times[8], times[11] + 1), (times[-1], times[-1] + 1)]
    for slack in (0, 100):
        for first, behind in windows:
            asked = options(startingTimestamp=str(first), endingTimestamp=str(behind))
            found = rows_of(replace(asked, clock_slack_ms=slack))
            assert found == [each for each, time_ms in published.items() if first <= time_ms < behind]
    # The warning may appear without late messages, too. A ledger's closing time is the time at which the topic was
    # loaded for the next message.
    assert "clockSlackMs' is too small" in caplog.text or late_ms == 0


def test_an_impossible_slack_is_refused(options: Options) -> None:
    with pytest.raises(OptionError, match=r"clockSlackMs.*100"):
        options(clockSlackMs="99")


def test_messages_removed_by_retention_are_an_error_or_a_log_line(
    topic: str, fill: Fill, options: Options, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    ids = fill(2)
    admin.truncate(topic)
    kept = [each for each in ids if each[0] == ids[-1][0]]
    whole = options()
    assert rows_of(whole) == kept
    start = {"startingOffsets": json.dumps({topic: at(ids, 5)})}
    with pytest.raises(DataLossError) as caught:
        plan_batch(options(**start))
    assert topic in str(caught.value)
    assert at(ids, 5) in str(caught.value)
    assert rows_of(options(failOnDataLoss="false", **start)) == kept
    assert at(ids, 5) in caplog.text
    gone = start | {"endingOffsets": json.dumps({topic: at(ids, 9)})}
    with pytest.raises(DataLossError):
        plan_batch(options(**gone))
    assert rows_of(options(failOnDataLoss="false", **gone)) == []


@pytest.mark.parametrize("kept", ["true", "false"])
def test_messages_removed_during_a_read_are_an_error_or_a_log_line(
    topic: str, fill: Fill, options: Options, admin: Admin, caplog: pytest.LogCaptureFixture, kept: str
) -> None:
    ids = fill(2)
    few = {"batchRows": "5", "pulsar.consumer.receiverQueueSize": "5"}
    given = options(readFrom="broker", failOnDataLoss=kept, **few)
    reader = PulsarBatchReader(given, resolve_source_schema(given))
    (split,) = reader.partitions()
    batches = iter(reader.read(split))
    found = next(batches).column("__messageId").to_pylist()
    admin.truncate(topic)
    if kept == "true":
        with pytest.raises(
            DataLossError, match=rf"expected \d+ entries from {ids[0][0]}:0:0 up to .* got \d+"
        ):
            list(batches)
        return
    found += [row for batch in batches for row in batch.column("__messageId").to_pylist()]
    rows = [as_id(row) for row in found]
    assert ids[:5] == rows[:5]
    assert len(rows) < len(ids)
    assert [row for row in rows if row[0] == ids[-1][0]] == [each for each in ids if each[0] == ids[-1][0]]
    assert "the query continues with the remaining messages" in caplog.text


def test_a_stream_reports_only_removed_messages_it_had_not_read(
    topic: str, fill: Fill, options: Options, admin: Admin
) -> None:
    ids = fill(1)
    given = options(startingOffsets="earliest")
    reader = PulsarStreamReader(given, resolve_source_schema(given))
    first = reader.latestOffset(reader.initialOffset(), None)
    assert stream_rows(reader, reader.initialOffset(), first) == ids
    later = fill(1)
    second = reader.latestOffset(first, None)
    assert stream_rows(reader, first, second) == later[len(ids) :]
    middle = {"version": 1, "positions": {topic: at(ids, 100)}}
    assert stream_rows(reader, middle, second) == later[100:]
    admin.truncate(topic)
    with pytest.raises(DataLossError, match=topic):
        reader.partitions(middle, reader.latestOffset(middle, None))
    reader.stop()
    again = PulsarStreamReader(given, resolve_source_schema(given))
    with pytest.raises(DataLossError, match=topic):
        again.partitions(first, second)
    again.stop()
    careless = options(failOnDataLoss="false")
    third = PulsarStreamReader(careless, resolve_source_schema(careless))
    kept = [each for each in later if each[0] == later[-1][0]]
    assert stream_rows(third, first, second) == kept
    third.stop()


def stream_rows(reader: PulsarStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[Id]:
    return [
        as_id(row)
        for split in reader.partitions(start, end)
        for batch in reader.read(split)
        for row in batch.column("__messageId").to_pylist()
    ]


def test_micro_batches_in_the_open_ledger_send_no_admin_request(
    topic: str,
    fill: Fill,
    options: Options,
    official: official_client.Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(1)
    asked: list[str] = []
    get = AdminClient.get

    def counted(self: AdminClient, path: str, where: str, version: str = "v2") -> Any:
        asked.append(path)
        return get(self, path, where, version)

    monkeypatch.setattr(AdminClient, "get", counted)
    # Otherwise the lag would be measured again, which lists ledgers.
    given = options(startingOffsets="earliest", lagIntervalMs="3600000")
    reader = PulsarStreamReader(given, resolve_source_schema(given))
    former = reader.latestOffset(reader.initialOffset(), None)
    reader.partitions(reader.initialOffset(), former)
    assert asked
    asked.clear()
    producer = official.create_producer(topic)
    for number in range(3):
        producer.send(str(number).encode())
        reached = reader.latestOffset(former, None)
        assert len(stream_rows(reader, former, reached)) == 1
        former = reached
    producer.close()
    reader.stop()
    assert asked == []


def test_a_stream_reads_each_row_once_over_ledgers(
    topic: str, fill: Fill, pulsar: LocalPulsar, spark: SparkSession, stream: Stream, tmp_path: Path
) -> None:
    given = {
        "topic": topic,
        "startingOffsets": "earliest",
        "admin.url": pulsar.admin_url,
        "minPartitions": "5",
    }
    where = str(tmp_path / "rows")

    def run() -> list[Id]:
        query = (
            stream(**given)
            .select("__messageId.*")
            .writeStream.format("json")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(where)
        )
        query.awaitTermination(180)
        assert query.exception() is None
        rows = spark.read.schema("ledger long, entry long, batchIndex int").json(where).collect()
        return sorted(as_id(row.asDict()) for row in rows)

    ids = fill(2)
    assert run() == sorted(ids)
    ids = fill(1)
    assert run() == sorted(ids)


@pytest.fixture
def refusing_url() -> Iterator[str]:
    """Yield an admin URL that answers 403 to everything, like a server to a role without the right."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(403)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_read_works_without_rights_to_the_admin_api(
    topic: str, fill: Fill, pulsar: LocalPulsar, refusing_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    ids = fill(1)
    known = {"service.url": pulsar.service_url, "admin.url": refusing_url, "topic": topic}
    assert rows_of(parse_options(ReadOptions, known)) == ids
    assert caplog.text.count("all messages are read from the broker") == 1
    with pytest.raises(PermissionDenied, match=topic):
        plan_batch(parse_options(ReadOptions, known | {"readFrom": "bookie"}))
