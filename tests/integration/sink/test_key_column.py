"""Option `keyColumn`: keys as the official clients see them, in every way to write."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, Refused, messages_of
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

GUARANTEES = ("at-least-once", "exactly-once")


def save(frame: DataFrame, server: LocalPulsar, **options: str) -> None:
    writer = frame.write.format("pulsar").option("service.url", server.service_url)
    writer.options(**options).mode("append").save()


def events(spark: SparkSession, count: int) -> DataFrame:
    """Rows of 37 users, in order, of which every eleventh has none."""
    user = "if(id % 11 = 0, null, concat('user-', id % 37))"
    return spark.range(count, numPartitions=1).selectExpr(f"{user} AS user", "id AS n")


def check(
    client: official_client.Client, frame: DataFrame, topics: list[str], key_column: str = "user"
) -> None:
    """Every row once, by count and by number; its key is its column; a topic's rows of a key keep their order."""
    expected = {
        row["n"]: None if row[key_column] is None else str(row[key_column]) for row in frame.collect()
    }
    found: list[tuple[int, str | None]] = []
    by_key: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for topic in topics:
        for message in messages_of(client, topic, official_client.schema.JsonSchema(Event)):
            number, key = message.value().n, message.partition_key() or None
            found.append((number, key))
            by_key[(topic, key)].append(number)
    assert len(found) == len(expected)
    assert dict(found) == expected
    assert {key for _, key in by_key} == set(expected.values())
    assert all(numbers == sorted(numbers) for (_, key), numbers in by_key.items() if key is not None)


class Event(official_client.schema.Record):
    user = official_client.schema.String()
    n = official_client.schema.Long()


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_batch(
    guarantee: str, topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, official: official_client.Client
) -> None:  # fmt: skip
    admin.create_partitioned(topic, 3)
    frame = events(spark, 5_000)
    save(frame, pulsar, topic=topic, valueFormat="json", keyColumn="user", deliveryGuarantee=guarantee)
    check(official, frame, [topic])


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_stream(
    guarantee: str, topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin,
    official: official_client.Client, tmp_path: Path,
) -> None:  # fmt: skip
    admin.create_partitioned(topic, 2)
    for part in range(3):
        folder = str(tmp_path / "rows")
        events(spark, 3_000).where(f"n % 3 = {part}").coalesce(1).write.mode("append").parquet(folder)
    frame = spark.read.parquet(folder)
    query = (
        spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(folder)
        .writeStream.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic)
        .option("valueFormat", "json").option("keyColumn", "user").option("deliveryGuarantee", guarantee)
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    assert query.awaitTermination(120)
    found = [
        (message.value().n, message.partition_key() or None)
        for message in messages_of(official, topic, official_client.schema.JsonSchema(Event))
    ]
    assert len(found) == 3_000
    assert dict(found) == {row.n: row.user for row in frame.collect()}


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_rows_that_name_topics(
    guarantee: str, topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, official: official_client.Client
) -> None:  # fmt: skip
    topics = [f"{topic}-{number}" for number in range(2)]
    for each in topics:
        admin.create_partitioned(each, 2)
    frame = events(spark, 2_000).selectExpr("*", f"concat('{topic}-', n % 2) AS __topic")
    journal = {"transactionJournal": f"{topic}-journal"} if guarantee == "exactly-once" else {}
    save(frame, pulsar, valueFormat="json", keyColumn="user", deliveryGuarantee=guarantee, **journal)
    check(official, frame, topics)


def test_keys_lie_where_the_java_client_puts_them(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, java_client: JavaClient
) -> None:
    names = [f"user-{number}" for number in range(60)] + ["Zürich", "😀"]
    for each in (f"{topic}-java", f"{topic}-spark"):
        admin.create_partitioned(each, 5)
    frame = spark.createDataFrame([(name, 1) for name in names], "user string, n long")
    save(frame.repartition(3), pulsar, topic=f"{topic}-spark", valueFormat="json", keyColumn="user")
    _, theirs, ours = java_client.run(
        {"do": "produce", "topic": f"{topic}-java", "schema": "BYTES",
         "messages": [{"key": name, "value": "eA=="} for name in names]},
        {"do": "read", "topic": f"{topic}-java", "schema": "BYTES"},
        {"do": "read", "topic": f"{topic}-spark", "schema": "BYTES"},
    )  # fmt: skip
    placed = {row["keyBytes"]: row["partition"] for row in theirs}
    assert len(placed) == len(names) == len(ours)
    assert len(set(placed.values())) == 5
    assert {row["keyBytes"]: row["partition"] for row in ours} == placed


