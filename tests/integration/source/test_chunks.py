"""Chunked messages against the official Reader: interleaved, over several ledgers, and cut by ranges anywhere."""

from __future__ import annotations

import json
import logging
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, messages_of, open_client
from integration.raw_producer import RawProducer
from pyspark.sql import SparkSession

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.split_reader import read_split
from pyspark_pulsar.tools.standalone import LocalPulsar

MAX_MESSAGE = 32 * 1024
PIECES = [b"first ", b"second ", b"third"]
WHOLE = b"".join(PIECES)

Row = tuple[tuple[int, int, int], bytes, bytes | None, dict[str, str]]


@pytest.fixture(scope="module")
def small_ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    """Yield a server with small messages, so that chunks are small, and with ledgers of three messages."""
    config = {
        "maxMessageSize": str(MAX_MESSAGE),
        "managedLedgerMaxEntriesPerLedger": "3",
        "managedLedgerMinLedgerRolloverTimeMinutes": "0",
    }
    with LocalPulsar(data=tmp_path_factory.mktemp("small-ledgers"), config=config) as server:
        yield server


def read_rows(
    server: LocalPulsar, topic: str, start: Position = EARLIEST, end: Position | None = None, **options: Any
) -> list[Row]:
    """Return the rows of a range, read like a task."""
    parsed = ReadOptions(service_url=server.service_url, topic=topic, **options)
    partition = TopicPartition.parse(topic)
    if end is None:
        end = present_end(server, topic)
    rows: list[Row] = []
    split = Split(partition, start, end, (SplitRange(start, end, FromBroker()),))
    for batch in read_split(parsed, resolve_source_schema(parsed), split):
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            place = row["__messageId"]
            rows.append(
                (
                    (place["ledger"], place["entry"], place["batchIndex"]),
                    row["value"],
                    row["__key"],
                    row["__messageProperties"],
                )
            )
    return rows


def present_end(server: LocalPulsar, topic: str) -> Position:
    partition = TopicPartition.parse(topic)
    with BrokerClient(ReadOptions(service_url=server.service_url, topic=topic)) as client:
        return LogEnds(client).ends([partition])[partition]


def reference(client: official_client.Client, topic: str) -> list[Row]:
    rows = []
    for message in messages_of(client, topic):
        place = message.message_id()
        rows.append(
            (
                (place.ledger_id(), place.entry_id(), place.batch_index()),
                message.data(),
                message.partition_key().encode() or None,
                message.properties(),
            )
        )
    return rows


