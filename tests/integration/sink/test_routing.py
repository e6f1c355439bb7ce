"""The sink: which partition a row goes to, in which order, and what it takes along."""

from __future__ import annotations

import base64
import random
from collections import defaultdict

import pulsar as official_client
import pytest
from integration.official import Admin, JavaClient, as_base64, messages_of
from integration.sink.test_write import save
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

ROWS = 2_000


@pytest.mark.parametrize("codec", ["NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"])
def test_metadata_and_order_of_a_partitioned_topic(
    codec: str, topic: str, rng: random.Random, spark: SparkSession, pulsar: LocalPulsar,
    official: official_client.Client, admin: Admin,
) -> None:  # fmt: skip
    admin.create_partitioned(topic, 4)
    rows = []
    for number in range(ROWS):
        key = None if rng.random() < 0.2 else f"{rng.choice(['k', 'ü', '東'])}{rng.randrange(30)}"
        event = None if rng.random() < 0.3 else rng.randrange(1, 2_000_000_000_000)
        properties = (
            {} if rng.random() < 0.5 else {"n": str(number), "wörter": rng.choice(["", "東京", "a,b=c"])}
        )
        rows.append((str(number).encode(), key, event, properties))
    raw = spark.createDataFrame(
        rows, "value binary, __key string, millis bigint, __messageProperties map<string,string>"
    )
    frame = raw.selectExpr("value", "__key", "timestamp_millis(millis) as __eventTime", "__messageProperties")
    save(
        frame.coalesce(1), pulsar, topic,
        **{"pulsar.producer.compressionType": codec, "pulsar.producer.batchingMaxMessages": "50"},
    )  # fmt: skip
    order: dict[str, list[int]] = defaultdict(list)
    found = {}
    for message in messages_of(official, topic):
        number = int(message.data())
        order[message.topic_name()].append(number)
        found[number] = (
            message.data(), message.partition_key() or None, message.event_timestamp() or None, message.properties()
        )  # fmt: skip
    assert [found[number] for number in range(ROWS)] == rows
    assert sum(len(each) for each in order.values()) == ROWS
    assert len(order) == 4
    # One task wrote all rows, so the order of each partition, and with it of each key, is that of the rows.
    assert all(numbers == sorted(numbers) for numbers in order.values())


def test_keys_land_where_the_java_client_puts_them(
    topic: str,
    rng: random.Random,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    java_client: JavaClient,
) -> None:
    starts = ("k", "ü", "\U0001f980", "")
    keys = {f"{rng.choice(starts)}{number}".encode() for number in range(300)}
    byte_keys = {rng.randbytes(6) + b"\xff" for _ in range(100)}
    for name in (f"{topic}-java", f"{topic}-spark"):
        admin.create_partitioned(name, 5)
    messages = [{"value": "eA==", "key": key.decode()} for key in keys]
    messages += [{"value": "eA==", "keyBytes": as_base64(key)} for key in byte_keys]
    frame = spark.createDataFrame([(b"", key) for key in [*keys, *byte_keys]], "value binary, __key binary")
    save(frame.repartition(3), pulsar, f"{topic}-spark")
    _, theirs, ours = java_client.run(
        {"do": "produce", "topic": f"{topic}-java", "schema": "BYTES", "messages": messages},
        {"do": "read", "topic": f"{topic}-java", "schema": "BYTES"},
        {"do": "read", "topic": f"{topic}-spark", "schema": "BYTES"},
    )
    placed = {base64.b64decode(row["keyBytes"]): row["partition"] for row in theirs}
    assert placed.keys() == keys | byte_keys
    assert len(ours) == len(placed)
    assert {base64.b64decode(row["keyBytes"]): row["partition"] for row in ours} == placed


def test_rows_without_a_key_spread_over_the_partitions(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, official: official_client.Client
) -> None:
    admin.create_partitioned(topic, 3)
    save(
        spark.range(5_000).selectExpr("id as value").coalesce(1),
        pulsar,
        topic,
        **{"pulsar.producer.batchingMaxMessages": "100"},
    )
    counts: dict[str, int] = defaultdict(int)
    for message in messages_of(official, topic):
        counts[message.topic_name()] += 1
    assert sum(counts.values()) == 5_000
    assert len(counts) == 3
    assert max(counts.values()) - min(counts.values()) <= 200
