"""The sink: what the official clients read from what Spark wrote, cell by cell."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, messages_of
from integration.source.test_columns import PRIMITIVES, float32
from pulsar.schema import (
    Array,
    AvroSchema,
    Boolean,
    Double,
    Float,
    Integer,
    JsonSchema,
    Long,
    Map,
    Record,
    String,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from pyspark_pulsar.tools.standalone import LocalPulsar


def save(frame: DataFrame, server: LocalPulsar, topic: str, **options: str) -> None:
    writer = frame.write.format("pulsar").option("service.url", server.service_url).option("topic", topic)
    writer.options(**options).mode("append").save()


def document_of(admin: Admin, topic: str, kind: str) -> dict[str, Any]:
    """The Avro document that the registry holds for the topic, whose type must be `kind`."""
    schema = admin.schema(topic)
    assert schema is not None
    assert schema["type"] == kind
    return dict(json.loads(schema["data"]))


TYPED = (
    "flag boolean, tiny tinyint, small smallint, number int, large bigint, single float, double double, text string, "
    "raw binary, day date, at timestamp, local timestamp_ntz, price decimal(38,10), numbers array<bigint>, "
    "inner struct<x:int,deep:struct<y:string>>, inners array<struct<z:double>>, by_name map<string,bigint>"
)
TYPED_ROWS: list[tuple[Any, ...]] = [
    (
        True, -128, -(2**15), 2**31 - 1, -(2**63), 0.5, math.pi, "東京", b"\x00\xff", dt.date(1960, 2, 29),
        dt.datetime(2026, 11, 21, 3, 1, 43, 82_123, dt.UTC), dt.datetime(1969, 1, 1, 0, 0, 0, 1),  # noqa: DTZ001
        Decimal("-1234567890123456789012345678.0123456789"), [1, None, 2**62], (5, ("deep",)), [(1.5,), None],
        {"a": 1, "ü": None},
    ),
    (None,) * 17,
    (
        False, 127, 2**15 - 1, -(2**31), 2**63 - 1, -0.0, 5e-324, "", b"", dt.date(9999, 12, 31),
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001
        Decimal("0.0000000001"), [], (None, (None,)), [], {},
    ),
]  # fmt: skip


def expected_cells(frame: DataFrame) -> list[dict[str, Any]]:
    return frame.toArrow().to_pylist(maps_as_pydicts="strict")


def test_avro_is_registered_and_read_by_the_official_decoder(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    read_topic: ReadTopic,
) -> None:
    frame = spark.createDataFrame(TYPED_ROWS, TYPED).coalesce(1)
    save(frame, pulsar, topic)
    document = document_of(admin, topic, "AVRO")
    assert [field["name"] for field in document["fields"]] == frame.columns
    assert all(field["type"][0] == "null" for field in document["fields"])
    schema = AvroSchema(None, schema_definition=document)
    found = [message.value() for message in messages_of(official, topic, schema)]
    assert found == expected_cells(frame)
    ours = read_topic(topic).select(frame.columns)
    widened = {"tiny": "int", "small": "int"}
    assert dict(ours.dtypes) == dict(frame.dtypes) | widened
    assert expected_cells(ours) == found


# The official classes know no null inside an array or a map.
JSON_COLUMNS = (
    StructType()
    .add("flag", BooleanType())
    .add("number", IntegerType())
    .add("large", LongType())
    .add("single", FloatType())
    .add("double", DoubleType())
    .add("text", StringType())
    .add("numbers", ArrayType(LongType(), containsNull=False))
    .add("inner", StructType().add("x", IntegerType()).add("y", StringType()))
    .add("by_name", MapType(StringType(), LongType(), valueContainsNull=False))
)


def test_json_is_registered_and_read_by_the_official_decoder(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    read_topic: ReadTopic,
) -> None:
    rows = [
        (True, -(2**31), 2**63 - 1, 0.5, math.pi, 'q"\\\n東京', [1, 2**62], (5, "deep"), {"a": 1, "ü": -2}),
        (None,) * 9,
        (False, 0, -(2**63), -0.0, 5e-324, "", [], (None, None), {}),
    ]
    frame = spark.createDataFrame(rows, JSON_COLUMNS).coalesce(1)
    save(frame, pulsar, topic, valueFormat="json")
    document = document_of(admin, topic, "JSON")
    inner = next(field["type"][1] for field in document["fields"] if field["name"] == "inner")
    # The broker compares record names, so the official classes bear those that were registered.
    inner_class = type(inner["name"], (Record,), {"x": Integer(), "y": String()})
    fields = {
        "flag": Boolean(), "number": Integer(), "large": Long(), "single": Float(), "double": Double(),
        "text": String(), "numbers": Array(Long()), "inner": inner_class(), "by_name": Map(Long()),
    }  # fmt: skip
    schema = JsonSchema(type(document["name"], (Record,), fields))
    found = [message.value() for message in messages_of(official, topic, schema)]
    # The official client turns a Boolean that is null into its default.
    expected = [row | {"flag": bool(row["flag"])} for row in expected_cells(frame)]
    assert [_plain(each, JSON_COLUMNS.names) for each in found] == expected
    assert expected_cells(read_topic(topic).select(frame.columns)) == expected_cells(frame)


def _plain(value: Any, fields: Iterable[str]) -> dict[str, Any]:
    row = {name: getattr(value, name) for name in fields}
    inner = row["inner"]
    return row | {"inner": inner and {"x": inner.x, "y": inner.y}}


EXISTING = {
    "type": "record", "name": "Existing", "namespace": "of.others",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["string", "null"], "default": "nobody"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "extra", "type": ["null", "int"], "default": None},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_an_existing_record_schema_is_kept_and_used(
    kind: str,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
) -> None:
    admin.create(topic)
    admin.register(topic, kind, json.dumps(EXISTING))
    before = admin.schema(topic)
    at = dt.datetime(2026, 11, 21, 3, 1, 43, 82_000, dt.UTC)
    rows = [("A", 1, at, "x"), ("B", 2, at, None)]
    # Other order and a narrower integer than the schema's; `extra` is left out.
    save(
        spark.createDataFrame(rows, "kind string, id int, at timestamp, name string").coalesce(1),
        pulsar,
        topic,
    )
    assert admin.schema(topic) == before
    expected = [{"id": row[1], "name": row[3], "at": at, "kind": row[0], "extra": None} for row in rows]
    if kind == "AVRO":
        schema = AvroSchema(None, schema_definition=EXISTING)
        assert [message.value() for message in messages_of(official, topic, schema)] == expected
        return
    assert [json.loads(message.data()) for message in messages_of(official, topic)] == [
        each | {"at": "2026-11-21T03:01:43.082000Z"} for each in expected
    ]


def test_a_default_is_written_for_a_column_that_is_missing(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, admin: Admin
) -> None:
    admin.create(topic)
    admin.register(topic, "AVRO", json.dumps(EXISTING))
    frame = spark.createDataFrame(
        [("A", 1, dt.datetime(2026, 1, 1, tzinfo=dt.UTC))], "kind string, id int, at timestamp"
    )
    save(frame, pulsar, topic)
    (message,) = messages_of(official, topic, AvroSchema(None, schema_definition=EXISTING))
    assert message.value()["name"] == "nobody"


@pytest.mark.parametrize("registered", [False, True], ids=["new-topic", "topic-with-schema"])
def test_primitives_are_read_by_the_java_client(
    registered: bool,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    java_client: JavaClient,
) -> None:
    for kind, (spark_type, values) in PRIMITIVES.items():
        if registered:
            admin.create(f"{topic}-{kind}")
            admin.register(f"{topic}-{kind}", kind)
        frame = spark.createDataFrame([(each,) for each in [*values, None]], f"value {spark_type}").coalesce(
            1
        )
        save(frame, pulsar, f"{topic}-{kind}")
        schema = admin.schema(f"{topic}-{kind}")
        assert schema is not None
        assert (schema["type"], schema["version"]) == (kind, 0)
    jobs = [{"do": "read", "topic": f"{topic}-{kind}", "schema": kind} for kind in PRIMITIVES]
    for (kind, (_, values)), rows in zip(PRIMITIVES.items(), java_client.run(*jobs), strict=True):
        assert [_parsed(row["value"], kind) for row in rows] == [*values, None], kind


def _parsed(text: str | None, kind: str) -> Any:
    if text is None or kind == "STRING":
        return text
    if kind == "BOOLEAN":
        return text == "true"
    if kind in ("FLOAT", "DOUBLE"):
        number = float(text.replace("Infinity", "inf"))
        return number if kind == "DOUBLE" else float32(number)
    return int(text)


def test_bytes_need_no_schema(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, admin: Admin
) -> None:
    values = [b"", b"\x00\xff", b"x" * 100_000, None]
    save(spark.createDataFrame([(each,) for each in values], "value binary").coalesce(1), pulsar, topic)
    assert admin.schema(topic) is None
    messages = list(messages_of(official, topic))
    assert [None if each.has_null_value() else each.data() for each in messages] == values


def test_a_topic_written_back_to_another_is_the_same(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, read_topic: ReadTopic
) -> None:
    frame = spark.range(1_000).selectExpr(
        "id", "concat('n', id) as name", "cast(concat('k', id % 10) as binary) as __key",
        "timestamp_millis(1700000000000 + id) as __eventTime", "map('a', cast(id as string)) as __messageProperties",
    )  # fmt: skip
    save(frame.coalesce(1), pulsar, topic)
    save(read_topic(topic).coalesce(1), pulsar, f"{topic}-copy")
    columns = ["id", "name", "__key", "__eventTime", "__messageProperties"]
    first, second = (read_topic(name).select(columns).toArrow() for name in (topic, f"{topic}-copy"))
    assert first.equals(second)
    assert first.num_rows == 1_000


@pytest.mark.parametrize("partitions", [0, 3], ids=["plain", "partitioned"])
def test_rows_to_a_non_persistent_topic_reach_who_consumes_it(
    partitions: int, topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    name = topic.replace("persistent://", "non-persistent://")
    writer = spark.createDataFrame([(f"row {number}",) for number in range(20)], "value string").write
    writer = writer.format("pulsar").mode("append").option("service.url", pulsar.service_url)
    writer = writer.options(topic=name, valueFormat="string", deliveryGuarantee="none", partitions=partitions)
    writer.option("admin.url", pulsar.admin_url).save()  # Makes the topic; its rows are nobody's.
    consumer = official.subscribe(name, "here", schema=official_client.schema.StringSchema())
    try:
        writer.option("admin.url", pulsar.admin_url).save()
        received = {consumer.receive(timeout_millis=30_000).value() for _ in range(20)}
    finally:
        consumer.close()
    assert received == {f"row {number}" for number in range(20)}
