"""KEY_VALUE schemas: taken apart and put together as Java does it, read as and written from columns."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pyarrow as pa
import pytest
from unit.java_key_values import java_pairs

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.family.same_schema import identity, schema_text
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join, split
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

GOLDEN = java_pairs()
EMPTY = b"\0\0\0\0"
KEY = pa.field("key", pa.struct([pa.field("id", pa.int64(), nullable=False), ("region", pa.string())]))


def pair(data: bytes = EMPTY * 2, **properties: str) -> SchemaInfo:
    named = {name.replace("_", "."): each for name, each in properties.items()}
    return SchemaInfo("KeyValue", SchemaType.KEY_VALUE, data, tuple(sorted(named.items())))


@pytest.mark.parametrize("case", GOLDEN, ids="-".join)
def test_split_and_join_are_java_s(case: tuple[str, str]) -> None:
    info = GOLDEN[case].info
    schemas = split(info, topic="t")
    assert schemas.separated is (case[1] == "SEPARATED")
    again = join(schemas)
    assert (again.name, again.type, again.document) == (info.name, info.type, info.document)
    assert {name: text for name, text in again.properties if "properties" not in name} == {
        name: text for name, text in info.properties if "properties" not in name
    }
    assert split(again, topic="t") == schemas


def test_split_gives_the_sides_their_names_and_properties() -> None:
    schemas = split(GOLDEN["string_avro", "INLINE"].info, topic="t")
    assert schemas.key == SchemaInfo("String", SchemaType.STRING)
    assert (schemas.value.type, dict(schemas.value.properties)) == (
        SchemaType.AVRO,
        {"__alwaysAllowNull": "true", "__jsr310ConversionEnabled": "false"},
    )
    assert json.loads(schemas.value.text)["name"] == "Order"


def test_the_default_encoding_is_inline_bytes() -> None:
    schemas = split(pair(b"\xff\xff\xff\xff" + EMPTY), topic="t")
    assert schemas == KeyValueSchemas(
        SchemaInfo("", SchemaType.BYTES), SchemaInfo("", SchemaType.BYTES), separated=False
    )


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (pair(b""), "key: expected a length field of 4 bytes, got 0 bytes"),
        (pair(EMPTY), "value: expected a length field of 4 bytes, got 0 bytes"),
        (pair(b"\0\0\0\2x"), "key: expected a schema of 2 bytes, got 1 bytes"),
        (pair(b"\xff\xff\xff\xfe" + EMPTY), "key: expected a schema of -2 bytes"),
        (pair(EMPTY * 2 + b"x"), "no data after its two schemas, got 1 bytes"),
        (pair(kv_encoding_type="OTHER"), "kv.encoding.type INLINE or SEPARATED, got 'OTHER'"),
        (pair(key_schema_type="THRIFT"), "expected one of .*, got 'THRIFT'"),
        (pair(key_schema_type="KEY_VALUE"), "key: expected a primitive or a record, got another KEY_VALUE"),
        (pair(key_schema_type="AUTO_CONSUME"), "key of its KEY_VALUE schema: expected a schema of type"),
        (pair(value_schema_properties="[]"), r"value: expected properties as a JSON object, got '\[\]'"),
        (
            pair(value_schema_type="AVRO"),
            "value of its KEY_VALUE schema, AVRO schema: expected an Avro schema",
        ),
    ],
)
def test_an_invalid_pair_of_schemas_is_refused(info: SchemaInfo, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        resolve_read_schema(info, topic="t")


def test_sides_are_read_as_columns() -> None:
    found = resolve_read_schema(GOLDEN["avro_int64", "SEPARATED"].info, topic="t", columns=["*", "__key"])
    key = pa.struct([("id", pa.int64()), ("region", pa.string())])
    assert found.output_schema == pa.schema([("key", key), ("value", pa.int64()), ("__key", pa.binary())])
    assert found.value.value_type == "key_value"
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_json_side_is_nullable_throughout() -> None:
    document = b'{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}'
    json_side, text = SchemaInfo("", SchemaType.JSON, document), SchemaInfo("", SchemaType.STRING)
    found = resolve_read_schema(join(KeyValueSchemas(text, json_side, separated=False)), topic="t")
    assert found.value.pair is not None
    assert found.value.pair.value.value_schema == pa.schema([("id", pa.int64())])


@pytest.mark.parametrize("encoding", ["inline", "separated"])
def test_columns_are_registered_as_a_pair(encoding: str) -> None:
    columns = pa.schema([("value", pa.int32()), KEY, ("__eventTime", pa.timestamp("us", tz="UTC"))])
    found = resolve_write_schema(
        columns, None, topic="t", key_value_encoding=encoding, value_format="json", record_name="my-orders"
    )
    assert found.registers
    schemas = split(found.info, topic="t")
    assert (schemas.key.type, schemas.key.name) == (SchemaType.JSON, "my_orders_key")
    assert (schemas.value.type, schemas.value.name) == (SchemaType.INT32, "INT32")
    assert schemas.separated is (encoding == "separated")
    assert json.loads(schemas.key.text)["fields"][0] == {"name": "id", "type": "long"}
    assert found.input_schema.names == ["value", "key", "__eventTime"]
    again = resolve_write_schema(columns, found.info, topic="t", key_value_encoding=encoding)
    assert again == replace(found, registers=False)
    assert resolve_read_schema(found.info, topic="t").output_schema.names[:2] == ["key", "value"]


@pytest.mark.parametrize(
    ("columns", "value_format", "message"),
    [
        ([("key", pa.string())], None, "no column value; add it"),
        ([("keys", pa.string()), ("value", pa.string())], None, "column keys; did you mean key"),
        ([("key", pa.string()), ("value", pa.string())], "avro", "expected a struct in key or value"),
        (
            [("key", pa.string()), ("value", pa.decimal128(9, 2))],
            None,
            r"column value: .* got decimal\(9, 2\)",
        ),
        ([("key", pa.struct([("a b", pa.int32())])), ("value", pa.string())], None, "column key: .*a b"),
    ],
)
def test_columns_that_are_no_pair(
    columns: list[tuple[str, pa.DataType]], value_format: str | None, message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        resolve_write_schema(
            pa.schema(columns), None, topic="t", key_value_encoding="inline", value_format=value_format
        )


def test_columns_must_fit_the_topic_s_pair() -> None:
    info = GOLDEN["avro_int64", "SEPARATED"].info
    bad = pa.struct([pa.field("id", pa.string()), pa.field("regio", pa.string())])
    columns = pa.schema([("key", bad), ("value", pa.float64()), ("__key", pa.binary())])
    with pytest.raises(SchemaError) as caught:
        resolve_write_schema(columns, info, topic="t")
    for fault in (
        "schema, 4 mismatches:",
        "key.regio is not in the topic's schema; did you mean region?",
        "key.id is string, the topic's schema needs bigint; cast it to bigint",
        "column value of type double; cast it to bigint",
        "column __key, although the column key is the message's key in a separated pair; drop it",
    ):
        assert fault in str(caught.value)
    with pytest.raises(SchemaError, match="column key of type int; make it struct<id"):
        resolve_write_schema(pa.schema([("key", pa.int32()), ("value", pa.int64())]), info, topic="t")


def test_another_encoding_or_format_than_the_topic_has_is_refused() -> None:
    columns = pa.schema([KEY, ("value", pa.int64())])
    separated = GOLDEN["avro_int64", "SEPARATED"].info
    with pytest.raises(
        SchemaError,
        match="has a KEY_VALUE schema with separated keys, expected a KEY_VALUE schema with inline keys",
    ):
        resolve_write_schema(columns, separated, topic="t", key_value_encoding="inline")
    plain = SchemaInfo("x", SchemaType.STRING)
    with pytest.raises(
        SchemaError, match="has no KEY_VALUE schema, expected a KEY_VALUE schema with inline keys"
    ):
        resolve_write_schema(columns, plain, topic="t", key_value_encoding="inline")
    with pytest.raises(SchemaError, match="value format json, which neither the key nor the value has"):
        resolve_write_schema(columns, separated, topic="t", value_format="json")
    with pytest.raises(SchemaError, match="'both' is not known: expected inline or separated"):
        resolve_write_schema(columns, None, topic="t", key_value_encoding="both")


def test_a_side_s_absent_fields_get_their_default() -> None:
    document = (
        b'{"type":"record","name":"R","fields":[{"name":"id","type":"long"},'
        b'{"name":"level","type":"int","default":7},{"name":"note","type":["null","string"],"default":null}]}'
    )
    record, text = SchemaInfo("", SchemaType.AVRO, document), SchemaInfo("", SchemaType.STRING)
    info = join(KeyValueSchemas(text, record, separated=False))
    columns = pa.schema([("key", pa.string()), ("value", pa.struct([("id", pa.int64())]))])
    found = resolve_write_schema(columns, info, topic="t")
    assert found.defaults == (("value.level", 7),)
    assert [each.name for each in found.input_schema.field("value").type] == ["id", "level"]
    with pytest.raises(SchemaError, match=r"value.id \(bigint\) is required"):
        resolve_write_schema(
            pa.schema([("key", pa.string()), ("value", pa.struct([("note", pa.string())]))]), info, topic="t"
        )


def test_topics_share_a_pair_by_its_sides_and_encoding() -> None:
    text, number = SchemaInfo("", SchemaType.STRING), SchemaInfo("", SchemaType.INT32)
    plain = b'{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}'
    spaced = plain.replace(b",", b" , ").replace(b'"type":"record"', b'"doc": "x", "type": "record"')
    record, same_record = (SchemaInfo("", SchemaType.AVRO, each) for each in (plain, spaced))

    def joined(key: SchemaInfo, value: SchemaInfo, *, separated: bool = False) -> SchemaInfo:
        return join(KeyValueSchemas(key, value, separated))

    assert identity(joined(text, record)) == identity(joined(text, same_record))
    silent = tuple(each for each in joined(text, record).properties if each[0] != "kv.encoding.type")
    assert identity(replace(joined(text, record), properties=silent)) == identity(joined(text, record))
    different = [
        joined(text, record),
        joined(number, record),
        joined(text, record, separated=True),
        joined(record, text),
        pair(b""),
    ]
    assert len({identity(each) for each in different}) == len(different)
    assert (
        schema_text(joined(number, record, separated=True)) == "KEY_VALUE, separated, of INT32 and AVRO R(id)"
    )
