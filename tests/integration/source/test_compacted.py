"""`readCompacted` against the official Reader; ends that compaction removed must neither hang nor be errors."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import SPECIAL_MESSAGES, Admin, JavaClient
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

Cells = tuple[tuple[int, int, int], str | None, bytes | None]
Send = Callable[..., None]
# More than the second after which a reader that gets nothing looks whether something can come.
QUICK_SECONDS = 20.0


@pytest.fixture
def send(topic: str, official: official_client.Client) -> Send:
    """`send(("key", b"value"), ..., batching=True)`: one entry for each message, or one for all."""

    def produce(*messages: tuple[str | None, bytes | None], batching: bool = False) -> None:
        producer = official.create_producer(
            topic,
            batching_enabled=batching,
            batching_max_publish_delay_ms=600_000,
            batching_max_messages=max(2, len(messages)),
        )
        for key, value in messages:
            producer.send_async(value, callback=lambda *_: None, partition_key=key)
        producer.flush()
        producer.close()

    return produce


@pytest.fixture(scope="session")
def special(pulsar: LocalPulsar) -> JavaClient:
    return JavaClient(pulsar, SPECIAL_MESSAGES)


def official_view(special: JavaClient, topic: str) -> list[Cells]:
    """What the Java Reader gives. (The Python one shows what was compacted out of a batch as empty messages.)"""
    return [
        (
            (row["ledger"], row["entry"], row["batchIndex"]),
            row["key"],
            None if row["value"] is None else base64.b64decode(row["value"]),
        )
        for row in special.run({"do": "read", "topic": topic, "compacted": True})[0]
    ]


def ours(read_topic: ReadTopic, topic: str, **options: Any) -> list[Cells]:
    rows = read_topic(topic, **{"readCompacted": "true"} | options).collect()
    return [
        (
            tuple(row["__messageId"])[:3],
            row["__key"] and bytes(row["__key"]).decode(),
            None if row.value is None else bytes(row.value),
        )
        for row in rows
    ]


def latest(rows: list[Cells]) -> list[tuple[str | None, bytes | None]]:
    return [row[1:] for row in rows]


def test_equals_the_official_reader(
    topic: str, send: Send, admin: Admin, special: JavaClient, read_topic: ReadTopic
) -> None:
    for round_ in range(3):
        send(*((f"k{number}", f"{round_}-{number}".encode()) for number in range(10)))
        send(*((f"b{number}", f"{round_}-{number}".encode()) for number in range(10)), batching=True)
    send(("k3", None), ("b4", None), batching=False)
    send((None, b"no key"), ("k5", b"the last"))
    admin.compact(topic)
    compacted = official_view(special, topic)
    assert ours(read_topic, topic) == compacted
    assert {key for _, key, _ in compacted} >= {"k1", "b1", "k5"}
    keys = [key for _, key, _ in compacted]
    assert len(keys) == len(set(keys))
    assert None not in keys

    send(("k1", b"behind"), ("k1", b"behind once more"), ("b2", None))
    with_tail = official_view(special, topic)
    assert len(with_tail) == len(compacted) + 3
    assert ours(read_topic, topic) == with_tail
    assert read_topic(topic).count() == 3 * 20 + 4 + 3


@pytest.mark.parametrize("batching", [False, True], ids=["unbatched", "batched"])
@pytest.mark.parametrize(
    "last", [[("b", None)], [(None, b"no key")], [("c", b"3"), ("c", None)]], ids=["null", "keyless", "both"]
)
def test_a_last_message_that_compaction_removes(
    batching: bool,
    last: list[tuple[str | None, bytes | None]],
    topic: str,
    send: Send,
    admin: Admin,
    special: JavaClient,
    read_topic: ReadTopic,
) -> None:
    send(("a", b"1"), ("b", b"2"), batching=batching)
    send(*last, batching=batching)
    admin.compact(topic)
    began = time.monotonic()
    found = ours(read_topic, topic)
    assert time.monotonic() - began < QUICK_SECONDS
    assert found == official_view(special, topic)
    assert found[0][1:] == ("a", b"1")


def test_nothing_is_left(topic: str, send: Send, admin: Admin, read_topic: ReadTopic) -> None:
    send((None, b"1"), (None, b"2"))
    admin.compact(topic)
    assert ours(read_topic, topic) == []
    assert read_topic(topic).count() == 2


def test_compaction_between_plan_and_read(
    topic: str, send: Send, admin: Admin, read_topic: ReadTopic
) -> None:
    """An end behind that of the view stands for a plan that compaction overtook."""
    send(("a", b"1"), (None, b"no key"))
    last = max(row["__messageId"] for row in read_topic(topic).collect())
    admin.compact(topic)
    end = json.dumps({topic: f"{last.ledger}:{last.entry + 1}"})
    began = time.monotonic()
    assert [row[1:] for row in ours(read_topic, topic, endingOffsets=end)] == [("a", b"1")]
    assert time.monotonic() - began < QUICK_SECONDS


def test_removed_ledgers(
    topic: str, send: Send, admin: Admin, special: JavaClient, read_topic: ReadTopic
) -> None:
    """The compacted view outlives the entries that it was made from."""
    send(("a", b"1"), ("b", b"2"), ("a", b"3"))
    admin.compact(topic)
    admin.unload(topic)
    send(("c", b"4"))
    admin.unload(topic)
    admin.truncate(topic)
    found = ours(read_topic, topic)
    assert found == official_view(special, topic)
    assert [row[1:] for row in found][:2] == [("b", b"2"), ("a", b"3")]


def test_a_stream_goes_on_over_compactions(
    topic: str, send: Send, admin: Admin, spark: SparkSession, pulsar: LocalPulsar, tmp_path: Path
) -> None:
    def run() -> list[tuple[str | None, bytes | None]]:
        frame = (
            spark.readStream.format("pulsar")
            .options(**{"service.url": pulsar.service_url, "topic": topic, "readCompacted": "true"})
            .option("startingOffsets", "earliest")
            .load()
        )
        query = frame.select("__key", "value", "__messageId").writeStream.format("parquet")
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query.start(str(tmp_path / "out")).awaitTermination(120)
        rows = spark.read.parquet(str(tmp_path / "out")).orderBy("__messageId").collect()
        return [
            (row["__key"] and bytes(row["__key"]).decode(), row.value and bytes(row.value)) for row in rows
        ]

    send(("a", b"1"), ("a", b"2"), ("b", b"3"))
    admin.compact(topic)
    seen: list[tuple[str | None, bytes | None]] = [("a", b"2"), ("b", b"3")]
    assert run() == seen
    send((None, b"no key"))
    seen = [*seen, (None, b"no key")]
    assert run() == seen
    admin.compact(topic)  # The view now ends before the position that the query has reached.
    assert run() == seen
    send(("c", b"4"))
    assert run() == [*seen, ("c", b"4")]


def test_positions_are_checked_against_the_whole_topic(
    topic: str, send: Send, admin: Admin, read_topic: ReadTopic
) -> None:
    send(("a", b"1"), (None, b"no key"))
    last = max(row["__messageId"] for row in read_topic(topic).collect())
    admin.compact(topic)
    with pytest.raises(Exception, match=r"startingOffsets.*at most"):
        ours(read_topic, topic, startingOffsets=json.dumps({topic: f"{last.ledger}:{last.entry + 2}"}))
    behind_view = json.dumps({topic: f"{last.ledger}:{last.entry + 1}"})
    assert ours(read_topic, topic, startingOffsets=behind_view) == []
