"""Ten checks of one server version: what most users do, each against the official clients."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, messages_of
from integration.schema.test_protobuf import LEDGER, LEDGERS, expected_rows, plain, produce, registered
from integration.streams import finish, half_acknowledged, send_numbers
from pulsar.schema import AvroSchema, Integer, JsonSchema, Record, String
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar


class Order(Record):  # type: ignore[misc]
    """As the official client registers it."""

    id = Integer(required=True)
    name = String()


ORDERS = [(1, "einzeln"), (2, None), (3, "größer")]


def _numbers(frame: DataFrame) -> list[int]:
    return sorted(int(bytes(row["value"])) for row in frame.select("value").collect())


def _orders_both_ways(
    client: official_client.Client, topic: str, schema: Any, read: ReadTopic, server: LocalPulsar
) -> None:
    producer = client.create_producer(topic, schema=schema)
    for number, name in ORDERS:
        producer.send(Order(id=number, name=name))
    producer.close()
    frame = read(topic)
    assert sorted((row["id"], row["name"]) for row in frame.collect()) == ORDERS
    where = {"service.url": server.service_url, "admin.url": server.admin_url, "topic": topic}
    frame.select("id", "name").write.format("pulsar").options(**where).mode("append").save()
    stored = [message.value() for message in messages_of(client, topic, schema)]
    assert sorted((order.id, order.name) for order in stored) == sorted(ORDERS * 2, key=lambda row: row[0])


def test_avro(client: official_client.Client, topic: str, read: ReadTopic, server: LocalPulsar) -> None:
    _orders_both_ways(client, topic, AvroSchema(Order), read, server)


def test_json(client: official_client.Client, topic: str, read: ReadTopic, server: LocalPulsar) -> None:
    _orders_both_ways(client, topic, JsonSchema(Order), read, server)


def test_protobuf(protobuf_client: JavaClient, server_admin: Admin, topic: str, read: ReadTopic) -> None:
    produce(protobuf_client, topic, LEDGER, LEDGERS, "PROTOBUF_NATIVE")
    info = registered(server_admin, topic)
    rows = [plain(row) for row in read(topic).collect()]
    values = [{name: cell for name, cell in row.items() if not name.startswith("__")} for row in rows]
    assert values == expected_rows(info, LEDGERS)


def test_exactly_once_batch(
    client: official_client.Client, server_admin: Admin, topic: str, spark: SparkSession, server: LocalPulsar
) -> None:
    server_admin.create_partitioned(topic, 2)
    frame = spark.range(200, numPartitions=2).selectExpr("cast(id as string) as value")
    options = {
        "service.url": server.service_url,
        "admin.url": server.admin_url,
        "topic": topic,
        "deliveryGuarantee": "exactly-once",
    }
    failing = frame.selectExpr("if(value = '199', raise_error('bad row'), value) as value")
    with pytest.raises(Exception, match="bad row"):
        failing.write.format("pulsar").options(**options).mode("append").save()
    frame.write.format("pulsar").options(**options).mode("append").save()
    assert sorted(int(message.data()) for message in messages_of(client, topic)) == list(range(200))


@pytest.mark.usefixtures("named_bookies")
def test_broker_and_bookies_give_the_same(
    client: official_client.Client, server_admin: Admin, topic: str, read: ReadTopic
) -> None:
    send_numbers(client, topic, range(100))
    server_admin.unload(topic)
    send_numbers(client, topic, range(100, 150))
    server_admin.unload(topic)
    rows = {
        place: sorted(map(str, read(topic, readFrom=place).collect()))
        for place in ("broker", "auto", "bookie")
    }
    assert len(rows["broker"]) == 150
    assert rows["broker"] == rows["auto"] == rows["bookie"]


def test_stream_with_limits(
    client: official_client.Client, topic: str, spark: SparkSession, server: LocalPulsar, tmp_path: Path
) -> None:
    send_numbers(client, topic, range(50))
    batches: list[list[int]] = []
    frame = (
        spark.readStream.format("pulsar")
        .options(**{"service.url": server.service_url, "admin.url": server.admin_url, "topic": topic})
        .options(startingOffsets="earliest", maxOffsetsPerTrigger=20)
        .load()
    )
    writer = frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer = writer.foreachBatch(lambda batch, _: batches.append(_numbers(batch)))
    finish(writer.trigger(availableNow=True).start())
    assert [len(batch) for batch in batches] == [20, 20, 10]
    assert sorted(number for batch in batches for number in batch) == list(range(50))


def test_compaction(client: official_client.Client, server_admin: Admin, topic: str, read: ReadTopic) -> None:
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(12):
        producer.send(str(number).encode(), partition_key=f"key-{number % 3}")
    producer.close()
    server_admin.compact(topic)
    assert _numbers(read(topic, readCompacted="true")) == [9, 10, 11]
    assert _numbers(read(topic)) == list(range(12))


def test_chunks(client: official_client.Client, topic: str, read: ReadTopic) -> None:
    big = bytes(range(256)) * 50_000
    producer = client.create_producer(topic, chunking_enabled=True, batching_enabled=False)
    for payload in (b"before", big, b"behind"):
        producer.send(payload)
    producer.close()
    assert [bytes(row["value"]) for row in read(topic).collect()] == [b"before", big, b"behind"]


def test_subscription_start(client: official_client.Client, topic: str, read: ReadTopic) -> None:
    half_acknowledged(client, topic)
    assert _numbers(read(topic, startingSubscription="mine")) == [4, 5, 6, 7, 8, 9]


def test_catalog_and_command(catalog: str, spark: SparkSession, topic: str, server: LocalPulsar) -> None:
    name = topic.rpartition("/")[2]
    table = f"{catalog}.`public/default`.`{name}`"
    spark.sql(f"CREATE TABLE {table} (id INT, name STRING)")
    spark.sql(f"INSERT INTO {table} (id, name) VALUES (1, 'a'), (2, NULL)")
    assert sorted(map(tuple, spark.sql(f"SELECT id, name FROM {table}").collect())) == [(1, "a"), (2, None)]
    shown = spark.sql(f"SHOW TABLES IN {catalog}.`public/default`").collect()
    assert name in {row["tableName"] for row in shown}
    command = [sys.executable, "-m", "pyspark_pulsar.tools.cli", "segments", topic, "--json"]
    command += ["--service-url", server.service_url, "--admin-url", server.admin_url]
    printed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert printed.returncode == 0, printed.stderr
    segments = [json.loads(line) for line in printed.stdout.splitlines()]
    assert sum(segment["entries"] for segment in segments) >= 1
    spark.sql(f"DROP TABLE {table}")
