"""Topics with a schema that contains itself or has a decimal too wide for Spark: SQL, writes, the catalog."""

import json
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from fixtures.otlp import TRACES, traces_class
from google.protobuf import json_format
from integration.official import Admin, python_client
from integration.sink.test_write import save
from pulsar.schema import ProtobufNativeSchema
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from unit.codec.raw_payloads import avro_bytes, record

from pyspark_pulsar.session.configure import catalog_settings
from pyspark_pulsar.tools.standalone import LocalPulsar

WIDE = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
NODE = record(("id", "int"), ("next", ["null", "Node"], None), ("amount", ["null", WIDE], None), name="Node")
AMOUNT = Decimal("1234567890123456789012345678901234567890.25")
CHAIN = {"id": 1, "next": {"id": 2, "next": {"id": 3}}, "amount": AMOUNT}


def new_topic(name: str) -> str:
    return f"persistent://public/default/{name}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def spans(pulsar: LocalPulsar) -> str:
    """Return a topic of OTLP spans, written by the official client."""
    topic = new_topic("spans")
    kind = traces_class()
    with python_client(pulsar.service_url) as client:
        producer = client.create_producer(topic, schema=ProtobufNativeSchema(kind))
        producer.send(json_format.ParseDict(TRACES, kind()))
    return topic


@pytest.fixture(scope="module")
def chains(pulsar: LocalPulsar, admin: Admin) -> str:
    """Return a topic of records that contain records of the same type."""
    topic = new_topic("chains")
    admin.register(topic, "AVRO", json.dumps(NODE))
    with python_client(pulsar.service_url) as client:
        # The document is registered by hand, so the bytes are sent unchanged.
        schema = official_client.schema.AvroSchema(None, schema_definition=NODE)
        producer = client.create_producer(topic, schema=schema)
        producer.send(CHAIN)
    return topic


def test_attributes_of_spans_in_sql(spark: SparkSession, read_topic: ReadTopic, spans: str) -> None:
    read_topic(spans, recursiveFieldMaxDepth="3").createOrReplaceTempView("traces")
    found = spark.sql(
        """
        WITH spans AS (
          SELECT r.resource, inline(s.spans)
          FROM (SELECT inline(resource_spans) AS (resource, scope_spans, schema_url) FROM traces) r
          LATERAL VIEW explode(r.scope_spans) AS s
        )
        SELECT name, end_time_unix_nano - start_time_unix_nano AS nanos,
          get(filter(attributes, a -> a.key = 'http.status_code'), 0).value.int_value AS status,
          get(filter(attributes, a -> a.key = 'tags'), 0).value.array_value.values[0].string_value AS tag,
          get(filter(get(filter(attributes, a -> a.key = 'user'), 0).value.kvlist_value.values,
            v -> v.key = 'address'), 0)
            .value.kvlist_value.values[0].value.string_value AS city,
          resource.attributes[0].value.string_value AS service
        FROM spans ORDER BY name
        """
    ).collect()
    assert [tuple(row) for row in found] == [
        ("GET /cart", 250_000_000, 200, "a", "Ulm", "shop"),
        ("GET /pay", 4, None, None, None, "shop"),
    ]


def test_recursive_schemas_without_the_option_are_refused(read_topic: ReadTopic, spans: str) -> None:
    frame = read_topic(spans)
    [row] = frame.selectExpr(
        "resource_spans[0].scope_spans[0].spans[0].attributes[0].value AS value"
    ).collect()
    assert row["value"]["int_value"] == 200
    assert set(row["value"].asDict()) == {
        "string_value",
        "bool_value",
        "int_value",
        "double_value",
        "bytes_value",
    }


def values(read_topic: ReadTopic, topic: str, **options: str) -> list[dict[str, Any]]:
    rows = read_topic(topic, **options).drop("__key").collect()
    return [
        {name: cell for name, cell in row.asDict(recursive=True).items() if not name.startswith("__")}
        for row in rows
    ]


def test_records_that_contain_themselves_are_read_to_the_depth(
    spark: SparkSession, pulsar: LocalPulsar, read_topic: ReadTopic, chains: str, tmp_path: Path
) -> None:
    assert values(read_topic, chains) == [{"id": 1}]
    assert values(read_topic, chains, recursiveFieldMaxDepth="2") == [{"id": 1, "next": {"id": 2}}]
    with pytest.raises(Exception, match=r"no column can contain next \(Node contains itself"):
        values(read_topic, chains, columns="next")
    with pytest.raises(AnalysisException):
        read_topic(chains).select("next")
    stream = (
        spark.readStream.format("pulsar").option("service.url", pulsar.service_url).option("topic", chains)
    )
    stream = stream.option("startingOffsets", "earliest").option("recursiveFieldMaxDepth", "3")
    frame = stream.load().selectExpr("id", "next.next.id AS third")
    query = frame.writeStream.format("memory").queryName("chained").trigger(availableNow=True)
    assert query.option("checkpointLocation", str(tmp_path)).start().awaitTermination(120)
    assert [tuple(row) for row in spark.table("chained").collect()] == [(1, 3)]


def test_a_users_schema_shows_raw_forms(spark: SparkSession, pulsar: LocalPulsar, chains: str) -> None:
    reader = spark.read.format("pulsar").option("topic", chains).option("service.url", pulsar.service_url)
    frame = reader.schema("amount string, next struct<next: struct<id: int>>").load()
    [row] = [row.asDict(recursive=True) for row in frame.collect()]
    assert row == {"amount": str(AMOUNT), "next": {"next": {"id": 3}}}
    with pytest.raises(Exception, match=r"decimal\(64, 2\) has more than 38 digits"):
        reader.schema("amount decimal(38, 2)").load().collect()


def test_writes_have_null_for_fields_below_the_depth(
    spark: SparkSession, pulsar: LocalPulsar, admin: Admin, read_topic: ReadTopic
) -> None:
    topic = new_topic("written")
    admin.register(topic, "AVRO", json.dumps(NODE))
    save(spark.range(3).coalesce(1).selectExpr("CAST(id AS int) AS id"), pulsar, topic)
    found = values(read_topic, topic, recursiveFieldMaxDepth="2")
    assert sorted(row["id"] for row in found) == [0, 1, 2]
    assert all(row["next"] is None for row in found)
    with python_client(pulsar.service_url) as client:
        reader = client.create_reader(topic, official_client.MessageId.earliest)
        assert reader.read_next(10_000).data() == avro_bytes(NODE, {"id": 0, "next": None, "amount": None})
    with pytest.raises(Exception, match=r"next \(Node contains itself.* cannot be written"):
        save(spark.range(1).selectExpr("CAST(id AS int) AS id", "'x' AS next"), pulsar, topic)


def test_the_catalog_describes_the_columns(spark: SparkSession, pulsar: LocalPulsar, chains: str) -> None:
    catalog = f"c{uuid.uuid4().hex[:8]}"
    options = {"service.url": pulsar.service_url, "admin.url": pulsar.admin_url, "python": sys.executable}
    for key, value in catalog_settings(catalog=catalog, options=options).items():
        spark.conf.set(key, value)
    table = f"{catalog}.`public/default`.`{chains.rpartition('/')[2]}`"
    rows = spark.sql(f"DESCRIBE {table}").collect()
    assert rows[0].col_name == "id"
    assert not {"next", "amount"} & {row.col_name for row in rows}
    assert [row.id for row in spark.sql(f"SELECT id FROM {table}").collect()] == [1]
