"""Reads from bookies, compared with the broker's rows cell by cell, whatever bookies and wires do to them."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pulsar as official_client
import pyarrow as pa
import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin
from integration.cluster.wire import (
    BATCH_READ,
    READ_ENTRY,
    TOO_MANY_REQUESTS,
    Answer,
    Wire,
    hang_up,
    hold,
    operation,
    refusal,
)

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.bookkeeper.bookie_health import BOOKIE_HEALTH, BookieHealth
from pyspark_pulsar.errors import DataLossError, LedgerUnavailable, OptionError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import fetch_ledgers
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.compacted import FromCompactedLedger
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task import fallback
from pyspark_pulsar.read.task.place_health import LocationHealth
from pyspark_pulsar.read.task.split_reader import read_splits

COLUMNS = (
    "value", "__key", "__messageId", "__publishTime", "__eventTime", "__messageProperties", "__orderingKey",
    "__producerName", "__sequenceId", "__messageSize",
)  # fmt: skip
# More than a bookie on a busy machine is silent for now and then.
TIMEOUT_MS = 30_000
SILENT_MS = 10_000
"""The timeout for a bookie that stays silent; the others must answer within this time."""


@pytest.fixture(autouse=True)
def _fresh_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    BOOKIE_HEALTH.__dict__.update(BookieHealth().__dict__)
    monkeypatch.setattr(fallback, "LOCATION_HEALTH", LocationHealth())


@pytest.fixture
def wires(cluster: PulsarCluster) -> Iterator[list[Wire]]:
    """The wires, one for each bookie."""
    made = [Wire(bookie.address) for bookie in cluster.bookies]
    yield made
    for wire in made:
        wire.cut()


class Reading:
    """Reads of one topic, through wires if there are any."""

    def __init__(self, cluster: PulsarCluster, topic: str, wires: list[Wire]) -> None:
        self.options = ReadOptions(
            service_url=cluster.service_url,
            admin_url=cluster.admin_url,
            topic=topic,
            columns=COLUMNS,
            bookie_addresses=tuple((wire.bookie, wire.address) for wire in wires),
            bookie_timeout_ms=TIMEOUT_MS,
            max_bytes_per_partition=1 << 30,
        )
        self.schema = resolve_source_schema(self.options)

    def splits(self, **options: Any) -> list[Split]:
        return plan_batch(replace(self.options, **options)).splits

    def rows(self, splits: list[Split], **options: Any) -> pa.Table:
        changed = replace(self.options, **options)
        batches = list(read_splits(changed, self.schema, splits))
        return pa.Table.from_batches(batches, self.schema.output_schema)

    def read(self, read_from: str = "bookie") -> pa.Table:
        return self.rows(self.splits(read_from=read_from), read_from=read_from)


def fill(
    client: official_client.Client,
    admin: ClusterAdmin,
    topic: str,
    *,
    ledgers: int = 2,
    messages: int = 150,
    batch: int = 1,
    size: int = 100,
) -> None:
    """Closed ledgers of up to 200 entries, and an open one."""
    codecs = [official_client.CompressionType.NONE, official_client.CompressionType.LZ4]
    for ledger in range(ledgers):
        producer = client.create_producer(
            topic,
            batching_enabled=batch > 1,
            batching_max_messages=max(2, batch),
            batching_max_publish_delay_ms=600_000,
            block_if_queue_full=True,
            compression_type=codecs[ledger % 2],
        )
        for number in range(messages):
            producer.send_async(
                f"{ledger}:{number}:".encode() + random.randbytes(size),
                callback=lambda *_: None,
                partition_key=f"k{number % 7}",
                ordering_key=f"o{number % 3}",
                properties={"n": str(number)},
                event_timestamp=1_700_000_000_000 + number,
            )
        producer.flush()
        producer.close()
        admin.roll(topic)
    tail = client.create_producer(topic)
    tail.send(b"in the open ledger")
    tail.close()


@pytest.fixture
def make(
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    namespace: str,
) -> Any:
    def make_topic(ensemble: int, copies: int, **contents: Any) -> str:
        cluster_admin.set_ensemble(namespace, ensemble, copies)
        topic = f"persistent://{namespace}/t"
        fill(cluster_client, cluster_admin, topic, **contents)
        return topic

    return make_topic


def locations(splits: list[Split]) -> set[str]:
    return {split_range.location.name for split in splits for split_range in split.ranges}


@pytest.mark.parametrize("batch", [1, 20])
@pytest.mark.parametrize(("ensemble", "copies"), [(1, 1), (2, 2), (3, 2), (3, 3), (3, 1)])
def test_equal_to_the_broker(
    ensemble: int, copies: int, batch: int, cluster: PulsarCluster, wires: list[Wire], make: Any
) -> None:
    topic = make(ensemble, copies, messages=150 * batch, batch=batch, ledgers=3)
    reading = Reading(cluster, topic, wires)
    expected = reading.read("broker")
    assert expected.num_rows == 3 * 150 * batch + 1
    splits = reading.splits(read_from="bookie")
    assert locations(splits) == {"bookie", "broker"}
    assert reading.rows(splits, read_from="bookie") == expected
    asked = [operation(frame) for wire in wires for frame in wire.requests]
    assert set(asked) == ({READ_ENTRY} if copies == 1 < ensemble else {BATCH_READ})
    if ensemble != copies:
        assert len(asked) == 3 * 150 / copies, "as many entries at once as lie together"
    assert reading.rows(striping_forgotten(splits, cluster), read_from="bookie") == expected


def striping_forgotten(splits: list[Split], cluster: PulsarCluster) -> list[Split]:
    """Return the same splits as a plan if the admin REST API does not report the ensembles."""
    bookies = tuple(bookie.address for bookie in cluster.bookies)

    def forgotten(split_range: SplitRange) -> SplitRange:
        if not isinstance(split_range.location, FromBookies):
            return split_range
        return replace(
            split_range, location=FromBookies(replace(split_range.location.ledger, metadata=None), bookies)
        )

    return [replace(split, ranges=tuple(map(forgotten, split.ranges))) for split in splits]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("ensemble", "copies"), [(2, 2), (3, 2)])
def test_any_cut_reads_each_message_once(
    ensemble: int, copies: int, seed: int, cluster: PulsarCluster, make: Any
) -> None:
    topic = make(ensemble, copies, messages=900, batch=30)
    reading = Reading(cluster, topic, [])
    expected = reading.read("broker")
    randomly = random.Random(seed)
    ids = expected["__messageId"].to_pylist()
    cuts = sorted(randomly.sample(range(1, len(ids)), 6))
    positions = [
        Position(ids[cut]["ledger"], ids[cut]["entry"], max(0, ids[cut]["batchIndex"])) for cut in cuts
    ]
    whole = reading.splits(read_from="bookie", max_bytes_per_partition=1 << 40)
    ends = [whole[0].start, *positions, whole[-1].end]
    parts = []
    for start, end in pairwise(ends):
        ranges = [
            replace(split_range, start=max(split_range.start, start), end=min(split_range.end, end))
            for split in whole
            for split_range in split.ranges
            if split_range.start < end and split_range.end > start
        ]
        part = Split(whole[0].partition, start, end, tuple(ranges))
        parts.append(reading.rows([part], read_from="bookie"))
    assert pa.concat_tables(parts) == expected, f"seed {seed}, cuts {cuts}"


@pytest.mark.parametrize("known", [True, False], ids=["known", "guessed"])
@pytest.mark.parametrize(("ensemble", "copies"), [(2, 2), (3, 2)])
@pytest.mark.parametrize("broken", ["refuses", "is silent", "hangs up", "dies in the middle"])
def test_one_bookie_less(
    broken: str, ensemble: int, copies: int, known: bool, cluster: PulsarCluster, wires: list[Wire], make: Any
) -> None:
    topic = make(ensemble, copies, messages=190, size=2000)
    reading = Reading(cluster, topic, wires)
    expected = reading.read("broker")
    splits = reading.splits(read_from="bookie")
    if not known:
        splits = striping_forgotten(splits, cluster)
    for wire in wires:
        for other in wires:
            other.heal()
        if broken == "refuses":
            wire.cut()
        elif broken == "is silent":
            wire.on_answer = hold
        elif broken == "hangs up":
            wire.on_request = hang_up
        else:
            wire.on_answer = lambda frame, wire=wire: frame if wire.answered_bytes < 50_000 else None
        _fresh = BookieHealth()
        BOOKIE_HEALTH.__dict__.update(_fresh.__dict__)
        timeout_ms = SILENT_MS if broken == "is silent" else TIMEOUT_MS
        assert reading.rows(splits, read_from="bookie", bookie_timeout_ms=timeout_ms) == expected
        if broken == "refuses":
            return


def test_a_silent_bookie_is_waited_for_once(
    cluster: PulsarCluster, wires: list[Wire], make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make(3, 2, ledgers=4)
    reading = Reading(cluster, topic, wires)
    splits = reading.splits(read_from="bookie")
    wires[0].on_answer = hold
    avoided = []
    remember = BookieHealth.quarantine
    monkeypatch.setattr(
        BookieHealth, "quarantine", lambda self, address: (avoided.append(address), remember(self, address))
    )
    rows = reading.rows(splits, read_from="bookie", bookie_timeout_ms=SILENT_MS)
    assert rows.num_rows == 4 * 150 + 1
    assert [str(address) for address in avoided] == [wires[0].address]


def test_an_executor_without_a_network_tries_once(
    cluster: PulsarCluster, wires: list[Wire], make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Packets are dropped in silence on the way to all bookies, after the driver has reached them."""
    topic = make(3, 2, ledgers=12, messages=10)
    reading = Reading(cluster, topic, wires)
    expected, splits = reading.read("broker"), reading.splits(read_from="auto", max_bytes_per_partition=1)
    ledgers = {part.location.ledger_id for split in splits for part in split.ranges} - {None}
    assert len(ledgers) == 12
    for wire in wires:
        wire.heal()
        wire.on_answer = hold
    with caplog.at_level(logging.WARNING):
        rows = reading.rows(splits, read_from="auto", bookie_timeout_ms=1_200)
    assert rows == expected
    assert {_ledger(frame) for wire in wires for frame in wire.requests} == {min(ledgers)}
    warnings = [record for record in caplog.records if "the rest of a range" in record.getMessage()]
    assert len(warnings) == 1