def produce_chunks(client: official_client.Client, topic: str, rng: random.Random, each: int) -> None:
    """Run three concurrent producers: two split large messages into chunks, one sends batches."""
    codecs = [official_client.CompressionType.LZ4, official_client.CompressionType.NONE]
    seeds = [rng.randrange(2**32) for _ in range(3)]

    def send(number: int) -> None:
        own = random.Random(seeds[number])
        chunking = number < len(codecs)
        producer = client.create_producer(
            topic,
            compression_type=codecs[number] if chunking else official_client.CompressionType.ZSTD,
            chunking_enabled=chunking,
            batching_enabled=not chunking,
            block_if_queue_full=True,
        )
        for index in range(each):
            size = own.randrange(5 * MAX_MESSAGE) if chunking else 10
            producer.send_async(
                own.randbytes(size // 2) + bytes(size - size // 2),
                callback=lambda *_: None,
                partition_key=f"k{number}",
                properties={"number": str(index)},
            )
        producer.flush()
        producer.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_every_range_over_small_ledgers_equals_the_official_reader(
    topic: str, rng: random.Random, small_ledgers: LocalPulsar
) -> None:
    client = open_client(small_ledgers.service_url)
    try:
        produce_chunks(client, topic, rng, each=12)
        expected = reference(client, topic)
    finally:
        client.close()
    assert sum(len(row[1]) > MAX_MESSAGE for row in expected) > 5
    assert len({row[0][0] for row in expected}) > 5, "ledgers"

    assert read_rows(small_ledgers, topic) == expected
    assert read_rows(small_ledgers, topic, max_pending_chunked_message=1) == expected
    end = present_end(small_ledgers, topic)
    ledgers = sorted({row[0][0] for row in expected})
    cuts = [Position(ledger, entry) for ledger in ledgers for entry in range(4)]
    for cut in [each for each in cuts if each < end]:
        before = read_rows(small_ledgers, topic, EARLIEST, cut)
        behind = read_rows(small_ledgers, topic, cut, end)
        assert before + behind == expected, f"cut at {cut}"


@pytest.fixture
def raw(pulsar: LocalPulsar, topic: str, admin: Admin) -> Iterator[RawProducer]:
    admin.create(topic)
    with RawProducer(pulsar.service_url, topic) as producer:
        yield producer


def test_micro_batches_that_end_between_chunks_read_each_message_once(
    raw: RawProducer, topic: str, spark: SparkSession, pulsar: LocalPulsar, tmp_path: Path
) -> None:
    def run() -> list[tuple[bytes, tuple[int, int]]]:
        frame = (
            spark.readStream.format("pulsar")
            .options(**{"service.url": pulsar.service_url, "topic": topic, "startingOffsets": "earliest"})
            .load()
            .selectExpr("value", "__messageId.ledger", "__messageId.entry")
        )
        out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
        query = frame.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        query.trigger(availableNow=True).start(out).awaitTermination(120)
        rows = spark.read.parquet(out).orderBy("ledger", "entry").collect()
        return [(bytes(row.value), (row.ledger, row.entry)) for row in rows]

    raw.chunk("a", 0, PIECES)
    raw.chunk("b", 0, PIECES)
    assert run() == []
    raw.chunk("a", 1, PIECES)
    whole_b = [raw.chunk("b", number, PIECES) for number in (1, 2)][-1]
    b = (WHOLE, (whole_b.ledger, whole_b.entry))
    assert run() == [b]
    whole_a = raw.chunk("a", 2, PIECES)
    assert run() == [b, (WHOLE, (whole_a.ledger, whole_a.entry))]


def test_a_batch_that_starts_between_chunks(
    raw: RawProducer, topic: str, read_topic: ReadTopic, admin: Admin
) -> None:
    raw.chunk("a", 0, PIECES)
    admin.unload(topic)
    middle = raw.chunk("a", 1, PIECES)
    admin.unload(topic)
    raw.chunk("a", 2, PIECES, (6, b"the key"))
    rows = read_topic(topic, startingOffsets=json.dumps({topic: str(middle)})).collect()
    assert [(bytes(row.value), bytes(row["__key"])) for row in rows] == [(WHOLE, b"the key")]
    assert read_topic(topic, endingOffsets=json.dumps({topic: str(middle)})).count() == 0


def test_chunks_removed_by_retention_are_an_error_or_a_log_line(
    raw: RawProducer, topic: str, pulsar: LocalPulsar, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    raw.chunk("a", 0, PIECES)
    admin.unload(topic)
    middle = raw.chunk("a", 1, PIECES)
    last = raw.chunk("a", 2, PIECES)
    raw.send(b"plain")
    admin.truncate(topic)
    with caplog.at_level(logging.WARNING, logger="pyspark_pulsar"):
        assert [row[1] for row in read_rows(pulsar, topic)] == [b"plain"]
    assert f"ledger {last.ledger}, entry {last.entry}" in caplog.text
    assert "retention removed its first chunks" in caplog.text
    with pytest.raises(DataLossError, match=f"ledger {last.ledger}, entry {last.entry}"):
        read_rows(pulsar, topic, middle)
    behind = Position(last.ledger, last.entry + 1)
    assert [row[1] for row in read_rows(pulsar, topic, behind)] == [b"plain"]


def test_a_message_that_never_was_complete_is_reported(
    raw: RawProducer, topic: str, pulsar: LocalPulsar, caplog: pytest.LogCaptureFixture
) -> None:
    raw.chunk("a", 0, PIECES)
    last = raw.chunk("a", 2, PIECES)
    raw.chunk("unfinished", 0, PIECES)
    raw.send(b"plain")
    for start in (EARLIEST, last):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="pyspark_pulsar"):
            assert [row[1] for row in read_rows(pulsar, topic, start)] == [b"plain"]
        assert caplog.text.count("one of its chunks was never stored") == 1
