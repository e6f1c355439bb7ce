"""Removed ledgers, for a role with the right to consume alone: all removals of unread messages are noticed, and
nothing else counts as loss.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import pulsar as official_client
import pytest
from integration.official import SPECIAL_MESSAGES, Admin, JavaClient, as_base64, await_true

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST
from pyspark_pulsar.read import log_end
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.log_end import LogEnds, RemovedEntries
from pyspark_pulsar.read.microbatch.ends import readable_ends
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.spark.read_limits import ReadAllAvailable, ReadMaxRows
from pyspark_pulsar.tools.standalone import LocalPulsar

ENTRIES = 10
"""The number of entries in each ledger."""


@pytest.fixture(scope="module")
def small_ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    config = {
        "managedLedgerMaxEntriesPerLedger": str(ENTRIES),
        "managedLedgerMinLedgerRolloverTimeMinutes": "0",
    }
    with LocalPulsar(data=tmp_path_factory.mktemp("small-ledgers"), config=config) as server:
        yield server


class Watched:
    """A topic in a namespace of its own, as the driver of a stream sees it."""

    def __init__(self, server: LocalPulsar, client: BrokerClient, name: str) -> None:
        self.admin = Admin(server.admin_url)
        namespace = f"public/{name}-{time.monotonic_ns()}"
        self.admin.make_namespace(namespace)
        self.name = f"persistent://{namespace}/t"
        self.partition = TopicPartition.parse(self.name)
        self._service_url = server.service_url
        self.log_ends = LogEnds(client)

    def send(self, entries: int) -> None:
        client = official_client.Client(self._service_url)
        producer = client.create_producer(self.name, batching_enabled=False)
        for number in range(entries):
            producer.send(str(number).encode())
        client.close()

    def end(self) -> Position:
        return self.log_ends.ends([self.partition])[self.partition]

    def look(self, start: Position) -> Position:
        """Run a trigger of a query that has read up to `start`."""
        return self.log_ends.present_ends([self.partition], {self.partition: start})[self.partition]

    def removed(self, start: Position) -> RemovedEntries | None:
        return self.log_ends.removed({self.partition: start}).get(self.partition)

    def trim(self) -> None:
        self.admin.trim(self.name, to_ledgers=1)


@pytest.fixture
def watched(small_ledgers: LocalPulsar, request: pytest.FixtureRequest) -> Iterator[Watched]:
    options = ReadOptions(service_url=small_ledgers.service_url, topic="any")
    with BrokerClient(options) as client:
        yield Watched(small_ledgers, client, request.node.originalname.replace("_", "-"))


def test_a_removed_ledger_that_was_read_is_no_loss(watched: Watched) -> None:
    watched.send(ENTRIES)
    reached = watched.end()
    watched.look(reached)
    watched.send(1)
    watched.trim()
    assert watched.look(reached) > reached
    assert watched.removed(reached) is None


def test_a_cursor_that_the_broker_moves_to_the_next_ledger_is_no_loss(watched: Watched) -> None:
    watched.send(ENTRIES - 3)
    reached = watched.end()
    # The ledger is closed at this position.
    watched.admin.unload(watched.name)
    watched.look(reached)
    watched.send(1)
    watched.trim()
    assert watched.look(reached) > reached
    assert watched.removed(reached) is None


def test_entries_that_were_removed_unread_are_counted(watched: Watched) -> None:
    watched.send(ENTRIES - 4)
    reached = watched.end()
    watched.look(reached)
    watched.send(5)
    watched.trim()
    watched.look(reached)
    removed = watched.removed(reached)
    assert removed is not None
    assert removed.entries == 4
    assert removed.first_left is not None
    assert removed.first_left.ledger > reached.ledger


def test_a_stopped_query_cannot_count_removed_entries(watched: Watched, small_ledgers: LocalPulsar) -> None:
    watched.send(ENTRIES)
    reached = watched.end()
    watched.send(1)
    watched.trim()
    with BrokerClient(ReadOptions(service_url=small_ledgers.service_url, topic="any")) as client:
        removed = LogEnds(client).removed({watched.partition: reached})[watched.partition]
    assert removed.entries is None
    assert removed.first_left is not None
    assert removed.first_left.ledger > reached.ledger


def test_existing_messages_are_no_loss(watched: Watched) -> None:
    watched.send(2 * ENTRIES + 3)
    end = watched.end()
    assert watched.removed(end) is None
    for start in (EARLIEST, Position(end.ledger, 0), end, Position(end.ledger, end.entry, 5)):
        assert watched.removed(start) is None
    first = watched.admin.request(
        "GET", f"persistent/{watched.name.partition('://')[2]}/internalStats"
    ).json()
    oldest = int(first["ledgers"][0]["ledgerId"])
    for start in (Position(oldest, 0), Position(oldest, 4), Position(oldest, ENTRIES)):
        assert watched.removed(start) is None


def test_a_skipped_backlog_is_no_loss(watched: Watched) -> None:
    watched.send(3)
    reached = watched.end()
    watched.look(reached)
    watched.send(2 * ENTRIES)
    namespace = str(watched.partition.topic.namespace)
    answer = watched.admin.request("POST", f"namespaces/{namespace}/clearBacklog", {})
    assert answer.status < 300, answer.data
    watched.look(reached)
    assert watched.removed(reached) is None


def test_a_deleted_topic_and_a_topic_made_again_are_loss(watched: Watched) -> None:
    watched.send(3)
    reached = watched.end()
    watched.look(reached)
    watched.admin.delete(watched.name)
    assert watched.log_ends.present_ends([watched.partition], {watched.partition: reached}) == {}
    assert watched.removed(reached) == RemovedEntries(None, None)
    watched.send(5)
    watched.look(reached)
    removed = watched.removed(reached)
    assert removed is not None
    assert removed.first_left is not None
    assert (removed.first_left.entry, removed.entries) == (0, None)
    assert removed.first_left.ledger > reached.ledger


def test_pulsars_backlog_counts_only_unread_messages(watched: Watched) -> None:
    watched.send(3)
    watched.look(EARLIEST)
    watched.send(4)
    reached = watched.look(EARLIEST)

    def backlog() -> int:
        path = f"persistent/{watched.name.partition('://')[2]}/stats"
        subscriptions = watched.admin.request("GET", path).json()["subscriptions"]
        assert len(subscriptions) == 1
        return int(next(iter(subscriptions.values()))["msgBacklog"])

    assert backlog() == 4
    watched.look(reached)
    await_true("the backlog to fall", lambda: backlog() == 0)


@pytest.mark.parametrize("asks_admin", [True, False])
@pytest.mark.parametrize("stands", ["in the middle of a ledger", "at its end"])
def test_messages_removed_between_a_trigger_and_its_plan(
    watched: Watched,
    small_ledgers: LocalPulsar,
    asks_admin: bool,
    stands: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counting for a limit may last minutes, and `Trigger.AvailableNow` plans once for all of its
    micro-batches.
    """
    first = ENTRIES - 3 if stands == "in the middle of a ledger" else ENTRIES
    watched.send(first)
    options = ReadOptions(
        service_url=small_ledgers.service_url,
        admin_url=small_ledgers.admin_url if asks_admin else None,
        topic=watched.name,
        starting_offsets=FROM_EARLIEST,
    )
    monkeypatch.setattr(log_end, "FRESH_SECONDS", math.inf if asks_admin else 0.0)
    stream = PulsarStreamReader(options, resolve_source_schema(options))
    try:
        reached = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
        stream.partitions(stream.initialOffset(), reached)
        watched.send(2 * ENTRIES)
        end = stream.latestOffset(reached, ReadAllAvailable())
        watched.trim()
        with pytest.raises(DataLossError, match=r"were removed|is gone"):
            stream.partitions(reached, end)
    finally:
        stream.stop()


