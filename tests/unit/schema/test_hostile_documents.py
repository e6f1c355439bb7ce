"""Registry documents that no honest client registers: each is a SchemaError, soon, and with little memory."""

import contextlib
import json
import struct
from typing import Any

import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.avro.to_arrow import record_schema
from pyspark_pulsar.schema.family.same_schema import identity, schema_text
from pyspark_pulsar.schema.family.topics import topic_family
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import payload_schema, written_schema
from pyspark_pulsar.schema.read_schema import resolve_read_schema

TEXTS = [
    b"[" * 100_000,
    b'{"type":"array","items":' * 100_000,
    b'{"type":"record","name":"a","fields":[{"name":"x","type":' * 50_000,
    b"[" * 900 + b"]" * 900,
    b'{"type":' * 900 + b'"int"' + b"}" * 900,
    b'{"type":"record","name":"T","fields":[{"name":"x","type":' + b'{"type":' * 900 + b'"int"' + b"}" * 902,
    b"5",
    b"\xff",
    b"9" * 5000,
    b'{"type":["record"]}',
    b'{"type":"record","name":"T","fields":[{"name":"x"}]}',
    b'{"type":"record","name":"T","fields":[{"name":"\\ud800","type":"int"}]}',
]
GOOD = b'{"type":"record","name":"T","fields":[{"name":"x","type":"int"}]}'
KINDS = (
    SchemaType.AVRO,
    SchemaType.JSON,
    SchemaType.PROTOBUF_NATIVE,
    SchemaType.PROTOBUF,
    SchemaType.KEY_VALUE,
)


def hostile(kind: SchemaType, text: bytes) -> SchemaInfo:
    shown = text.decode("latin-1")
    if kind is SchemaType.KEY_VALUE:
        properties = (
            ("key.schema.properties", shown),
            ("key.schema.type", "AVRO"),
            ("value.schema.type", "JSON"),
        )
        return SchemaInfo("n", kind, 2 * (struct.pack(">i", len(text)) + text), properties)
    return SchemaInfo("n", kind, text, (("__PARSING_INFO__", shown),))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_every_document_is_a_schema_or_a_schema_error(kind: SchemaType, text: bytes) -> None:
    info = hostile(kind, text)
    with pytest.raises(SchemaError):
        payload_schema(info, topic="t")
    with pytest.raises(SchemaError):
        resolve_read_schema(info, topic="t")
    with contextlib.suppress(SchemaError):  # what the kernel parses anyhow is handed on as it is
        written_schema(info, topic="t")
    assert identity(info) == identity(info)
    assert schema_text(info).startswith(kind.name)
    topics = {TopicName.parse("a"): info, TopicName.parse("b"): info}
    assert topic_family(topics).info == info
    with pytest.raises(SchemaError, match="schemas of the 2 topics cannot be read as one"):
        topic_family(topics | {TopicName.parse("b"): hostile(kind, GOOD)})


def unfolding(count: int, references: int) -> dict[str, Any]:
    """Record `R<i>` holds this number of fields of type `R<i-1>`."""
    fields: list[dict[str, Any]] = []
    kind: Any = "int"
    for number in range(count):
        inner = [{"name": f"m{member}", "type": kind} for member in range(references)]
        fields.append(
            {"name": f"f{number}", "type": {"type": "record", "name": f"R{number}", "fields": inner}}
        )
        kind = f"R{number}"
    return {"type": "record", "name": "T", "fields": fields}


def text_of(document: dict[str, Any]) -> str:
    return SchemaInfo("n", SchemaType.AVRO, str(document).replace("'", '"').encode()).text


def test_names_that_unfold_without_end() -> None:
    assert len(record_schema(text_of(unfolding(8, 2)), where="t")) == 8
    with pytest.raises(SchemaError, match=r"field f11\.\w+: expected at most 20000 types"):
        record_schema(text_of(unfolding(60, 2)), where="t")


def test_names_that_nest_without_end() -> None:
    assert len(record_schema(text_of(unfolding(59, 1)), where="t")) == 59
    with pytest.raises(SchemaError, match=r"field f59\.m0: expected at most 60 types inside each other"):
        record_schema(text_of(unfolding(5000, 1)), where="t")


@pytest.mark.parametrize(("kind", "step"), [("array", "items"), ("map", "values")])
def test_lists_and_maps_that_nest_without_end(kind: str, step: str) -> None:
    node: Any = "int"
    for _ in range(100):
        node = {"type": kind, step: node}
    document = {"type": "record", "name": "T", "fields": [{"name": "x", "type": node}]}
    with pytest.raises(SchemaError, match="expected at most 60 types inside each other"):
        record_schema(text_of(document), where="t")


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "enum", "name": "E", "symbols": 5},
        {"type": "enum", "name": "E", "symbols": ["A", 5], "default": 5},
        {"type": "long", "logicalType": ["timestamp-millis"]},
        {"type": "fixed", "name": "F", "size": 1, "aliases": 5, "logicalType": {}},
    ],
)
def test_odd_parts_of_a_document_that_can_be_read(kind: dict[str, Any]) -> None:
    node = {"name": "x", "type": kind, "aliases": {"a": 1}, "default": [[]]}
    documents = [{"type": "record", "name": name, "fields": [node]} for name in ("a", "b")]
    infos = [SchemaInfo("n", SchemaType.AVRO, json.dumps(document).encode()) for document in documents]
    family = topic_family({TopicName.parse(f"t{n}"): info for n, info in enumerate(infos)})
    assert family.info == infos[0]


def test_a_document_of_wrappers() -> None:
    wrapped = '{"type":' * 200 + '"int"' + "}" * 200
    documents = [GOOD, GOOD.replace(b'"int"', wrapped.encode())]
    infos = [SchemaInfo("n", SchemaType.AVRO, document) for document in documents]
    family = topic_family({TopicName.parse(f"t{n}"): info for n, info in enumerate(infos)})
    assert family.payload is None
