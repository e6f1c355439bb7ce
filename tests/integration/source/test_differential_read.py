"""100,000 messages of every codec and shape: each cell that Spark shows against the official Reader.

Written by the official Python client, by the server's own `pulsar-perf` and `pulsar-client`, and by the
official Java client, whose keys may be bytes.
"""

from __future__ import annotations

import base64
import random
import string
from collections import Counter, defaultdict
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_pulsar import PulsarTool
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, as_base64, await_true, instant, messages_of
from pyspark.sql import DataFrame

CODECS = {
    "NONE": official_client.CompressionType.NONE,
    "LZ4": official_client.CompressionType.LZ4,
    "ZLIB": official_client.CompressionType.ZLib,
    "ZSTD": official_client.CompressionType.ZSTD,
    "SNAPPY": official_client.CompressionType.SNAPPY,
}
BATCHED, UNBATCHED, PERF, JAVA, TOOL = 7_000, 700, 12_000, 200, 50
BYTE_KEY = "byte-key"
NUMBER = "number"
WORDS = ("", "Zürich", "東京", "a b,c=d", "\U0001f980", "x" * 300)

Cells = tuple[Any, ...]
Rows = dict[str, list[Cells]]


def reference(client: official_client.Client, topic: str) -> Rows:
    """The official Reader's view: partition's full name to its messages in order."""
    rows: Rows = defaultdict(list)
    for message in messages_of(client, topic):
        found = message.message_id()
        key: bytes | None = message.partition_key().encode() or None
        if key is not None and BYTE_KEY in message.properties():
            key = base64.b64decode(key)  # The Python client hands out the base64 text.
        event = message.event_timestamp()
        rows[message.topic_name()].append(
            (
                None if message.has_null_value() else message.data(),
                key,
                topic,
                (found.ledger_id(), found.entry_id(), found.batch_index(), found.partition()),
                instant(message.publish_timestamp()),
                instant(event) if event else None,
                message.properties(),
            )
        )
    return rows


def rows_of(frame: DataFrame) -> Rows:
    """Ours: partition's full name to its rows, in the order in which Spark gives them."""
    rows: Rows = defaultdict(list)
    columns = [
        "value",
        "__key",
        "__topic",
        "__messageId",
        "__publishTime",
        "__eventTime",
        "__messageProperties",
    ]
    assert frame.columns == columns
    for row in frame.toArrow().to_pylist(maps_as_pydicts="strict"):
        cells = [row[column] for column in columns]
        cells[3] = tuple(cells[3].values())
        partition = cells[3][3]
        rows[row["__topic"] if partition < 0 else f"{row['__topic']}-partition-{partition}"].append(
            tuple(cells)
        )
    return rows


def random_message(rng: random.Random, number: int) -> dict[str, Any]:
    """Arguments of the official `Producer.send_async`; empty and null ones carry a number."""
    shape = rng.random()
    content = None if shape < 0.03 else b"" if shape < 0.08 else rng.randbytes(rng.randrange(1, 120))
    if shape > 0.5:
        content = rng.choice(string.ascii_letters).encode() * rng.randrange(1, 400)
    message: dict[str, Any] = {"content": content}
    if not content:
        message["properties"] = {NUMBER: str(number), "wörter": rng.choice(WORDS)}
    elif rng.random() < 0.3:
        message["properties"] = {f"p{index}": rng.choice(WORDS) for index in range(rng.randrange(1, 4))}
    if rng.random() < 0.6:
        message["partition_key"] = f"{rng.choice(WORDS)}k{rng.randrange(50)}"
    if rng.random() < 0.1:
        message["ordering_key"] = f"o{number}"
    if rng.random() < 0.5:
        message["event_timestamp"] = rng.randrange(1, 2_000_000_000_000)
    return message


def produce_randomly(
    client: official_client.Client, topic: str, rng: random.Random
) -> dict[str, dict[str, Any]]:
    """Send every codec batched and unbatched; returns the unbatched ZLIB messages without bytes, by number."""
    without_bytes: dict[str, dict[str, Any]] = {}
    number = 0
    for codec, compression in CODECS.items():
        for batched, count in ((True, BATCHED), (False, UNBATCHED)):
            failures: list[official_client.Result] = []
            producer = client.create_producer(
                topic,
                compression_type=compression,
                batching_enabled=batched,
                batching_max_messages=100,
                block_if_queue_full=True,
                batching_type=rng.choice(
                    [official_client.BatchingType.Default, official_client.BatchingType.KeyBased]
                ),
            )
            for _ in range(count):
                number += 1
                message = random_message(rng, number)
                if codec == "ZLIB" and not batched and not message["content"]:
                    without_bytes[str(number)] = message
                producer.send_async(callback=_failures_to(failures), **message)
            producer.flush()
            producer.close()
            assert not failures
    return without_bytes


def _failures_to(failures: list[official_client.Result]) -> Any:
    def callback(result: official_client.Result, _: Any) -> None:
        if result != official_client.Result.Ok:
            failures.append(result)

    return callback


