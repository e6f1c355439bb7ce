"""Rows with their own sequence ids and a producer's name, and a broker that removes duplicates by them."""

from __future__ import annotations

from collections import Counter

import pulsar as official_client
import pyarrow as pa
import pytest
from fixtures.fix_spark import ReadTopic
from fixtures.forwarder import Cut, Forwarder, SeenCommand
from integration.official import Admin, Refused, messages_of
from integration.task_failures import failure
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.target import settle_target
from pyspark_pulsar.write.task import write_rows

SEND = 6
COLUMNS = pa.schema([pa.field("value", pa.string()), pa.field("__sequenceId", pa.int64())])


@pytest.fixture
def target(topic: str, admin: Admin) -> str:
    """Return a topic of three partitions in a namespace with deduplication."""
    namespace = f"public/ids-{topic[-12:]}"
    admin.make_namespace(namespace)
    assert admin.request("POST", f"namespaces/{namespace}/deduplication", True).status < 300
    name = f"persistent://{namespace}/t"
    admin.create_partitioned(name, 3)
    return name


def save(frame: DataFrame, server: LocalPulsar, topic: str, **options: str) -> None:
    writer = frame.write.format("pulsar").option("service.url", server.service_url).option("topic", topic)
    writer.option("pulsar.producer.producerName", "orders").options(**options).mode("append").save()


def numbered(spark: SparkSession, first: int, behind: int) -> DataFrame:
    return spark.range(first, behind).selectExpr(
        "cast(id as string) value", "concat('k', id % 7) __key", "id * 10 __sequenceId"
    )


def test_rows_written_twice_are_stored_once(
    target: str, spark: SparkSession, pulsar: LocalPulsar, read_topic: ReadTopic
) -> None:
    save(numbered(spark, 0, 50).coalesce(1), pulsar, target)
    save(numbered(spark, 0, 50).coalesce(1), pulsar, target)
    save(numbered(spark, 30, 80).coalesce(1), pulsar, target)
    rows = read_topic(target, columns="value,__sequenceId,__producerName").collect()
    assert Counter(int(row.value) for row in rows) == Counter(range(80))
    assert all(row["__sequenceId"] == 10 * int(row.value) for row in rows)
    assert {row["__producerName"] for row in rows} == {"orders"}


@pytest.mark.parametrize("nth", [0, 7, 19])
def test_an_attempt_that_breaks_anywhere_can_run_again(
    nth: int, target: str, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    """The connection breaks first, and then the whole task runs again, as in Spark."""
    sends: list[SeenCommand] = []

    def cut(seen: SeenCommand) -> None:
        sends.extend([seen] * (seen.command == SEND))
        if seen.command == SEND and len(sends) == nth + 1:
            raise Cut(after=1 << 30)

    texts = [str(number) for number in range(20)]
    batch = pa.record_batch([pa.array(texts), pa.array(range(20), pa.int64())], schema=COLUMNS)
    given = WriteOptions(service_url=pulsar.service_url, topic=target, producer_name="orders")
    settled = settle_target(given, COLUMNS)
    with Forwarder(pulsar.service_url, cut) as forwarder:
        through = WriteOptions(service_url=forwarder.service_url, topic=target, producer_name="orders")
        assert write_rows(through, settled, iter([batch])) == 20
    assert len(sends) > nth
    assert write_rows(given, settled, iter([batch])) == 20
    assert Counter(message.data().decode() for message in messages_of(official, target)) == Counter(texts)


def test_wrong_sequence_ids_and_options_are_refused(
    target: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused
) -> None:
    rows = numbered(spark, 0, 10).coalesce(1)
    assert "__sequenceId" in refused(lambda: save(rows.drop("__sequenceId"), pulsar, target), "OptionError")
    text = rows.selectExpr("value", "value __sequenceId")
    assert "whole number" in refused(lambda: save(text, pulsar, target), "SchemaError")
    for option, value in (
        ("deliveryGuarantee", "exactly-once"),
        ("deliveryGuarantee", "none"),
        ("pulsar.producer.chunkingEnabled", "true"),
        ("batching", "key"),
    ):
        refused(lambda given={option: value}: save(rows, pulsar, target, **given), "OptionError")
    many = numbered(spark, 0, 10).repartition(3)
    assert "coalesce(1)" in failure(lambda: save(many, pulsar, target), "SendError")
    falling = rows.selectExpr("value", "__key", "100 - __sequenceId __sequenceId")
    assert "ids must increase" in failure(lambda: save(falling, pulsar, target), "SchemaError")
    missing = rows.selectExpr("value", "nullif(__sequenceId, 50) __sequenceId")
    assert "got null" in failure(lambda: save(missing, pulsar, target), "SchemaError")


def test_sequence_ids_without_a_producer_name_are_not_stored(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, read_topic: ReadTopic
) -> None:
    """Rows that were read can be written back."""
    numbered(spark, 5, 9).coalesce(1).write.format("pulsar").option("service.url", pulsar.service_url).option(
        "topic", topic
    ).mode("append").save()
    assert [row["__sequenceId"] for row in read_topic(topic, columns="__sequenceId").collect()] == [
        0,
        1,
        2,
        3,
    ]
