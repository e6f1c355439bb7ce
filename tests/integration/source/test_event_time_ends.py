"""Ends by event time: what a batch leaves out, and the message at which each topic partition of a stream ends."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pulsar as official_client
import pytest
from integration.official import Admin, messages_of

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_reader import PulsarBatchReader
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.microbatch.ends.event_time_end import EventTimeSearch
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.spark.read_limits import ReadAllAvailable
from pyspark_pulsar.tools.standalone import LocalPulsar

END = 1_000
Options = Callable[..., ReadOptions]


@dataclass(frozen=True)
class Message:
    """`event` None: without event time."""

    value: int
    partition: int
    event: int | None
    published: int


@pytest.fixture
def options(topic: str, pulsar: LocalPulsar) -> Options:
    """`options(endingEventTime="5")`: options to read the test's topic."""

    def make(**given: str) -> ReadOptions:
        known = {"service.url": pulsar.service_url, "topic": topic, "startingOffsets": "earliest"}
        known |= {"columns": "value"}
        return parse_options(ReadOptions, known | given)

    return make


@pytest.fixture
def sent(topic: str, official: official_client.Client, admin: Admin, rng: random.Random) -> Sequence[Message]:
    """Three partitions, of batched entries, of entries of one message, and of chunks; event times in no order. The
    last has none at or past the end."""
    admin.create_partitioned(topic, 3)
    value = 0
    for partition in range(3):
        producer = official.create_producer(
            f"{topic}-partition-{partition}",
            batching_enabled=partition == 0,
            batching_max_messages=7,
            batching_max_publish_delay_ms=600_000,
            chunking_enabled=partition == 1,
        )
        first_past = rng.randrange(20, 40)
        for index in range(60):
            before, after = rng.choice([None, rng.randrange(1, END)]), rng.randrange(END, 2 * END)
            event = after if index == first_past or (index > first_past and rng.random() < 0.3) else before
            if partition == 2:
                event = before
            size = 6_000_000 if partition == 1 and index in (0, first_past) else 0
            producer.send_async(
                str(value).encode().ljust(size), callback=lambda *_: None, event_timestamp=event
            )
            value += 1
        producer.flush()
        producer.close()
    return [
        Message(
            int(message.data()),
            partition,
            message.event_timestamp() or None,
            message.publish_timestamp(),
        )
        for partition in range(3)
        for message in messages_of(official, f"{topic}-partition-{partition}")
    ]


def before(messages: Sequence[Message], end: float) -> list[int]:
    return [each.value for each in messages if each.event is None or each.event < end]


def up_to(messages: Sequence[Message], ends: dict[int, float], published_from: int = 0) -> list[int]:
    """Each partition up to its first message at or past its end."""
    found: list[int] = []
    for partition, end in ends.items():
        for each in messages:
            if each.partition != partition or each.published < published_from:
                continue
            if each.event is not None and each.event >= end:
                break
            found.append(each.value)
    return sorted(found)


def batch_of(options: ReadOptions) -> list[int]:
    reader = PulsarBatchReader(options, resolve_source_schema(options))
    return [
        int(value)
        for split in reader.partitions()
        for batch in reader.read(split)
        for value in batch.column("value").to_pylist()
    ]


def micro_batches(reader: PulsarStreamReader, start: dict | None = None) -> Iterator[tuple[dict, list[int]]]:
    """Offset and rows of each, until nothing is planned any more."""
    start = reader.initialOffset() if start is None else start
    while (end := reader.latestOffset(start, ReadAllAvailable())) != start:
        splits = reader.partitions(start, end)
        values = (
            batch.column("value").to_pylist()
            for split in splits
            if split.value is not None
            for batch in reader.read(split)
        )
        yield end, [int(value) for found in values for value in found]
        start = end


def stream_of(options: ReadOptions, reader: PulsarStreamReader | None = None) -> tuple[list[int], dict]:
    """All rows, sorted, and the last offset."""
    reader = reader or PulsarStreamReader(options, resolve_source_schema(options))
    found = list(micro_batches(reader))
    reader.stop()
    return sorted(value for _, rows in found for value in rows), found[-1][0]


