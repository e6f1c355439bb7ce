"""Shared parts of the tests of streams: a producer that keeps sending, and files that show a lost or repeated
row.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pulsar as official_client
from integration.official import await_true
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

READ_SCHEMA = (
    "value binary, __key binary, __messageId struct<ledger:bigint,entry:bigint,batchIndex:int,partition:int>"
)
Stream = Callable[..., DataFrame]


class Sending:
    """Sends consecutive numbers, from `first` on, in a thread until the block ends; half of them batched."""

    def __init__(
        self, client: official_client.Client, topic: str, rng: random.Random, first: int = 0
    ) -> None:
        self._producers = [
            client.create_producer(topic, batching_enabled=batched, batching_max_messages=20)
            for batched in (True, False)
        ]
        self._rng = rng
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.count = first

    def _send(self) -> None:
        while not self._stop.is_set():
            producer = self._rng.choice(self._producers)
            for _ in range(self._rng.randrange(1, 60)):
                producer.send_async(
                    str(self.count).encode(), callback=lambda *_: None, partition_key=f"k{self.count % 7}"
                )
                self.count += 1
            producer.flush()
            self._stop.wait(0.05)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for producer in self._producers:
            producer.close()


def to_files(frame: DataFrame, folder: Path) -> DataStreamWriter:
    """Spark's file sink keeps each micro-batch once, so a repeated or lost row is the source's doing."""
    kept = frame.select("value", "__key", "__messageId")
    return (
        kept.writeStream.format("parquet")
        .option("path", str(folder / "rows"))
        .option("checkpointLocation", str(folder / "checkpoint"))
    )


def values_in(spark: SparkSession, folder: Path) -> Counter[int]:
    rows = spark.read.schema(READ_SCHEMA).parquet(str(folder / "rows")).select("value").collect()
    return Counter(int(bytes(row["value"])) for row in rows)


def await_micro_batch(query: StreamingQuery) -> None:
    await_true("a micro-batch", lambda: query.lastProgress is not None or not query.isActive)
    assert query.exception() is None


def finish(query: StreamingQuery, seconds: int = 60) -> None:
    assert query.awaitTermination(seconds), "Trigger.AvailableNow did not end"
    assert query.exception() is None


def has_first_batch(checkpoint: Path) -> Callable[[], bool]:
    """Return a check that the first micro-batch is committed, which settles the query's start."""
    return (checkpoint / "commits" / "0").exists


def send_numbers(client: official_client.Client, topic: str, numbers: range) -> None:
    """Send messages in entries of 7."""
    producer = client.create_producer(
        topic,
        batching_enabled=True,
        batching_max_messages=7,
        # The delay is very long, so only a full batch or a flush is sent, however long this sender pauses.
        batching_max_publish_delay_ms=600_000,
    )
    for number in numbers:
        producer.send_async(str(number).encode(), callback=lambda *_: None)
    producer.flush()
    producer.close()


def half_acknowledged(client: official_client.Client, topic: str) -> None:
    """Send ten messages; subscription `mine` has acknowledged the first four and the seventh."""
    consumer = client.subscribe(topic, "mine", official_client.ConsumerType.Shared)
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(10):
        producer.send(str(number).encode())
    producer.close()
    messages = [consumer.receive(30_000) for _ in range(10)]
    for number in (0, 1, 2, 3, 6):
        consumer.acknowledge(messages[number])
    consumer.close()