@pytest.mark.parametrize(
    "kind", ["tinyint", "smallint", "int", "bigint", "boolean", "date", "string", "binary"]
)
def test_keys_are_what_spark_casts_to(
    kind: str, topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client,
    read_topic: ReadTopic,
) -> None:  # fmt: skip
    given: list[Any] = {
        "boolean": [True, False, None],
        "date": [dt.date(1, 1, 1), dt.date(1960, 2, 29), dt.date(9999, 12, 31), None],
        "string": ["a", "Zürich", "", None],
        "binary": [b"a", b"\x00key", None],
    }.get(kind, [0, -128, 127, None])
    frame = spark.createDataFrame([(each, n) for n, each in enumerate(given)], f"id {kind}, n int")
    if kind == "date":
        late = spark.sql("SELECT date_add(DATE'9999-12-31', 1) AS id, 9 AS n")
        frame = frame.unionByName(late).coalesce(1)
    save(frame.coalesce(1), pulsar, topic=topic, keyColumn="id")
    expected = {row.n: row.key for row in frame.selectExpr("n", "cast(id AS string) AS key").collect()}
    rows = read_topic(topic).selectExpr("n", "cast(__key AS string) AS key").collect()
    assert {row.n: row.key for row in rows} == expected
    seen = [message.partition_key() for message in messages_of(official, topic)]
    assert sorted(seen) == sorted(key or "" for key in expected.values())


def test_a_deleted_key_is_gone_after_compaction(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, official: official_client.Client,
    read_topic: ReadTopic,
) -> None:  # fmt: skip
    columns = "id int, name string, price int"
    first = spark.createDataFrame([(1, "tea", 3), (2, "milk", None), (3, "oil", 9)], columns)
    then = spark.createDataFrame([(1, None, None), (2, None, 4), (None, None, None)], columns)
    for frame in (first, then):
        save(frame.coalesce(1), pulsar, topic=topic, keyColumn="id", writeTombstones="true")
    assert [each.has_null_value() for each in messages_of(official, topic)] == [False] * 3 + [
        True,
        False,
        False,
    ]
    admin.compact(topic)
    kept = read_topic(topic, readCompacted="true").where("__key is not null").collect()
    assert sorted((bytes(row["__key"]), row.id, row.price) for row in kept) == [(b"2", 2, 4), (b"3", 3, 9)]


def test_a_pair_with_its_key_in_the_payload(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, read_topic: ReadTopic, refused: Refused
) -> None:
    frame = spark.createDataFrame([("a", 1), ("b", 2)], "key string, value long")
    save(frame, pulsar, topic=topic, keyValueEncoding="inline", keyColumn="key")
    rows = read_topic(topic).selectExpr("cast(__key AS string) AS of_message", "key", "value").collect()
    assert sorted(tuple(row) for row in rows) == [("a", "a", 1), ("b", "b", 2)]
    apart = f"{topic}-apart"
    save(frame, pulsar, topic=apart, keyValueEncoding="separated")
    said = refused(lambda: save(frame, pulsar, topic=apart, keyColumn="key"), "OptionError")
    assert "KEY_VALUE schema of separated keys" in said


def test_what_is_refused_before_any_row(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, refused: Refused
) -> None:
    frame = spark.createDataFrame([("a", 1.5)], "user string, amount double")
    for key_column, kind, text in (
        ("usr", "OptionError", "did you mean user?"),
        ("amount", "SchemaError", "is 'amount', a column of double: expected string"),
    ):
        assert text in refused(lambda name=key_column: save(frame, pulsar, topic=topic, keyColumn=name), kind)
    both = frame.selectExpr("*", "'k' AS __key")
    assert "there is a column __key" in refused(
        lambda: save(both, pulsar, topic=topic, keyColumn="user"), "OptionError"
    )
    assert admin.schema(topic) is None