def test_a_batch_has_all_rows_before_the_event_time(
    topic: str, options: Options, sent: Sequence[Message]
) -> None:
    assert batch_of(options(endingEventTime=str(END))) == before(sent, END)
    assert batch_of(options(endingEventTime="1970-01-01T00:00:00.500Z", minPartitions="9")) == before(
        sent, 500
    )
    times = {topic: 700, f"{topic}-partition-1": "1500"}
    wanted = [
        value
        for partition, end in enumerate((700, 1_500, 700))
        for value in before([each for each in sent if each.partition == partition], end)
    ]
    assert batch_of(options(endingOffsetsByEventTime=json.dumps(times))) == wanted
    with pytest.raises(OptionError, match=r"endingOffsetsByEventTime.*none for .*partition-0"):
        batch_of(options(endingOffsetsByEventTime=json.dumps({f"{topic}-partition-1": 5})))
    with pytest.raises(OptionError, match="set only one of them"):
        options(endingEventTime="5", endingTimestamp="5")


def test_a_stream_ends_before_the_first_message_at_or_past_the_event_time(
    topic: str, options: Options, sent: Sequence[Message], official: official_client.Client
) -> None:
    ends = dict.fromkeys(range(3), float(END))
    asked = options(endingEventTime=str(END))
    rows, offset = stream_of(asked)
    assert rows == up_to(sent, ends)
    # The third partition has no such message yet.
    assert "ended" not in offset
    producer = official.create_producer(f"{topic}-partition-2", batching_enabled=False)
    producer.send(b"900", event_timestamp=END)
    producer.send(b"901", event_timestamp=1)
    reader = PulsarStreamReader(asked, resolve_source_schema(asked))
    ((last, found),) = micro_batches(reader, offset)
    assert (found, "ended" in last) == ([], True)
    reader.stop()
    # A later end goes on from there.
    later = options(endingEventTime=str(END + 500))
    reader = PulsarStreamReader(later, resolve_source_schema(later))
    rest = sorted(value for _, found in micro_batches(reader, last) for value in found)
    reader.stop()
    whole = up_to(sent, dict.fromkeys(range(3), END + 500.0))
    assert sorted(rows + rest) == [*whole, 900, 901]
    times = {topic: 700, f"{topic}-partition-1": 1500}
    assert stream_of(options(endingOffsetsByEventTime=json.dumps(times)))[0] == up_to(
        sent, {0: 700.0, 1: 1_500.0, 2: 700.0}
    )


def test_messages_before_the_start_end_nothing(options: Options, sent: Sequence[Message]) -> None:
    past = next(each for each in sent if each.partition == 0 and (each.event or 0) >= END)
    start = past.published + 1
    given = {"startingTimestamp": str(start), "endingEventTime": str(END)}
    asked = parse_options(
        ReadOptions,
        {"service.url": options().service_url, "topic": options().topic or "", "columns": "value"} | given,
    )
    ends = dict.fromkeys(range(3), float(END))
    assert stream_of(asked)[0] == up_to(sent, ends, published_from=start)


def test_a_search_without_time_goes_on_with_the_next_micro_batch(
    options: Options, sent: Sequence[Message]
) -> None:
    """Each look has time for some entries of each topic partition only, and the micro-batch ends with them."""
    asked = options(endingEventTime=str(END), **{"pulsar.consumer.receiverQueueSize": "8"})
    reader = PulsarStreamReader(asked, resolve_source_schema(asked))
    ticks = iter(range(10**9))
    assert asked.event_before is not None
    reader._opened().end._search = EventTimeSearch(
        asked, asked.event_before, clock=lambda: 100.0 * next(ticks)
    )
    found = [rows for _, rows in micro_batches(reader)]
    reader.stop()
    assert sorted(value for rows in found for value in rows) == up_to(
        sent, dict.fromkeys(range(3), float(END))
    )
    assert len(found) > 3