def test_a_driver_without_a_network_sends_one_request(
    cluster: PulsarCluster, wires: list[Wire], make: Any
) -> None:
    """A stream plans again and again; the bookies that did not answer are not waited for each time."""
    topic = make(3, 2, ledgers=2, messages=10)
    reading = Reading(cluster, topic, wires)
    for wire in wires:
        wire.on_answer = hold
    for _ in range(3):
        plan = plan_batch(replace(reading.options, read_from="auto"))
        assert locations(plan.splits) == {"broker"}
        (note,) = plan.notes
        assert "do not answer the driver" in note
    assert [len(wire.requests) for wire in wires] == [1, 1, 1]


def _ledger(request: bytes) -> int:
    return int.from_bytes(request[4:12], "big")


@pytest.mark.parametrize(("ensemble", "copies"), [(2, 2), (3, 2)])
def test_a_flipped_bit_is_read_from_another_copy(
    ensemble: int, copies: int, cluster: PulsarCluster, wires: list[Wire], make: Any
) -> None:
    topic = make(ensemble, copies)
    reading = Reading(cluster, topic, wires)
    expected, splits = reading.read("broker"), reading.splits(read_from="bookie")
    for wire in wires:
        for other in wires:
            other.heal()
        wire.on_answer = flip_last_bit
        assert reading.rows(splits, read_from="bookie") == expected
    for wire in wires:
        wire.on_answer = flip_last_bit
    with pytest.raises(LedgerUnavailable, match="returned a damaged entry, whose digest does not match;"):
        reading.rows(splits, read_from="bookie")


