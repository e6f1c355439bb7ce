"""A message whose payload a table does not keep can be encoded again from its columns.

So a reader with any other schema gets from the columns the same value as from the message.
`PYSPARK_PULSAR_EXAMPLES` multiplies the number of examples.
"""

import json
import os
import struct
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc
import pytest
from google.protobuf import descriptor_pb2
from hypothesis import event, given, settings, strategies as st
from property import avro_wire, json_strategies
from property.protobuf_strategies import files, fill, loaded, native_info, new_message
from property.protobuf_wire import odd
from property.stored_columns import (
    BAD,
    KEPT,
    TOPIC,
    VERSION,
    VERSION_BYTES,
    Stored,
    decoded,
    messages,
    payloads_of,
    with_columns,
)

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.history.columnar.columns.stored_types import Leaf, delta_leaf, iceberg_leaf
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join
from pyspark_pulsar.schema.read_schema import resolve_read_schema

TIMES = int(os.environ.get("PYSPARK_PULSAR_EXAMPLES", "1"))
LEAVES = st.sampled_from([delta_leaf, iceberg_leaf])


@settings(print_blob=True, deadline=None, max_examples=200 * TIMES)
@given(file=files(), data=st.data(), leaf=LEAVES)
def test_protobuf(file: descriptor_pb2.FileDescriptorProto, data: st.DataObject, leaf: Leaf) -> None:
    descriptor = loaded(file)
    payloads: list[bytes] = []
    for _ in range(data.draw(st.integers(1, 4))):
        payload = fill(data.draw, new_message(descriptor)).SerializeToString()
        is_odd = data.draw(st.booleans())
        payloads.append(data.draw(odd(payload, descriptor)) if is_odd else payload)
    found = Stored.from_entries(native_info(file, VERSION), messages(payloads), leaf)
    event("told" if found.told else "kept")
    assert b"" not in [payloads[index] for index in found.told]
    assert payloads_of(found.entries()) == [payloads[index] for index in found.told]


@settings(print_blob=True, deadline=None, max_examples=100 * TIMES)
@given(file=files(), data=st.data())
def test_protobuf_of_official_libraries_is_not_kept(
    file: descriptor_pb2.FileDescriptorProto, data: st.DataObject
) -> None:
    payload = fill(data.draw, new_message(loaded(file))).SerializeToString()
    found = Stored.from_entries(native_info(file, VERSION), messages([payload]), delta_leaf)
    if payload and file.syntax == "proto3":
        assert found.told == [0]


@settings(print_blob=True, deadline=None, max_examples=300 * TIMES)
@given(written=json_strategies.records(), data=st.data(), leaf=LEAVES)
def test_json(written: json_strategies.Document, data: st.DataObject, leaf: Leaf) -> None:
    payloads = [
        data.draw(json_strategies.messages(written)).encode() for _ in range(data.draw(st.integers(1, 4)))
    ]
    own, later = (
        SchemaInfo("R", SchemaType.JSON, json.dumps(document).encode(), version=VERSION_BYTES)
        for document in (written, data.draw(json_strategies.evolved_record(written)))
    )
    found = Stored.from_entries(own, messages(payloads), leaf)
    event("told" if found.told else "kept")
    for reader in (own, later):
        expected = as_read(reader, messages([payloads[index] for index in found.told]), own)
        assert as_read(reader, found.entries(), own) == expected, (reader, payloads)


@settings(print_blob=True, deadline=None, max_examples=300 * TIMES)
@given(written=avro_wire.records(), data=st.data(), leaf=LEAVES)
def test_avro(written: avro_wire.Document, data: st.DataObject, leaf: Leaf) -> None:
    payloads = [data.draw(avro_wire.payloads(written)) for _ in range(data.draw(st.integers(1, 4)))]
    later = data.draw(avro_wire.evolved(written))
    own, reader = (
        SchemaInfo("R", SchemaType.AVRO, json.dumps(document).encode(), version=VERSION_BYTES)
        for document in (written, later)
    )
    found = Stored.from_entries(own, messages(payloads), leaf)
    event("told" if found.told else "kept")
    for schema in (own, reader):
        try:
            expected = as_read(schema, messages([payloads[index] for index in found.told]), own)
        except SchemaError:
            event("schema refused")
            return
        assert as_read(schema, found.entries(), own) == expected, (schema, payloads)


