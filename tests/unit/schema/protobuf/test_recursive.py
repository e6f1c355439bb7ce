"""Messages that contain themselves, to any depth: rows are what the protobuf library makes of the same bytes."""

import base64
import json
import time
from typing import Any

import pyarrow as pa
import pytest
from fixtures.otlp import TRACES, trace_file, traces_class
from google.protobuf import descriptor_pb2, json_format
from property.protobuf_strategies import row_of
from pyarrow import types
from unit.codec.raw_payloads import TOPIC
from unit.codec.stored_entries import stored

from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema
from pyspark_pulsar.schema.unfolding import Unfolding
from pyspark_pulsar.schema.user_schema import restrict_to
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema


def traces_info(file: descriptor_pb2.FileDescriptorProto | None = None) -> SchemaInfo:
    files = descriptor_pb2.FileDescriptorSet(file=[file or trace_file()]).SerializeToString()
    data = {
        "fileDescriptorSet": base64.b64encode(files).decode(),
        "rootMessageTypeName": "opentelemetry.proto.TracesData",
        "rootFileDescriptorName": "trace.proto",
    }
    return SchemaInfo("t", SchemaType.PROTOBUF_NATIVE, json.dumps(data).encode(), version=bytes(8))


def schema_of(depth: int = 1, wanted: pa.Schema | None = None) -> ReadSchema:
    unfolding = Unfolding(depth, wanted)
    schema = resolve_read_schema(traces_info(), topic=TOPIC, columns=["*"], unfolding=unfolding)
    return schema if wanted is None else restrict_to(schema, wanted, topic=TOPIC, unfolding=unfolding)


def rows(schema: ReadSchema, *payloads: bytes) -> list[dict[str, Any]]:
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: traces_info())
    batches = [*decoder.decode(stored([*payloads])), *decoder.finish()]
    return [row for batch in batches for row in batch.to_pylist(maps_as_pydicts="strict")]


def cut(value: Any, kind: pa.DataType) -> Any:
    """A whole value without the fields that the type lacks."""
    if value is None:
        return None
    if types.is_struct(kind):
        return {member.name: cut(value[member.name], member.type) for member in kind}
    return [cut(item, kind.value_type) for item in value] if types.is_list(kind) else value


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 6])
def test_spans_of_any_depth(depth: int) -> None:
    message = json_format.ParseDict(TRACES, traces_class()())
    schema = schema_of(depth)
    whole = row_of(message)
    [row] = rows(schema, message.SerializeToString())
    assert row == {field.name: cut(whole[field.name], field.type) for field in schema.output_schema}
    text = json.dumps(row, default=str)
    assert ["deeper" in text, "Ulm" in text, "89073" in text] == [depth > 3, depth > 2, depth > 3]


def test_a_message_is_shown_as_bytes_if_the_option_is_set() -> None:
    wanted_value = pa.struct([("string_value", pa.string()), ("kvlist_value", pa.binary())])
    pair = pa.struct([("key", pa.string()), ("value", wanted_value)])
    spans = pa.list_(pa.field("element", pa.struct([("attributes", pa.list_(pa.field("element", pair)))])))
    scopes = pa.list_(pa.field("element", pa.struct([("spans", spans)])))
    resources = pa.list_(pa.field("element", pa.struct([("scope_spans", scopes)])))
    message = json_format.ParseDict(TRACES, traces_class()())
    [row] = rows(schema_of(wanted=pa.schema([("resource_spans", resources)])), message.SerializeToString())
    user = row["resource_spans"][0]["scope_spans"][0]["spans"][0]["attributes"][3]
    own = message.resource_spans[0].scope_spans[0].spans[0].attributes[3].value.kvlist_value
    assert user == {"key": "user", "value": {"string_value": None, "kvlist_value": own.SerializeToString()}}


def test_a_depth_that_unfolds_to_too_many_columns_is_refused_soon() -> None:
    started = time.monotonic()
    with pytest.raises(SchemaError, match=r"recursiveFieldMaxDepth|at most 20000 fields"):
        schema_of(15)
    assert time.monotonic() - started < 20


def test_rows_without_deep_values_are_written() -> None:
    columns = schema_of().output_schema
    assert resolve_write_schema(columns, traces_info(), topic=TOPIC).value.omitted
    with pytest.raises(SchemaError, match="array_value is not in the topic's schema"):
        resolve_write_schema(schema_of(2).output_schema, traces_info(), topic=TOPIC)
