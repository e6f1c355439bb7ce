"""Rows that are dropped, since their epoch was written before, have the digest of those that were sent."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
from integration.official import Admin

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.exactly_once.repeated import digest_rows
from pyspark_pulsar.write.sender import DeliveryTerms
from pyspark_pulsar.write.target import settle_target
from pyspark_pulsar.write.task import send_rows

ROWS = 100


def batches(rows: pa.Table, most: int) -> Iterator[pa.RecordBatch]:
    return iter(rows.combine_chunks().to_batches(max_chunksize=most))


def assert_the_same(given: WriteOptions, rows: pa.Table, rng: random.Random) -> None:
    target = settle_target(given, rows.schema)
    order = rng.sample(range(rows.num_rows), rows.num_rows)
    with BrokerClient(given) as client:
        sent = send_rows(given, target, batches(rows, 30), client, DeliveryTerms(digests=True))
        halves = [rows.take(order[: ROWS // 3]), rows.take(order[ROWS // 3 :])]
        parts = [digest_rows(given, target, batches(half, 7), client) for half in halves]
        fewer = digest_rows(given, target, batches(rows.slice(1), ROWS), client)
    assert sum(parts, RowDigest()) == sent
    assert sent.rows == ROWS
    assert sent.agrees_with(RowDigest(ROWS, None))
    other = RowDigest(fewer.rows + 1, fewer.digest)
    assert not fewer.agrees_with(sent)
    assert not other.agrees_with(sent)


def test_of_one_topic(pulsar: LocalPulsar, admin: Admin, topic: str, rng: random.Random) -> None:
    """Keyed by a column, some of them tombstones, to several partitions."""
    admin.create_partitioned(topic, 3)
    more = {
        "keyColumn": "id",
        "writeTombstones": "true",
        "pulsar.producer.compressionType": "LZ4",
        "pulsar.producer.batchingMaxMessages": "9",
    }
    given = parse_options(WriteOptions, {"service.url": pulsar.service_url, "topic": topic, **more})
    names = [None if number % 5 == 0 else f"name {number}" for number in range(ROWS)]
    times = pa.array([number * 1_000_000 for number in range(1, ROWS + 1)], pa.timestamp("us", "UTC"))
    assert_the_same(given, pa.table({"id": list(range(ROWS)), "name": names, "__eventTime": times}), rng)


def test_of_topics_that_rows_name(pulsar: LocalPulsar, admin: Admin, topic: str, rng: random.Random) -> None:
    names = [f"{topic}-{number}" for number in range(3)]
    for name in names:
        admin.create(name)
    given = parse_options(WriteOptions, {"service.url": pulsar.service_url})
    rows = pa.table(
        {
            "value": [str(number) for number in range(ROWS)],
            "__topic": [rng.choice(names) for _ in range(ROWS)],
        }
    )
    assert_the_same(given, rows, rng)
    moved = rows.set_column(1, "__topic", pa.array([names[0]] * ROWS))
    target = settle_target(given, rows.schema)
    with BrokerClient(given) as client:
        elsewhere, here = (digest_rows(given, target, batches(each, ROWS), client) for each in (moved, rows))
    assert not elsewhere.agrees_with(here)
