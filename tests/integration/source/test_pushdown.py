"""Filters on metadata columns: the rows are those that Spark alone would give, and less is read for them."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin
from pyspark.sql import DataFrame, SparkSession

import pyspark_pulsar

CONF = "spark.sql.python.filterPushdown.enabled"
COLUMNS = "value,__key,__topic,__partition,__messageId,__publishTime"
PARTITIONS = 3


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set(CONF, "true")
    yield spark
    spark.conf.unset(CONF)


@pytest.fixture
def mixed(topic: str, admin: Admin, official: official_client.Client) -> str:
    """Three partitions, each of two ledgers, batches and single messages, with and without keys."""
    admin.create_partitioned(topic, PARTITIONS)
    for part in range(PARTITIONS):
        name = f"{topic}-partition-{part}"
        for batched in (True, False):
            producer = official.create_producer(name, batching_enabled=batched)
            for number in range(6):
                key = None if number == 5 else f"key-{number}"
                producer.send_async(f"{part} {batched} {number}".encode(), lambda *_: None, partition_key=key)
                producer.flush()
                time.sleep(0.003)
            producer.close()
            admin.unload(name)
    return topic


def found(frame: DataFrame, condition: str) -> list[bytes]:
    return sorted(bytes(row.value) for row in frame.where(condition).select("value").collect())


def splits(frame: DataFrame, condition: str) -> int:
    return frame.where(condition).rdd.getNumPartitions()


def conditions(frame: DataFrame) -> list[str]:
    rows = frame.orderBy("__partition", "__messageId").collect()
    middle = rows[len(rows) // 2]
    ledger, entry, index, part = middle["__messageId"]
    stamp = middle["__publishTime"].replace(tzinfo=dt.UTC)
    instant = f"timestamp'{stamp.isoformat()}'"
    id_ = f"named_struct('ledger', {ledger}L, 'entry', {entry}L, 'batchIndex', {index}, 'partition', {part})"
    return [
        "true",
        f"__publishTime >= {instant}",
        f"__publishTime > {instant}",
        f"__publishTime <= {instant}",
        f"__publishTime = {instant}",
        f"__publishTime < {instant} + interval 1 microsecond",
        f"__publishTime >= {instant} + interval 1 microsecond",
        f"__publishTime between {instant} - interval 10 milliseconds and {instant} + interval 10 milliseconds",
        "__publishTime >= current_timestamp() - interval 1 hour",
        # Times that Python does not have: of the years 294247, -248 and 10000.
        "__publishTime < timestamp_micros(9223372036854775807L)",
        "__publishTime < timestamp_micros(-70000000000000000L)",
        f"__publishTime in ({instant}, timestamp_micros(9223372036854775807L))",
        f"__publishTime <> timestamp_micros(253402300800000000L) and __publishTime > {instant}",
        "__key = 'key-3'",
        "__key in ('key-1', 'key-3', 'none')",
        "__key is null",
        "__key is not null and __key <> 'key-1'",
        "__partition = 1",
        "__partition in (0, 2) and __key = 'key-2'",
        "not __partition = 1",
        f"__topic = '{middle['__topic']}'",
        "__topic like '%nowhere'",
        f"__messageId.ledger = {ledger}",
        f"__messageId.ledger = {ledger} and __messageId.entry >= {entry}",
        f"__messageId.ledger > {ledger} and __key = 'key-1'",
        "__messageId.batchIndex = -1",
        f"__messageId >= {id_}",
        f"__messageId < {id_}",
        f"__messageId = {id_}",
        "__key = 'key-1' or __partition = 2",
        "cast(value as string) like '0 true%' and __partition = 0",
    ]


def test_the_rows_are_those_of_spark_alone(mixed: str, spark: SparkSession, read_topic: ReadTopic) -> None:
    frame = read_topic(mixed, columns=COLUMNS)
    asked = conditions(frame)
    expected = {condition: found(frame, condition) for condition in asked}
    narrowing = {condition: read_topic(mixed, columns=COLUMNS, pushFilters=True) for condition in asked}
    assert {len(rows) for rows in expected.values()} >= {0, 1, 12, 36}
    spark.conf.set(CONF, "true")
    try:
        assert {condition: found(each, condition) for condition, each in narrowing.items()} == expected
        # Spark would read with the filters of the query before where a condition has none to push.
        assert {condition: found(frame, condition) for condition in asked} == expected
    finally:
        spark.conf.unset(CONF)


def test_what_is_not_wanted_is_not_planned(mixed: str, pushing: SparkSession, read_topic: ReadTopic) -> None:
    last = read_topic(mixed, columns=COLUMNS).orderBy("__messageId.ledger", ascending=False).first()
    assert last is not None
    frame = read_topic(mixed, columns=COLUMNS, pushFilters=True)
    assert frame.rdd.getNumPartitions() == PARTITIONS
    assert splits(frame, "__partition = 1") == 1
    assert splits(frame, "__partition <> 1 and __key = 'key-1'") == 2
    assert splits(frame, "__topic like '%nowhere'") == 1, "Spark's least"
    assert splits(frame, f"__messageId.ledger = {last['__messageId'].ledger}") == 1
    assert pushing.conf.get(CONF) == "true"


def test_messages_that_are_filtered_are_not_decoded(
    topic: str, official: official_client.Client, pushing: SparkSession, read_topic: ReadTopic
) -> None:
    right = official.create_producer(topic, schema=official_client.schema.StringSchema())
    right.send("right", partition_key="right")
    right.close()
    raw = official.create_producer(topic, schema=_RawStrings())
    raw.send(b"\xff not UTF-8", partition_key="wrong")
    raw.close()
    frame = read_topic(topic, columns="value,__key,__publishTime", pushFilters=True)
    assert [row.value for row in frame.where("__key = 'right'").collect()] == ["right"]
    with pytest.raises(Exception, match="UTF-8"):
        frame.where("__key = 'wrong'").collect()


class _RawStrings(official_client.schema.StringSchema):
    """Writes bytes as they are."""

    def encode(self, obj: Any) -> bytes:
        return bytes(obj)


def test_without_the_setting_everything_works_unpruned(
    mixed: str, spark: SparkSession, read_topic: ReadTopic
) -> None:
    assert spark.conf.get(CONF, None) is None
    frame = read_topic(mixed, columns=COLUMNS)
    assert splits(frame, "__partition = 1") == PARTITIONS
    assert len(found(frame, "__partition = 1")) == 12


def test_views_and_option_bounds(mixed: str, pushing: SparkSession, read_topic: ReadTopic) -> None:
    rows = read_topic(mixed, columns=COLUMNS).collect()
    stamps = sorted(row["__publishTime"].replace(tzinfo=dt.UTC) for row in rows)
    frame = read_topic(mixed, columns=COLUMNS, startingTimestamp=stamps[5].isoformat(), pushFilters=True)
    frame.createOrReplaceTempView("filtered")
    text = stamps[20].isoformat()
    query = f"select count(*) as n from filtered where __publishTime < timestamp'{text}'"
    answer = pushing.sql(query).collect()[0].n
    assert answer == sum(stamps[5] <= stamp < stamps[20] for stamp in stamps)


def test_register_turns_the_setting_on_unless_it_was_set(spark: SparkSession) -> None:
    plain, chosen = spark.newSession(), spark.newSession()
    chosen.conf.set(CONF, "false")
    for session in (plain, chosen):
        pyspark_pulsar.register(session)
    assert plain.conf.get(CONF) == "true"
    assert chosen.conf.get(CONF) == "false"
    assert spark.conf.get(CONF, None) is None
