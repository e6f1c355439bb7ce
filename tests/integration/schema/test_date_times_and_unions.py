"""Schemas of dates and times with the official Java client, unions with the official Python client; both ways."""

from __future__ import annotations

import datetime as dt
import enum
import json
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, messages_of
from integration.sink.test_write import save
from pulsar.schema import (
    Array,
    AvroSchema,
    BytesSchema,
    CustomEnum,
    Double,
    Integer,
    JsonSchema,
    Long,
    Map,
    Record,
    String,
)
from pyspark.sql import Row, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

UTC = dt.UTC
# Schema: Spark's type, and what the Java client sends (milliseconds since 1970, or the text of its class) with
# what Spark shows for it.
SENT: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "DATE": (
        "date",
        [("-1", dt.date(1969, 12, 31)), ("0", dt.date(1970, 1, 1)), ("1700000000123", dt.date(2023, 11, 14))],
    ),
    "TIME": ("time(6)", [("-1", dt.time(23, 59, 59, 999000)), ("3723004", dt.time(1, 2, 3, 4000))]),
    "TIMESTAMP": (
        "timestamp",
        [
            ("-1", dt.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)),
            ("1700000000123", dt.datetime(2023, 11, 14, 22, 13, 20, 123000, UTC)),
        ],
    ),
    "INSTANT": (
        "timestamp",
        [
            ("1969-12-31T23:59:59.999999999Z", dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
            ("2023-11-14T22:13:20.123456789Z", dt.datetime(2023, 11, 14, 22, 13, 20, 123456, UTC)),
        ],
    ),
    "LOCAL_DATE": ("date", [("0001-01-01", dt.date(1, 1, 1)), ("9999-12-31", dt.date(9999, 12, 31))]),
    "LOCAL_TIME": (
        "time(6)",
        [("00:00", dt.time()), ("23:59:59.999999999", dt.time(23, 59, 59, 999999))],
    ),
    "LOCAL_DATE_TIME": (
        "timestamp_ntz",
        [("1969-12-31T23:59:59.123456", dt.datetime.fromisoformat("1969-12-31T23:59:59.123456"))],
    ),
}
REGISTERED = {
    "LOCAL_DATE": ("date", [(dt.date(2023, 11, 14), "2023-11-14")]),
    "LOCAL_TIME": ("time(6)", [(dt.time(1, 2, 3, 4), "01:02:03.000004")]),
    "INSTANT": (
        "timestamp",
        [(dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), "1969-12-31T23:59:59.999999Z")],
    ),
    "LOCAL_DATE_TIME": (
        "timestamp_ntz",
        [(dt.datetime.fromisoformat("2023-11-14T01:02:03.000004"), "2023-11-14T01:02:03.000004")],
    ),
}
OLD_CLASSES = {
    "DATE": ("date", [(dt.date(2023, 11, 14), "1699920000000")]),
    "TIME": ("time(6)", [(dt.time(1, 2, 3, 4000), "3723004")]),
    "TIMESTAMP": ("timestamp", [(dt.datetime(2023, 11, 14, 22, 13, 20, 123000, UTC), "1700000000123")]),
}


def test_dates_and_times_of_the_java_client(
    topic: str, java_client: JavaClient, read_topic: ReadTopic
) -> None:
    java_client.run(
        *[
            {"do": "produce", "topic": f"{topic}-{kind}", "schema": kind,
             "messages": [{"value": text} for text, _ in values] + [{"value": None}]}
            for kind, (_, values) in SENT.items()
        ]
    )  # fmt: skip
    for kind, (spark_type, values) in SENT.items():
        frame = read_topic(f"{topic}-{kind}").select("value")
        assert dict(frame.dtypes) == {"value": spark_type}
        # Through Arrow, as collect() would turn instants into local times of this machine.
        assert frame.toArrow()["value"].to_pylist() == [*(shown for _, shown in values), None], kind


@pytest.mark.parametrize(
    ("kinds", "registers"), [(REGISTERED, True), (OLD_CLASSES, False)], ids=["registered", "there-before"]
)
def test_dates_and_times_are_read_by_the_java_client(
    kinds: dict[str, tuple[str, list[tuple[Any, str]]]],
    registers: bool,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    java_client: JavaClient,
) -> None:
    for kind, (spark_type, values) in kinds.items():
        if not registers:
            admin.create(f"{topic}-{kind}")
            admin.register(f"{topic}-{kind}", kind)
        rows = [(value,) for value, _ in values] + [(None,)]
        save(spark.createDataFrame(rows, f"value {spark_type}").coalesce(1), pulsar, f"{topic}-{kind}")
        schema = admin.schema(f"{topic}-{kind}")
        assert schema is not None
        assert (schema["type"], schema["version"]) == (kind, 0)
    jobs = [{"do": "read", "topic": f"{topic}-{kind}", "schema": kind} for kind in kinds]
    for (kind, (_, values)), rows in zip(kinds.items(), java_client.run(*jobs), strict=True):
        assert [row["value"] for row in rows] == [*(text for _, text in values), None], kind