def java_messages(rng: random.Random) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in range(JAVA):
        message: dict[str, Any] = {"value": None if number % 7 == 0 else as_base64(rng.randbytes(number))}
        message["properties"] = {NUMBER: f"java {number}"}
        if number % 3:
            message["keyBytes"] = as_base64(rng.randbytes(rng.randrange(1, 9)) + b"\xff")
            message["properties"][BYTE_KEY] = ""
        else:
            message["key"] = rng.choice(WORDS[1:])
        messages.append(message)
    return messages


def finish(client: official_client.Client, topic: str, partitions: int) -> None:
    """One message with bytes at the end of each partition: the Reader waits for ever for a last message
    that it then drops."""
    names = [f"{topic}-partition-{index}" for index in range(partitions)] or [topic]
    for name in names:
        producer = client.create_producer(name)
        producer.send(b"the end")
        producer.close()


@pytest.mark.parametrize("partitions", [0, 3], ids=["plain", "partitioned"])
def test_every_cell_equals_the_official_reader(
    partitions: int,
    topic: str,
    rng: random.Random,
    official: official_client.Client,
    java_client: JavaClient,
    admin: Admin,
    pulsar_tool: PulsarTool,
    read_topic: ReadTopic,
) -> None:
    if partitions:
        admin.create_partitioned(topic, partitions)
    without_bytes = produce_randomly(official, topic, rng)
    jobs = [
        {"do": "produce", "topic": topic, "schema": "BYTES", "compression": codec, "batching": batching,
         "keyBased": codec == "LZ4", "messages": java_messages(rng)}
        for codec, batching in (("LZ4", True), ("ZSTD", True), ("SNAPPY", False), ("ZLIB", True))
    ]  # fmt: skip
    java_client.run(*jobs)
    perf = ["--num-messages", str(PERF), "--rate", "100000", "--size", "64", "-mk", "random", "-i", "0"]
    pulsar_tool("pulsar-perf", "produce", *perf, "-z", "ZSTD" if partitions else "LZ4", topic)
    pulsar_tool(
        "pulsar-client", "produce", "-m", "from the tool", "-n", str(TOOL), "-k", "tool", "-p", "a=b", topic
    )
    finish(official, topic, partitions)

    expected, found = reference(official, topic), rows_of(read_topic(topic))
    extra = {name: Counter(map(_hashable, rows)) for name, rows in found.items()}
    for name, rows in expected.items():
        extra[name].subtract(map(_hashable, rows))
        assert all(times in (0, 1) for times in extra[name].values()), name
        # Order, of all messages and so of those of each key: ours without the extra rows are theirs.
        assert [row for row in found[name] if not extra[name][_hashable(row)]] == rows
    assert found.keys() == expected.keys()
    assert len(found) == max(1, partitions)

    # The official reader takes unbatched ZLIB messages without bytes for corrupt and drops them.
    dropped = [row for name, rows in found.items() for row in rows if extra[name][_hashable(row)]]
    assert {row[6][NUMBER] for row in dropped} == without_bytes.keys()
    assert len(dropped) == len(without_bytes)
    for row in dropped:
        sent = without_bytes[row[6][NUMBER]]
        event = sent.get("event_timestamp")
        assert row[0] == sent["content"]
        assert row[1] == (sent["partition_key"].encode() if "partition_key" in sent else None)
        assert row[5] == (instant(event) if event else None)
        assert row[6] == sent["properties"]

    ids = [row[3] for rows in found.values() for row in rows]
    assert len(ids) == len(set(ids))
    # `pulsar-perf` stops at the first look after its number; the others send exactly theirs.
    assert len(ids) >= len(CODECS) * (BATCHED + UNBATCHED) + PERF + len(jobs) * JAVA + TOOL + max(
        1, partitions
    )


def _hashable(row: Cells) -> Cells:
    return (*row[:6], tuple(sorted(row[6].items())))


def test_keys_equal_those_of_the_java_reader(
    topic: str, rng: random.Random, java_client: JavaClient, read_topic: ReadTopic
) -> None:
    messages = [{"value": as_base64(b"x")}, *java_messages(rng)]
    java_client.produce(topic, "BYTES", messages)
    theirs = java_client.read(topic, "BYTES")
    ours = read_topic(topic).select("__key", "value", "__eventTime").collect()
    assert [row["keyBytes"] for row in theirs] == [
        None if row["__key"] is None else as_base64(bytes(row["__key"])) for row in ours
    ]
    assert [row["value"] for row in theirs] == [
        None if row["value"] is None else as_base64(bytes(row["value"])) for row in ours
    ]


def test_reading_leaves_no_subscription_behind(
    topic: str, official: official_client.Client, admin: Admin, read_topic: ReadTopic
) -> None:
    producer = official.create_producer(topic)
    producer.send(b"x")
    assert read_topic(topic).count() == 1
    # A broker removes it a moment after its reader has closed it.
    await_true("no subscription", lambda: admin.subscriptions(topic) == [])
