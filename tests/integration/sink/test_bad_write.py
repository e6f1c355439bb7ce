"""What a writing user can do wrong: each is refused before any row is sent, in words that say what to do."""

from __future__ import annotations

import pytest
from integration.official import ONE_RECORD, Admin, Refused
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar


@pytest.mark.parametrize(
    ("kind", "document", "columns", "words"),
    [
        ("AVRO", ONE_RECORD, "id string, name string", ["id is string", "cast it"]),
        ("AVRO", ONE_RECORD, "id bigint, name string", ["id is bigint", "int"]),
        ("AVRO", ONE_RECORD, "name string", ["id (int) is required", "add it"]),
        (
            "AVRO",
            ONE_RECORD,
            "id int, nmae string",
            ["nmae is not in the topic's schema", "did you mean name"],
        ),
        ("JSON", ONE_RECORD, "id int, name int", ["name is int", "string"]),
        ("INT32", "", "value string", ["column value is string", "cast it to int"]),
        ("INT32", "", "number int", ["column number", "value"]),
        ("INT32", "", "value int, __topik string", ["__topik", "did you mean __topic"]),
        ("INT32", "", "value int, __eventTime string", ["__eventTime", "timestamp"]),
        ("INT32", "", "value int, __key int", ["__key is int", "cast it to string"]),
    ],
    ids=lambda value: value if isinstance(value, str) and not value.startswith("{") else "",
)
def test_write_that_does_not_fit_sends_nothing(
    kind: str, document: str, columns: str, words: list[str], topic: str, spark: SparkSession, admin: Admin,
    pulsar: LocalPulsar, refused: Refused,
) -> None:  # fmt: skip
    admin.create(topic)
    admin.register(topic, kind, document)
    before = admin.schema(topic)
    named = [each.split() for each in columns.split(", ")]
    writer = spark.range(100).selectExpr(*[f"cast(null as {kind}) as {name}" for name, kind in named])
    save = (
        writer.write.format("pulsar")
        .option("service.url", pulsar.service_url)
        .option("topic", topic)
        .mode("append")
        .save
    )
    text = refused(save, "SchemaError")
    for word in [topic, *words]:
        assert word in text, text
    assert admin.entries(topic) == 0
    assert admin.schema(topic) == before


def test_value_format_of_another_schema(
    topic: str, spark: SparkSession, admin: Admin, pulsar: LocalPulsar, refused: Refused
) -> None:
    admin.create(topic)
    admin.register(topic, "AVRO", ONE_RECORD)
    writer = spark.range(1).selectExpr("cast(id as int) id").write.format("pulsar").mode("append")
    options = {"service.url": pulsar.service_url, "topic": topic, "valueFormat": "json"}
    assert "leave the format out" in refused(writer.options(**options).save, "SchemaError")
    assert admin.entries(topic) == 0


@pytest.mark.parametrize(
    ("options", "mode", "kind", "words"),
    [
        ({}, "append", "OptionError", ["'topic' is missing"]),
        ({"topic": "t", "valueFromat": "json"}, "append", "OptionError", ["did you mean 'valueFormat'"]),
        ({"topic": "t", "valueFormat": "xml"}, "append", "OptionError", ["one of avro, json", "xml"]),
        ({"topic": "t", "startingOffsets": "latest"}, "append", "OptionError", ["unknown option", "startingOffsets"]),
        ({"topic": "t", "pulsar.producer.compressionType": "GZIP"}, "append", "OptionError", ["NONE, LZ4", "GZIP"]),
        ({"topic": "a/b"}, "append", "TopicNameError", ["tenant/namespace/topic"]),
        ({"topic": "non-persistent://public/default/w"}, "append", "OptionError", ["deliveryGuarantee=none"]),
        ({"topic": "non-persistent://public/default/w", "deliveryGuarantee": "exactly-once"}, "append", "OptionError",
         ["deliveryGuarantee=none"]),
        ({"topic": "persistent://public/default/.."}, "append", "TopicNameError", ["'..'"]),
        ({"topic": "t"}, "overwrite", "OptionError", ['mode("append")', "overwrite", "cannot be overwritten"]),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, dict) else "",
)  # fmt: skip
def test_bad_options_of_a_write(
    options: dict[str, str],
    mode: str,
    kind: str,
    words: list[str],
    spark: SparkSession,
    pulsar: LocalPulsar,
    refused: Refused,
) -> None:
    writer = (
        spark.range(3).write.format("pulsar").option("service.url", pulsar.service_url).options(**options)
    )
    text = refused(writer.mode(mode).save, kind)
    for word in words:
        assert word.lower() in text.lower(), text  # Spark hands a writer its keys in lower case.
