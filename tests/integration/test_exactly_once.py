"""The exactly-once sink against a real broker, seen by the official client."""

from __future__ import annotations

from collections import Counter

import pulsar as official_client
import pytest
from integration.official import Admin, messages_of
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.standalone import LocalPulsar


def values(client: official_client.Client, topic: str) -> Counter[str]:
    return Counter(message.data().decode() for message in messages_of(client, topic))


def numbers(spark: SparkSession, count: int, tasks: int = 2) -> DataFrame:
    return spark.range(count, numPartitions=tasks).selectExpr("cast(id as string) as value")


def expected(count: int) -> Counter[str]:
    return Counter(str(number) for number in range(count))


def write(frame: DataFrame, pulsar: LocalPulsar, topic: str, **options: str) -> None:
    writer = frame.write.format("pulsar").mode("append").option("service.url", pulsar.service_url)
    writer.option("topic", topic).option("deliveryGuarantee", "exactly-once").options(**options).save()


def test_a_job_is_there_once(
    spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, admin: Admin, topic: str
) -> None:
    admin.create_partitioned(topic, 3)
    write(numbers(spark, 1000, 4), pulsar, topic)
    assert values(official, topic) == expected(1000)
    write(numbers(spark, 10), pulsar, topic)
    assert values(official, topic) == expected(1000) + expected(10)


def test_nothing_of_a_job_that_fails_is_there(
    spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    bad = numbers(spark, 1000).selectExpr("if(value = '999', raise_error('bad row'), value) as value")
    with pytest.raises(Exception, match="bad row"):
        write(bad, pulsar, topic)
    # Behind an open transaction nothing would be seen.
    write(numbers(spark, 5), pulsar, topic)
    assert values(official, topic) == expected(5)