def send_transactions(watched: Watched, server: LocalPulsar) -> None:
    """Send a commit marker, then the aborted messages of a transaction and its marker, after the last
    message.
    """
    transactions: list[dict[str, Any]] = [
        {"messages": [{"value": as_base64(text)} for text in (b"a", b"b")], "end": ending}
        for ending in ("commit", "abort")
    ]
    JavaClient(server, SPECIAL_MESSAGES).run(
        {"do": "produce", "topic": watched.name, "steps": transactions, "batching": False}
    )


def rows_of(stream: PulsarStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[bytes]:
    tasks = stream.partitions(start, end)
    return [row for task in tasks for rows in stream.read(task) for row in rows["value"].to_pylist()]


@pytest.mark.parametrize("restarts", [False, True], ids=["the same driver", "started again"])
@pytest.mark.parametrize("removed", ["markers", "a message too"])
def test_a_quiet_stream_after_a_transaction_loses_nothing(
    watched: Watched, small_ledgers: LocalPulsar, removed: str, restarts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Removed entries after the last message are no loss, also with the right to consume alone."""
    monkeypatch.setattr(readable_ends, "REST_SECONDS", 0.0)
    send_transactions(watched, small_ledgers)
    options = ReadOptions(
        service_url=small_ledgers.service_url, topic=watched.name, starting_offsets=FROM_EARLIEST
    )
    streams = [PulsarStreamReader(options, resolve_source_schema(options))]

    def trigger(start: dict[str, Any]) -> dict[str, Any]:
        return streams[-1].latestOffset(start, ReadAllAvailable())

    try:
        reached = trigger(streams[-1].initialOffset())
        streams[-1].partitions(streams[-1].initialOffset(), reached)
        stand = StreamOffset.from_json(reached).positions

        def is_past_the_markers() -> bool:
            assert trigger(reached) == reached
            return streams[-1]._opened().readable_ends.skip_unseen(stand) != stand

        await_true("that the broker tells of them", is_past_the_markers)
        watched.admin.unload(watched.name)
        assert trigger(reached) == reached
        if restarts:
            watched.trim()
            moved = trigger(reached)
            assert moved.keys() - reached.keys() == {"passed"}
            assert rows_of(streams[-1], reached, moved) == []
            assert trigger(moved) == moved
            reached = moved
            streams[-1].stop()
            streams.append(PulsarStreamReader(options, resolve_source_schema(options)))
            assert trigger(reached) == reached
        if removed == "a message too":
            watched.send(1)
            watched.admin.unload(watched.name)
        watched.send(1)
        watched.trim()
        end = trigger(reached)
        assert end["positions"] != reached["positions"]
        if removed == "a message too":
            with pytest.raises(DataLossError):
                streams[-1].partitions(reached, end)
        else:
            assert rows_of(streams[-1], reached, end) == [b"0"]
    finally:
        streams[-1].stop()


@pytest.mark.parametrize("removed", ["nothing", "a message"])
@pytest.mark.parametrize("last", ["a message", "a transaction"])
def test_available_now_over_a_quiet_topic_loses_nothing(
    watched: Watched, small_ledgers: LocalPulsar, last: str, removed: str
) -> None:
    """A run that finds the query's ledger closed remembers that nothing is left to read in it."""
    if last == "a message":
        watched.send(3)
    else:
        send_transactions(watched, small_ledgers)
    options = ReadOptions(
        service_url=small_ledgers.service_url,
        admin_url=small_ledgers.admin_url,
        topic=watched.name,
        starting_offsets=FROM_EARLIEST,
    )

    def run(start: dict[str, Any] | None) -> tuple[dict[str, Any], list[bytes]]:
        stream, rows = PulsarStreamReader(options, resolve_source_schema(options)), list[bytes]()
        try:
            offset = stream.initialOffset() if start is None else start
            stream.prepareForTriggerAvailableNow()
            while (end := stream.latestOffset(offset, ReadAllAvailable())) != offset:
                rows += rows_of(stream, offset, end)
                offset = end
            return offset, rows
        finally:
            stream.stop()

    first, rows = run(None)
    assert rows == ([b"0", b"1", b"2"] if last == "a message" else [b"a", b"b"])
    assert run(first) == (first, [])
    watched.admin.unload(watched.name)
    quiet, rows = run(first)
    assert rows == []
    assert quiet.keys() - first.keys() == {"passed"}
    assert quiet["positions"] == first["positions"]
    assert run(quiet) == (quiet, [])
    if removed == "a message":
        watched.send(1)
        watched.admin.unload(watched.name)
    watched.send(1)
    watched.trim()
    if removed == "a message":
        with pytest.raises(DataLossError, match=r"is gone|were removed"):
            run(quiet)
        return
    end, rows = run(quiet)
    assert rows == [b"0"]
    assert "passed" not in end


@pytest.mark.parametrize("asks_admin", [False, True])
@pytest.mark.parametrize("acknowledged", ["by the query", "by another consumer too"])
def test_a_stopped_query_with_a_subscription_loses_nothing(
    watched: Watched, small_ledgers: LocalPulsar, acknowledged: str, asks_admin: bool
) -> None:
    """Brokers delete the closed ledger that the query has read, and none after the subscription's cursor."""
    options = ReadOptions(
        service_url=small_ledgers.service_url,
        admin_url=small_ledgers.admin_url if asks_admin else None,
        topic=watched.name,
        starting_offsets=FROM_EARLIEST,
        subscription_name="query",
    )

    def run(start: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        stream = PulsarStreamReader(options, resolve_source_schema(options))
        try:
            end = stream.latestOffset(start, ReadAllAvailable())
            rows = rows_of(stream, start, end)
            # Spark's next trigger acknowledges the messages of the committed micro-batch.
            stream.latestOffset(end, ReadAllAvailable())
            return end, rows
        finally:
            stream.stop()

    watched.send(3)
    reached, rows = run(StreamOffset(start=FROM_EARLIEST).to_json())
    assert rows == [b"0", b"1", b"2"]
    if acknowledged == "by another consumer too":
        watched.send(1)
        path = watched.name.replace("://", "/")
        assert watched.admin.request("POST", f"{path}/subscription/query/skip_all").status < 300
    watched.admin.unload(watched.name)
    watched.send(1)
    watched.trim()
    if acknowledged == "by the query":
        assert run(reached)[1] == [b"0"]
    else:
        with pytest.raises(DataLossError, match=r"is gone|were removed"):
            run(reached)


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("asked", ["a limit", "an event time"])
def test_messages_removed_while_a_trigger_counts_or_searches(
    watched: Watched, small_ledgers: LocalPulsar, fails: bool, asked: str
) -> None:
    watched.send(ENTRIES)
    options = ReadOptions(
        service_url=small_ledgers.service_url,
        topic=watched.name,
        starting_offsets=FROM_EARLIEST,
        fail_on_data_loss=fails,
        max_records_per_trigger=3 if asked == "a limit" else None,
        ending_event_time=1_000 if asked == "an event time" else None,
    )
    stream = PulsarStreamReader(options, resolve_source_schema(options))
    try:
        stream.prepareForTriggerAvailableNow()
        watched.admin.unload(watched.name)
        watched.trim()
        if fails:
            with pytest.raises(DataLossError, match="were removed"):
                stream.latestOffset(stream.initialOffset(), ReadMaxRows(3))
            return
        reached = stream.latestOffset(stream.initialOffset(), ReadMaxRows(3))
        assert reached != stream.initialOffset()
        tasks = stream.partitions(stream.initialOffset(), reached)
        assert not [rows for task in tasks for rows in stream.read(task) if rows.num_rows]
        assert stream.latestOffset(reached, ReadMaxRows(3)) == reached
    finally:
        stream.stop()