def flip_last_bit(frame: bytes) -> bytes:
    return frame[:-1] + bytes([frame[-1] ^ 1])


@pytest.mark.parametrize("slow", [None, 0, 1, 2])
def test_the_broker_continues_in_the_middle(
    slow: int | None, cluster: PulsarCluster, wires: list[Wire], make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """`slow`: the bookie that answers only after the others are gone; one of the three holds the first entry."""
    topic = make(3, 2, messages=190, size=3000)
    reading = Reading(cluster, topic, wires)
    expected, splits = reading.read("broker"), reading.splits(read_from="auto")
    assert locations(splits) == {"bookie", "broker"}

    def cut_short(wire: Wire, frame: bytes) -> bytes | None:
        return frame if wire.answered_bytes < 100_000 else None

    def late(frame: bytes) -> bytes | None:
        deadline = time.monotonic() + 10
        while any(wire.answered_bytes < 100_000 for wire in others) and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(0.2)
        return cut_short(wires[slow], frame)

    for wire in wires:
        wire.on_answer = partial(cut_short, wire)
    others = [wire for place, wire in enumerate(wires) if place != slow]
    if slow is not None:
        wires[slow].on_answer = late
    with caplog.at_level(logging.DEBUG, "pyspark_pulsar"):
        assert reading.rows(splits) == expected
    of_ranges = [record for record in caplog.records if "the rest of a range" in record.getMessage()]
    assert [record.levelno for record in of_ranges] == [logging.WARNING, logging.DEBUG]
    told = [record.getMessage() for record in of_ranges]
    assert all(
        "rest of a range from the broker, because reading it from bookie failed" in text for text in told
    )
    assert ":0:0 up to" not in told[0], "some entries of the first ledger had come"
    with pytest.raises(LedgerUnavailable):
        reading.rows(splits, read_from="bookie")


@pytest.mark.parametrize("ensemble", [2, 3])
def test_bookies_that_do_not_know_batches(
    ensemble: int, cluster: PulsarCluster, wires: list[Wire], make: Any
) -> None:
    """BookKeeper before 4.17 closes the connection on an operation that it does not know."""
    topic = make(ensemble, 2, ledgers=3)
    reading = Reading(cluster, topic, wires)
    expected, splits = reading.read("broker"), reading.splits(read_from="bookie")
    for wire in wires:
        wire.on_request = lambda frame: None if operation(frame) == BATCH_READ else frame
    assert reading.rows(splits, read_from="bookie") == expected
    asked = [operation(frame) for wire in wires for frame in wire.requests]
    assert asked.count(READ_ENTRY) >= expected.num_rows - 1
    assert asked.count(BATCH_READ) <= len(wires)
    for wire in wires:
        wire.requests.clear()
    assert reading.rows(splits, read_from="bookie") == expected
    assert {operation(frame) for wire in wires for frame in wire.requests} == {READ_ENTRY}


@pytest.mark.parametrize(("ensemble", "copies"), [(1, 1), (3, 2)])
def test_too_many_requests(
    ensemble: int, copies: int, cluster: PulsarCluster, wires: list[Wire], make: Any
) -> None:
    topic = make(ensemble, copies, ledgers=1)
    reading = Reading(cluster, topic, wires)
    expected, splits = reading.read("broker"), reading.splits(read_from="bookie")

    def busy(frame: bytes) -> bytes:
        if randomly.random() < often:
            raise Answer(refusal(frame, TOO_MANY_REQUESTS))
        return frame

    randomly, often = random.Random(1), 0.3
    for wire in wires:
        wire.on_request = busy
    assert reading.rows(splits, read_from="bookie") == expected
    often = 1.0
    with pytest.raises(LedgerUnavailable, match="had too many requests"):
        reading.rows(splits, read_from="bookie", bookie_timeout_ms=5_000)


def test_no_entry_after_the_range_is_requested_and_nothing_is_fenced(
    cluster: PulsarCluster, wires: list[Wire], make: Any
) -> None:
    for ensemble in (2, 3):
        topic = make(ensemble, 2, ledgers=1)
        reading = Reading(cluster, topic, wires)
        [split, *_] = reading.splits(read_from="bookie")
        ledger = split.ranges[0].start.ledger
        start, end = Position(ledger, 20), Position(ledger, 31)
        split_range = SplitRange(start, end, split.ranges[0].location)
        part = Split(split.partition, start, end, (split_range,))
        for wire in wires:
            wire.heal()
        assert reading.rows([part], read_from="bookie").num_rows == 11
        frames = [frame for wire in wires for frame in wire.requests]
        assert frames
        for frame in frames:
            assert frame[2:4] == b"\0\0", "flags"
            entry = int.from_bytes(frame[12:20], "big")
            count = int.from_bytes(frame[28:32], "big") if operation(frame) == BATCH_READ else 1
            assert 20 <= entry <= entry + count - 1 <= 30
        cluster_admin = ClusterAdmin(cluster)
        cluster_admin.delete(topic)


def test_a_deleted_ledger(
    cluster: PulsarCluster, cluster_admin: ClusterAdmin, namespace: str, make: Any
) -> None:
    topic = make(3, 2)
    reading = Reading(cluster, topic, [])
    splits = reading.splits(read_from="auto")
    first = splits[0].ranges[0].start
    cluster_admin.truncate(topic)
    deleted = {
        split_range.location.ledger.id
        for split in splits
        for split_range in split.ranges
        if isinstance(split_range.location, FromBookies)
    }
    for ledger in deleted:
        cluster.await_deleted(ledger)
    for read_from in ("bookie", "auto"):
        with pytest.raises(
            DataLossError, match=rf"expected entries 0 to 149 of ledger {first.ledger} \(150 entries\)"
        ):
            reading.rows(splits, read_from=read_from)
    assert reading.rows(splits, fail_on_data_loss=False).num_rows == 1


def test_an_unknown_bookie_id(cluster: PulsarCluster, make: Any) -> None:
    topic = make(3, 2)
    reading = Reading(cluster, topic, [])
    splits = reading.splits(read_from="bookie")

    def renamed(split_range: SplitRange) -> SplitRange:
        if not isinstance(split_range.location, FromBookies) or split_range.location.ledger.metadata is None:
            return split_range
        striping = split_range.location.ledger.metadata
        ensembles = tuple(
            replace(each, bookies=tuple(f"bookie-{bookie.rpartition(':')[2]}" for bookie in each.bookies))
            for each in striping.ensembles
        )
        ledger = replace(split_range.location.ledger, metadata=replace(striping, ensembles=ensembles))
        return replace(split_range, location=FromBookies(ledger))

    unknown = [replace(split, ranges=tuple(map(renamed, split.ranges))) for split in splits]
    with pytest.raises(OptionError, match="bookieAddresses"):
        reading.rows(unknown, read_from="bookie")
    mapping = tuple((f"bookie-{bookie.port}", bookie.address) for bookie in cluster.bookies)
    expected = reading.read("broker")
    assert reading.rows(unknown, read_from="bookie", bookie_addresses=mapping) == expected
    assert reading.rows(unknown) == expected, "auto: the broker reads what no bookie can be found for"


def test_the_compacted_view_equals_the_brokers(
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    wires: list[Wire],
    make: Any,
) -> None:
    topic = make(3, 2, messages=400, batch=20, ledgers=2)
    send(cluster_client, topic, [("k1", b""), ("k2", b"the last of k2"), ("single", b"1")])
    cluster_admin.compact(topic)
    reading = Reading(cluster, topic, wires)
    with AdminClient(reading.options) as admin:
        [(partition, known)] = fetch_ledgers(admin, [reading.splits()[0].partition]).items()
    assert known.compacted is not None
    assert known.compacted_until is not None
    horizon = known.compacted_until
    send(cluster_client, topic, [("k1", b"behind"), (None, b"without a key")])
    whole = reading.splits(read_from="broker", read_compacted=True)
    end = whole[-1].end
    compacted = FromCompactedLedger(known.compacted, tuple(bookie.address for bookie in cluster.bookies))
    ranges = (SplitRange(EARLIEST, horizon, compacted), SplitRange(horizon, end, FromBroker()))
    direct = Split(partition, EARLIEST, end, ranges)
    expected = reading.rows(whole, read_from="broker", read_compacted=True)
    assert expected.num_rows == 7 + 1 + 2
    assert reading.rows([direct], read_from="bookie", read_compacted=True) == expected
    planned = reading.splits(read_from="bookie", read_compacted=True)
    assert "compacted" in locations(planned)
    assert reading.rows(planned, read_from="bookie", read_compacted=True) == expected
    middle = expected["__messageId"][3].as_py()
    start = Position(middle["ledger"], middle["entry"], max(0, middle["batchIndex"]))
    part = Split(partition, start, end, (replace(ranges[0], start=start), ranges[1]))
    assert reading.rows([part], read_from="bookie", read_compacted=True) == expected.slice(3)
    for wire in wires:
        wire.on_answer = flip_last_bit
    assert reading.rows([direct], read_compacted=True) == expected


def send(client: official_client.Client, topic: str, messages: list[tuple[str | None, bytes]]) -> None:
    producer = client.create_producer(topic, batching_enabled=False)
    for key, value in messages:
        producer.send(value, partition_key=key)
    producer.close()
