"""Protobuf both ways between Spark and the official Java client, cell by cell.

The messages have types of Pulsar (proto3) and BookKeeper (proto2). The reference for their meaning is the official
Python library, which reads the same descriptors.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from fixtures.fix_spark import ReadTopic
from google.protobuf import json_format
from integration.official import Admin, JavaClient
from integration.sink.test_write import save
from property.protobuf_strategies import new_message, row_of
from pyspark.sql import Row, SparkSession

from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.protobuf.descriptor import native_descriptor
from pyspark_pulsar.tools.standalone import LocalPulsar

FUNCTION = "org.apache.pulsar.functions.proto.Function$FunctionDetails"
FUNCTIONS: list[dict[str, Any]] = [
    {},
    {"tenant": "zürich", "parallelism": -3, "autoAck": True, "runtime": "PYTHON", "processingGuarantees": 77,
     "resources": {"cpu": 0.5, "ram": "9007199254740993", "disk": "-1"}, "retryDetails": {}},
    {"source": {"inputSpecs": {"a": {"schemaType": "avro", "receiverQueueSize": {"value": 0},
                                     "schemaProperties": {"x": "1", "y": ""}}, "": {}},
                "subscriptionType": "FAILOVER", "timeoutMs": "18446744073709551615"},
     "userConfig": "x" * 5000},
]  # fmt: skip
LEDGER = "org.apache.bookkeeper.proto.DataFormats$LedgerMetadataFormat"
LEDGERS: list[dict[str, Any]] = [
    {"quorumSize": 2, "ensembleSize": 3, "length": "-5", "state": "OPEN"},
    {"quorumSize": 1, "ensembleSize": 1, "length": "9223372036854775807", "state": "CLOSED", "password": "AAH/",
     "segment": [{"ensembleMember": ["a:1", "b:2"], "firstEntryId": "7"}, {"firstEntryId": "8"}],
     "customMetadata": [{"key": "k", "value": ""}], "digestType": "CRC32C"},
]  # fmt: skip


@pytest.fixture(scope="session")
def protobuf_client(pulsar: LocalPulsar) -> JavaClient:
    return JavaClient(pulsar, "ProtobufClient")


def produce(client: JavaClient, topic: str, kind: str, messages: list[dict[str, Any]], schema: str) -> None:
    client.run({"do": "produce", "topic": topic, "class": kind, "schema": schema, "messages": messages})


def registered(admin: Admin, topic: str) -> SchemaInfo:
    answer = admin.schema(topic)
    assert answer is not None
    return SchemaInfo.from_rest(name=topic, answer=answer)


def expected_rows(info: SchemaInfo, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    descriptor = native_descriptor(info.text, where="test")
    return [row_of(json_format.ParseDict(each, new_message(descriptor))) for each in messages]


def plain(cell: Any) -> Any:
    if isinstance(cell, Row):
        return {name: plain(each) for name, each in cell.asDict().items()}
    if isinstance(cell, list):
        return [plain(each) for each in cell]
    if isinstance(cell, dict):
        return {key: plain(each) for key, each in cell.items()}
    return bytes(cell) if isinstance(cell, bytearray) else cell


def value_rows(read_topic: ReadTopic, topic: str, **options: str) -> list[dict[str, Any]]:
    rows = [plain(row) for row in read_topic(topic, **options).collect()]
    return [{name: cell for name, cell in row.items() if not name.startswith("__")} for row in rows]


@pytest.mark.parametrize(
    ("kind", "messages"), [(FUNCTION, FUNCTIONS), (LEDGER, LEDGERS)], ids=["proto3", "proto2"]
)
def test_native_messages_of_java_are_read_and_written_back(
    kind: str, messages: list[dict[str, Any]], topic: str, admin: Admin, protobuf_client: JavaClient,
    read_topic: ReadTopic, pulsar: LocalPulsar,
) -> None:  # fmt: skip
    produce(protobuf_client, topic, kind, messages, "PROTOBUF_NATIVE")
    info = registered(admin, topic)
    assert info.type is SchemaType.PROTOBUF_NATIVE
    assert value_rows(read_topic, topic) == expected_rows(info, messages)

    # Write the rows into a topic with the same schema, and read that topic as Java objects.
    copy = f"{topic}-copy"
    produce(protobuf_client, copy, kind, [], "PROTOBUF_NATIVE")
    save(read_topic(topic).coalesce(1), pulsar, copy)
    typed, generic = protobuf_client.run(
        {"do": "read", "topic": copy, "class": kind}, {"do": "read", "topic": copy}
    )
    (originals,) = protobuf_client.run({"do": "read", "topic": topic, "class": kind})
    assert typed == generic == originals
    assert len(originals) == len(messages)


def test_columns_are_registered_as_a_message_that_java_reads(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    protobuf_client: JavaClient,
    read_topic: ReadTopic,
) -> None:
    frame = spark.sql(
        """
        SELECT * FROM VALUES
          (1L, 'a', X'00FF', TIMESTAMP '1969-12-31 23:59:59.999999Z', INTERVAL '-1 02:03:04.5' DAY TO SECOND,
           array(1, 2), map('k', named_struct('x', 1.5D)), named_struct('deep', named_struct('f', 0.1F)), true),
          (2L, CAST(NULL AS STRING), NULL, NULL, NULL, array(), map(), NULL, NULL)
        AS t(id, text, raw, at, took, numbers, by_name, nested, flag)
        """
    )
    save(frame.coalesce(1), pulsar, topic, valueFormat="protobuf")
    assert registered(admin, topic).type is SchemaType.PROTOBUF_NATIVE
    (found,) = protobuf_client.run({"do": "read", "topic": topic})
    assert found == [
        {"id": "1", "text": "a", "raw": "AP8=", "at": "1969-12-31T23:59:59.999999Z", "took": "-93784.500s",
         "numbers": [1, 2], "by_name": {"k": {"x": 1.5}}, "nested": {"deep": {"f": 0.1}}, "flag": True},
        {"id": "2"},
    ]  # fmt: skip
    assert sorted(value_rows(read_topic, topic), key=lambda row: row["id"]) == [
        plain(row) for row in frame.orderBy("id").collect()
    ]
    save(frame.coalesce(1), pulsar, topic)
    assert read_topic(topic).count() == 4
    took = read_topic(topic).where("id = 1").first()
    assert took is not None
    assert took.took == -dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5)


def test_a_protobuf_schema_needs_a_descriptor(
    topic: str, admin: Admin, protobuf_client: JavaClient, read_topic: ReadTopic, pulsar: LocalPulsar, tmp_path: Path
) -> None:  # fmt: skip
    native = f"{topic}-native"
    produce(protobuf_client, native, FUNCTION, [], "PROTOBUF_NATIVE")
    produce(protobuf_client, topic, FUNCTION, FUNCTIONS, "PROTOBUF")
    assert registered(admin, topic).type is SchemaType.PROTOBUF
    info = registered(admin, native)
    full = expected_rows(info, FUNCTIONS)

    shallow = value_rows(read_topic, topic)
    for row, expected in zip(shallow, full, strict=True):
        assert {name: row[name] for name in ("tenant", "parallelism", "autoAck", "userConfig")} == {
            name: expected[name] for name in ("tenant", "parallelism", "autoAck", "userConfig")
        }
    assert [row["runtime"] for row in shallow] == [None, 1, None]
    assert [row["processingGuarantees"] for row in shallow] == [None, 77, None]
    assert [row["retryDetails"] for row in shallow] == [None, b"", None]

    descriptor = tmp_path / "functions.desc"
    descriptor.write_bytes(_descriptor_set(info))
    options = {"protobufDescriptorFile": str(descriptor), "protobufMessage": "proto.FunctionDetails"}
    assert value_rows(read_topic, topic, **options) == full

    # Rows read without the descriptor are written back without it. The full columns are written back with the
    # descriptor.
    for suffix, given in (("shallow", {}), ("full", options)):
        copy = f"{topic}-{suffix}"
        produce(protobuf_client, copy, FUNCTION, [], "PROTOBUF")
        save(read_topic(topic, **given).coalesce(1), pulsar, copy, **given)
        theirs, ours = protobuf_client.run(
            *(
                {"do": "read", "topic": name, "class": FUNCTION, "schema": "PROTOBUF"}
                for name in (topic, copy)
            )
        )
        assert ours == theirs
        assert value_rows(read_topic, copy, **options) == full


def test_a_descriptor_decodes_a_topic_without_schema(
    topic: str, admin: Admin, protobuf_client: JavaClient, read_topic: ReadTopic, pulsar: LocalPulsar, tmp_path: Path
) -> None:  # fmt: skip
    produce(protobuf_client, topic, LEDGER, LEDGERS, "PROTOBUF_NATIVE")
    info = registered(admin, topic)
    descriptor = tmp_path / "ledgers.desc"
    descriptor.write_bytes(_descriptor_set(info))
    options = {"protobufDescriptorFile": str(descriptor), "protobufMessage": "LedgerMetadataFormat"}
    copy = f"{topic}-copy"
    save(read_topic(topic).coalesce(1), pulsar, copy, **options)
    assert registered(admin, copy).type is SchemaType.PROTOBUF_NATIVE
    assert value_rows(read_topic, copy) == expected_rows(info, LEDGERS)
    (theirs, ours) = protobuf_client.run(
        *({"do": "read", "topic": name, "class": LEDGER} for name in (topic, copy))
    )
    assert ours == theirs


def _descriptor_set(info: SchemaInfo) -> bytes:
    import base64

    return base64.b64decode(json.loads(info.text)["fileDescriptorSet"])


def test_versions_of_a_native_schema_are_resolved(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, read_topic: ReadTopic
) -> None:
    save(spark.sql("SELECT 1 AS id, 'old' AS gone"), pulsar, topic, valueFormat="protobuf")
    first = registered(admin, topic)
    newer = spark.createDataFrame([(2, "x", "new")], "id long, gone string, added string")
    other = f"{topic}-other"
    save(newer, pulsar, other, valueFormat="protobuf")
    _register(admin, topic, registered(admin, other), first)
    save(newer, pulsar, topic)
    rows = sorted(value_rows(read_topic, topic), key=lambda row: row["id"])
    assert rows == [{"id": 1, "gone": "old", "added": None}, {"id": 2, "gone": "x", "added": "new"}]


def _register(admin: Admin, topic: str, wanted: SchemaInfo, first: SchemaInfo) -> None:
    """Register `wanted` under the topic's message name."""
    from google.protobuf import descriptor_pb2

    from pyspark_pulsar.schema.protobuf.descriptor import load_descriptor
    from pyspark_pulsar.schema.protobuf.from_arrow import native_info

    name = json.loads(first.text)["rootMessageTypeName"]
    files = descriptor_pb2.FileDescriptorSet.FromString(_descriptor_set(wanted))
    files.file[0].message_type[0].name = name
    info = native_info(load_descriptor(files.SerializeToString(), name, where="test"))
    admin.register(topic, "PROTOBUF_NATIVE", info.text)
