"""Limits of micro-batches hold to the message, and splits by key keep keys together, in real batches of producers."""

from __future__ import annotations

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, await_true
from integration.streams import (
    Sending,
    Stream,
    await_micro_batch,
    finish,
    send_numbers,
    to_files,
    values_in,
)
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import spark_partition_id
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.microbatch.admission.allowance import Allowance, MeasureRequest
from pyspark_pulsar.read.microbatch.admission.backlog_counter import BacklogCounter
from pyspark_pulsar.tools.standalone import LocalPulsar

Start = Callable[..., StreamingQuery]


@dataclass
class Seen:
    """What micro-batches gave: a list of rows each, as tasks gave them, with `task` the number of the task."""

    batches: list[list[Row]] = field(default_factory=list)

    def take(self, frame: DataFrame, _: int) -> None:
        self.batches.append(frame.withColumn("task", spark_partition_id()).collect())

    @property
    def rows(self) -> list[Row]:
        return [row for batch in self.batches for row in batch]

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.batches]

    @property
    def numbers(self) -> Counter[int]:
        return Counter(int(bytes(row["value"])) for row in self.rows)


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def start(stream: Stream, seen: Seen, tmp_path: Path) -> Iterator[Start]:
    """`start(trigger, **options)`: a query whose rows come to `seen`; one checkpoint for the whole test."""
    queries: list[StreamingQuery] = []

    def begin(trigger: dict[str, Any], **options: Any) -> StreamingQuery:
        frame = stream(**{key: str(value) for key, value in options.items()})
        writer = frame.writeStream.foreachBatch(seen.take).option("checkpointLocation", str(tmp_path / "c"))
        queries.append(writer.trigger(**trigger).start())
        return queries[-1]

    yield begin
    for query in queries:
        query.stop()


AVAILABLE: dict[str, Any] = {"availableNow": True}
ALWAYS: dict[str, Any] = {"processingTime": "0 seconds"}


def end(query: StreamingQuery) -> None:
    finish(query, seconds=180)


def place(row: Row) -> tuple[int, int, int]:
    found = row["__messageId"]
    return found["ledger"], found["entry"], found["batchIndex"]


def assert_in_order(rows: list[Row]) -> None:
    """Of each partition."""
    partitions: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for row in rows:
        partitions[row["__messageId"]["partition"]].append(place(row))
    for places in partitions.values():
        assert places == sorted(set(places))


def ends_in(checkpoint: Path) -> list[str]:
    """Every position that a micro-batch ended at."""
    offsets = [each for each in (checkpoint / "offsets").iterdir() if each.name.isdigit()]
    documents = [json.loads(each.read_text(encoding="utf-8").splitlines()[-1]) for each in offsets]
    return [position for document in documents for position in document["positions"].values()]


@pytest.mark.parametrize("partitions", [0, 3], ids=["one", "three"])
def test_available_now_takes_batches_in_exact_portions(
    partitions: int,
    topic: str,
    start: Start,
    seen: Seen,
    tmp_path: Path,
    official: official_client.Client,
    admin: Admin,
) -> None:
    if partitions:
        admin.create_partitioned(topic, partitions)
    send_numbers(official, topic, range(260))
    query = start(AVAILABLE, topic=topic, startingOffsets="earliest", maxRecordsPerTrigger=40)
    send_numbers(official, topic, range(1_000, 1_030))
    end(query)
    late = sum(number >= 1_000 for number in seen.numbers)
    assert seen.sizes[:6] == [40] * 6
    assert sum(seen.sizes) == 260 + late
    assert max(seen.sizes) == 40
    assert set(seen.numbers.values()) == {1}
    assert_in_order(seen.rows)
    assert any(not position.endswith(":0") for position in ends_in(tmp_path / "c"))
    # What AvailableNow found was there when it began: the next one finds the rest, and then there is nothing.
    for _ in range(2):
        end(start(AVAILABLE, topic=topic, startingOffsets="latest", maxRecordsPerTrigger=40))
    assert seen.numbers == Counter([*range(260), *range(1_000, 1_030)])
    assert max(seen.sizes) == 40