UNIONS = json.dumps(
    {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": "what", "type": ["null", "long", "string",
                {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}]},
            {"name": "list", "type": {"type": "array", "items": ["boolean", "double"]}},
            {"name": "nothing", "type": "null"},
        ],
    }
)  # fmt: skip
UNION_MESSAGES: list[dict[str, Any]] = [
    {"what": 5, "list": [True, 0.5], "nothing": None},
    {"what": "s", "list": [], "nothing": None},
    {"what": {"x": 1}, "list": [False], "nothing": None},
    {"what": None, "list": [1.0], "nothing": None},
]
UNION_ROWS = [
    {
        "what": {"member0": 5, "member1": None, "member2": None},
        "list": [{"member0": True, "member1": None}, {"member0": None, "member1": 0.5}],
    },
    {"what": {"member0": None, "member1": "s", "member2": None}, "list": []},
    {
        "what": {"member0": None, "member1": None, "member2": {"x": 1}},
        "list": [{"member0": False, "member1": None}],
    },
    {"what": None, "list": [{"member0": None, "member1": 1.0}]},
]


def test_unions_both_ways(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    producer = official.create_producer(topic, schema=AvroSchema(None, schema_definition=json.loads(UNIONS)))
    for message in UNION_MESSAGES:
        producer.send(message)
    producer.close()
    frame = read_topic(topic).select("what", "list", "nothing")
    assert dict(frame.dtypes) == {
        "what": "struct<member0:bigint,member1:string,member2:struct<x:int>>",
        "list": "array<struct<member0:boolean,member1:double>>",
        "nothing": "void",
    }
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    assert rows == [{**row, "nothing": None} for row in UNION_ROWS]
    assert frame.where("what.member1 = 's'").collect() == [
        Row(what=Row(None, "s", None), list=[], nothing=None)
    ]

    save(frame.coalesce(1), pulsar, topic)
    schema = AvroSchema(None, schema_definition=json.loads(UNIONS))
    assert [message.value() for message in messages_of(official, topic, schema)] == UNION_MESSAGES * 2


class Colour(enum.Enum):
    """An enum whose values are its names, which is what JSON holds of one."""

    RED = "RED"
    GREEN = "GREEN"


class Inner(Record):  # type: ignore[misc]
    """Nested."""

    x = Integer()


class Everything(Record):  # type: ignore[misc]
    """What a JSON schema of the Python client can have, but for bytes, which it writes as text."""

    small = Integer()
    large = Long()
    share = Double()
    words = String()
    colour = CustomEnum(Colour)
    list = Array(String())
    counts = Map(Long())
    inner = Inner()


def test_json_of_the_python_client_both_ways(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    schema = JsonSchema(Everything)
    sent = [
        Everything(small=-1, large=2**53 + 1, share=0.1, words="é\n", colour=Colour.GREEN, list=["x"],
                   counts={"a": -(2**63)}, inner=Inner(x=4)),
        Everything(),
    ]  # fmt: skip
    producer = official.create_producer(topic, schema=schema)
    for value in sent:
        producer.send(value)
    producer.close()
    frame = read_topic(topic).select("small", "large", "share", "words", "colour", "list", "counts", "inner")
    assert frame.collect() == [
        Row(-1, 2**53 + 1, 0.1, "é\n", "GREEN", ["x"], {"a": -(2**63)}, Row(4)),
        # The client writes a record that was not given as one without values.
        Row(*[None] * 7, Row(None)),
    ]
    save(frame.coalesce(1), pulsar, topic)
    found = [schema.encode(message.value()) for message in messages_of(official, topic, schema)]
    assert found == [schema.encode(value) for value in sent] * 2


def test_times_in_json_are_text_or_numbers(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    frame = spark.sql(
        "SELECT timestamp'2024-05-06 07:08:09.5Z' AS at, date'2024-05-06' AS day, "
        "timestamp_ntz'2024-05-06 07:08:09' AS there"
    )
    save(frame, pulsar, topic, valueFormat="json")
    save(frame, pulsar, topic, jsonTimes="numbers")
    assert [json.loads(message.value()) for message in messages_of(official, topic, BytesSchema())] == [
        {"at": "2024-05-06T07:08:09.500000Z", "day": "2024-05-06", "there": "2024-05-06T07:08:09"},
        {"at": 1_714_979_289_500_000, "day": 19_849, "there": 1_714_979_289_000_000},
    ]
    assert read_topic(topic).select("at", "day", "there").distinct().exceptAll(frame).isEmpty()