@pytest.mark.parametrize(
    ("columns", "written"),
    [
        ([{"name": "f", "type": {"type": "array", "items": "null"}}], None),
        ([], [{"name": "f", "type": "int"}]),
        ([], None),
    ],
)
def test_avro_without_value_columns(
    columns: list[dict[str, Any]], written: list[dict[str, Any]] | None
) -> None:
    """A schema without columns keeps all payloads, of whatever version."""
    own, other = (
        SchemaInfo("R", SchemaType.AVRO, json.dumps(document).encode(), version=VERSION_BYTES)
        for fields in (columns, columns if written is None else written)
        for document in [{"type": "record", "name": "T", "fields": fields}]
    )
    payload = b"\2\0" if columns else b"\2" if written else b""
    schema = with_columns(resolve_read_schema(own, topic=TOPIC, columns=["__key"]))
    (found,) = decoded(schema, messages([payload]), other).column(KEPT).to_pylist()
    assert found == payload


@st.composite
def sides(draw: st.DrawFn) -> tuple[SchemaInfo, SchemaInfo, st.SearchStrategy[bytes]]:
    """The schema of a pair's side, a later one, and data of the first."""
    kind = draw(st.sampled_from([SchemaType.STRING, SchemaType.INT32, SchemaType.AVRO, SchemaType.JSON]))
    if kind is SchemaType.AVRO:
        avro = draw(avro_wire.records())
        return side_of(kind, avro), side_of(kind, draw(avro_wire.evolved(avro))), avro_wire.payloads(avro)
    if kind is SchemaType.JSON:
        written = draw(json_strategies.records())
        later = draw(json_strategies.evolved_record(written))
        return side_of(kind, written), side_of(kind, later), json_strategies.messages(written).map(str.encode)
    texts = st.sampled_from([b"", b"a", b"\0\0\0\5", b"\xff"])
    return SchemaInfo("", kind), SchemaInfo("", kind), texts


def side_of(kind: SchemaType, document: dict[str, Any]) -> SchemaInfo:
    return SchemaInfo("R", kind, json.dumps(document).encode())


@settings(print_blob=True, deadline=None, max_examples=100 * TIMES)
@given(key=sides(), value=sides(), is_separated=st.booleans(), data=st.data(), leaf=LEAVES)
def test_key_value(key: Any, value: Any, is_separated: bool, data: st.DataObject, leaf: Leaf) -> None:
    own, reader = (
        replace(join(KeyValueSchemas(key[index], value[index], is_separated)), version=VERSION_BYTES)
        for index in (0, 1)
    )
    # A null value has no payload to keep, so nothing keeps an odd key of one.
    values = value[2] if is_separated else st.none() | value[2]
    pairs = data.draw(st.lists(st.tuples(st.none() | key[2], values), min_size=1, max_size=4))
    payloads = [value if is_separated else inline(key, value) for key, value in pairs]
    payloads.append(None)
    keys = [key if is_separated else None for key, _ in [*pairs, (None, None)]]
    found = Stored.from_entries(own, messages(payloads, keys), leaf)
    event("told" if found.told else "kept")
    for schema in (own, reader):
        told = messages([payloads[index] for index in found.told], [keys[index] for index in found.told])
        try:
            expected = as_read(schema, told, own)
        except SchemaError:
            event("schema refused")
            return
        assert as_read(schema, found.entries(), own) == expected, (schema, pairs)


def inline(key: bytes | None, value: bytes | None) -> bytes:
    """A pair in one payload."""
    sides = [(-1, b"") if side is None else (len(side), side) for side in (key, value)]
    return b"".join(struct.pack(">i", length) + side for length, side in sides)


def as_read(reader: SchemaInfo, entries: EntryBatch, written: SchemaInfo) -> Any:
    """Return the columns of a read, and which rows are bad."""
    table = decoded(
        with_columns(resolve_read_schema(reader, topic=TOPIC, columns=["*", "__key"])), entries, written
    )
    bad = pc.is_valid(table.column(BAD)).to_pylist()
    # As text, in which NaN is itself, and -0.0 is not 0.0.
    columns = table.drop_columns([BAD, KEPT, "__key"]).combine_chunks().columns
    return [column.to_string(window=99, container_window=99) for column in columns], bad