def test_restarts_with_other_limits_neither_lose_nor_repeat(
    topic: str,
    rng: random.Random,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    admin.create_partitioned(topic, 3)
    with Sending(official, topic, rng) as sending:
        await_true("first messages", lambda: sending.count > 500)
        former = 0
        for _ in range(3):
            limit = rng.randrange(20, 300)
            query = to_files(
                stream(topic=topic, startingOffsets="earliest", maxOffsetsPerTrigger=str(limit)), tmp_path
            ).start()
            await_micro_batch(query)
            await_true("more micro-batches", lambda query=query: len(query.recentProgress) > 2)
            query.stop()
            assert query.exception() is None
            # What was planned when the query was stopped is repeated as it was, under the former limit.
            sizes = [each.numInputRows for each in query.recentProgress]
            assert sizes[0] <= max(limit, former)
            assert max(sizes[1:]) <= limit
            former = limit
    end(to_files(stream(topic=topic, maxRecordsPerTrigger="5000"), tmp_path).trigger(**AVAILABLE).start())
    assert values_in(spark, tmp_path) == Counter(range(sending.count))


def test_a_limit_below_the_number_of_partitions_serves_each_in_turn(
    topic: str, start: Start, seen: Seen, official: official_client.Client, admin: Admin
) -> None:
    admin.create_partitioned(topic, 4)
    send_numbers(official, topic, range(28))
    end(start(AVAILABLE, topic=topic, startingOffsets="earliest", maxRecordsPerTrigger=3))
    assert seen.numbers == Counter(range(28))
    assert seen.sizes == [3] * 9 + [1]
    early = {row["__messageId"]["partition"] for batch in seen.batches[:3] for row in batch}
    assert early == {row["__messageId"]["partition"] for row in seen.rows}


def test_bytes_are_limited_but_one_message_always_comes(
    topic: str, start: Start, seen: Seen, official: official_client.Client
) -> None:
    producer = official.create_producer(topic, batching_enabled=False)
    for number in range(6):
        producer.send(b"%d" % number)
    producer.close()
    end(start(AVAILABLE, topic=topic, startingOffsets="earliest", maxBytesPerTrigger=1))
    assert seen.sizes == [1] * 6
    send_numbers(official, topic, range(6, 706))
    end(start(AVAILABLE, topic=topic, maxBytesPerTrigger=2_000))
    assert seen.numbers == Counter(range(706))
    # Seven messages of a batch take more than 7 * 10 bytes, and less than 7 * 80.
    later = seen.sizes[6:]
    assert len(later) > 3
    assert all(size <= 200 for size in later)
    assert sum(later[:-1]) >= 25 * len(later[:-1])
    assert_in_order(seen.rows)


def test_a_micro_batch_waits_for_enough_but_not_for_ever(
    topic: str, start: Start, seen: Seen, official: official_client.Client, tmp_path: Path
) -> None:
    send_numbers(official, topic, range(10))
    options = {"topic": topic, "startingOffsets": "earliest", "minOffsetsPerTrigger": 50}
    query = start(ALWAYS, **options, maxTriggerDelay="1h", maxRecordsPerTrigger=60)
    await_true("the first micro-batch", lambda: seen.sizes == [10])
    send_numbers(official, topic, range(10, 40))
    assert not query.awaitTermination(5)
    assert seen.sizes == [10]
    send_numbers(official, topic, range(40, 100))
    # One that is stopped before Spark has committed it comes again.
    await_true("enough", (tmp_path / "c" / "commits" / "1").exists)
    # Some of the last may still be under way.
    enough = seen.sizes[1]
    assert 50 <= enough <= 60
    query.stop()
    query = start(ALWAYS, **options, maxTriggerDelay="2s")
    await_true("what is too little, after a start", lambda: seen.sizes == [10, enough, 90 - enough])
    send_numbers(official, topic, range(100, 105))
    await_true("what is too little, after the delay", lambda: sum(seen.sizes) == 105)
    query.stop()
    assert query.exception() is None
    assert seen.numbers == Counter(range(105))


def test_limits_count_from_the_starting_time_on(
    topic: str, start: Start, seen: Seen, official: official_client.Client, read_topic: ReadTopic
) -> None:
    send_numbers(official, topic, range(100))
    await_true("a later millisecond", lambda: True)
    send_numbers(official, topic, range(100, 150))
    first = read_topic(topic).where("cast(cast(value as string) as int) = 100").first()
    assert first is not None
    moment = int(first["__publishTime"].timestamp() * 1000)
    wanted = {
        int(bytes(row["value"]))
        for row in read_topic(topic).collect()
        if int(row["__publishTime"].timestamp() * 1000) >= moment
    }
    end(start(AVAILABLE, topic=topic, startingTimestamp=moment, maxRecordsPerTrigger=20))
    assert seen.numbers == Counter(wanted)
    assert seen.sizes[0] == 20


def test_trigger_once_knows_no_limit(
    topic: str, start: Start, seen: Seen, official: official_client.Client
) -> None:
    send_numbers(official, topic, range(50))
    end(start({"once": True}, topic=topic, startingOffsets="earliest", maxRecordsPerTrigger=7))
    assert seen.sizes == [50]


def send_keys(client: official_client.Client, topic: str, rng: random.Random) -> list[tuple[str | None, int]]:
    """Batches with many keys each, batches of one key each, and messages alone; some without a key."""
    kinds = (
        {"batching_enabled": False},
        {"batching_enabled": True, "batching_max_messages": 20},
        {
            "batching_enabled": True,
            "batching_max_messages": 20,
            "batching_type": official_client.BatchingType.KeyBased,
        },
    )
    sent: list[tuple[str | None, int]] = []
    for kind in kinds:
        producer = client.create_producer(topic, **kind)
        for _ in range(200):
            key = rng.choice([None, *(f"key-{index}" for index in range(40))])
            sent.append((key, len(sent)))
            producer.send_async(
                b"%d" % sent[-1][1], callback=lambda *_: None, **({"partition_key": key} if key else {})
            )
        producer.flush()
        producer.close()
    return sent


def assert_split_by_key(rows: list[Row], sent: list[tuple[str | None, int]]) -> None:
    got = [
        (None if row["__key"] is None else bytes(row["__key"]).decode(), int(row["value"])) for row in rows
    ]
    assert Counter(got) == Counter(sent)
    tasks: dict[str, set[int]] = defaultdict(set)
    order: dict[str, list[int]] = defaultdict(list)
    for row, (key, number) in zip(rows, got, strict=True):
        if key is not None:
            tasks[key].add(row["task"])
            order[key].append(number)
    assert all(len(found) == 1 for found in tasks.values())
    assert all(numbers == sorted(numbers) for numbers in order.values())


def test_five_partitions_and_ten_tasks_keep_each_key_in_one_task_in_order(
    topic: str,
    rng: random.Random,
    start: Start,
    seen: Seen,
    official: official_client.Client,
    admin: Admin,
    read_topic: ReadTopic,
) -> None:
    admin.create_partitioned(topic, 5)
    sent = send_keys(official, topic, rng)
    options = {"splitBy": "key", "minPartitions": "10"}
    end(start(AVAILABLE, topic=topic, startingOffsets="earliest", **options))
    assert len(seen.batches) == 1
    assert_split_by_key(seen.rows, sent)
    assert {row["task"] for row in seen.rows} == set(range(10))
    frame = read_topic(topic, **options)
    assert frame.rdd.getNumPartitions() == 10
    assert_split_by_key(frame.withColumn("task", spark_partition_id()).collect(), sent)


def test_splits_by_key_and_limits_go_together(
    topic: str,
    rng: random.Random,
    start: Start,
    seen: Seen,
    official: official_client.Client,
    admin: Admin,
) -> None:
    admin.create_partitioned(topic, 2)
    sent = send_keys(official, topic, rng)
    options = {"splitBy": "key", "minPartitions": 6, "maxRecordsPerTrigger": 250}
    end(start(AVAILABLE, topic=topic, startingOffsets="earliest", **options))
    assert seen.sizes == [250, 250, 100]
    numbers: dict[Any, list[int]] = defaultdict(list)
    for batch in seen.batches:
        tasks: dict[Any, set[int]] = defaultdict(set)
        for row in batch:
            key = row["__key"] and bytes(row["__key"])
            if key is not None:
                tasks[key].add(row["task"])
                numbers[key].append(int(row["value"]))
        assert all(len(found) == 1 for found in tasks.values())
    assert all(found == sorted(found) for found in numbers.values())
    assert Counter(int(row["value"]) for row in seen.rows) == Counter(number for _, number in sent)


def test_parts_of_the_keys_are_those_of_a_key_shared_subscription(
    topic: str, official: official_client.Client, read_topic: ReadTopic
) -> None:
    consumers = [
        official.subscribe(
            topic,
            "halves",
            consumer_type=official_client.ConsumerType.KeyShared,
            key_shared_policy=official_client.ConsumerKeySharedPolicy(
                key_shared_mode=official_client.KeySharedMode.Sticky, sticky_ranges=[half]
            ),
        )
        for half in ((0, 32_767), (32_768, 65_535))
    ]
    producer = official.create_producer(topic, batching_enabled=False)
    for number in range(120):
        keys: dict[str, Any] = [
            {},
            {"partition_key": f"key-{number}"},
            {"partition_key": "same", "ordering_key": f"order-{number}"},
        ][number % 3]
        producer.send(b"%d" % number, **keys)
    producer.close()
    halves: list[set[int]] = [set(), set()]
    deadline = time.monotonic() + 60
    while sum(map(len, halves)) < 120 and time.monotonic() < deadline:
        for half, consumer in zip(halves, consumers, strict=True):
            half.update(numbers_until_silence(consumer))
    assert halves[0] | halves[1] == set(range(120))
    frame = read_topic(topic, splitBy="key", minPartitions="2").withColumn("task", spark_partition_id())
    found: dict[int, set[int]] = defaultdict(set)
    for row in frame.collect():
        found[row["task"]].add(int(bytes(row["value"])))
    assert [found[0], found[1]] == halves
    for consumer in consumers:
        consumer.close()


def numbers_until_silence(consumer: official_client.Consumer) -> Iterator[int]:
    while True:
        try:
            message = consumer.receive(1_000)
        except official_client.Timeout:
            return
        consumer.acknowledge(message)
        yield int(message.data())


def test_splits_by_position_are_more_than_partitions_and_hold_each_row_once(
    topic: str,
    start: Start,
    seen: Seen,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
) -> None:
    admin.create_partitioned(topic, 2)
    send_numbers(official, topic, range(400))
    options = {"minPartitions": 6, "maxRecordsPerTrigger": 300, "admin.url": pulsar.admin_url}
    end(start(AVAILABLE, topic=topic, startingOffsets="earliest", **options))
    assert seen.sizes == [300, 100]
    assert {row["task"] for row in seen.batches[0]} == set(range(6))
    assert seen.numbers == Counter(range(400))
    for batch in seen.batches:
        assert_in_order(batch)


def test_what_was_counted_is_not_fetched_again(
    topic: str, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    send_numbers(official, topic, range(70))
    options = parse_options(ReadOptions, {"service.url": pulsar.service_url, "topic": topic})
    partition = TopicPartition.parse(topic)
    with BrokerClient(options) as client:
        last = LogEnds(client).ends([partition])[partition]
    counter = BacklogCounter(options, lambda _: None)
    position, portions = EARLIEST, []
    while position < last:
        counter.forget_before({partition: position})
        (part,) = counter.measure([MeasureRequest(partition, position, last, Allowance(10))])
        counter.count_ahead([MeasureRequest(partition, part.end, last, Allowance(10))])
        position = part.end
        portions.append(part.records)
    counter.close()
    assert portions == [10] * 7
    # Seven messages in each entry, none of which was looked at twice.
    assert counter.entry_records(partition) == 7.0
