"""Rows of the table in docs/schema-mapping.md, and what a read and a write of their schemas really do. The schemas are
made from the page's own words, and a value travels through the kernel both ways."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from fixtures.doc_pages import ROOT
from pyarrow import types
from pyspark.sql import types as spark
from unit.codec.sent_entries import entries_of
from unit.docs import noted_schemas as made
from unit.docs.noted_protobuf import FIELD, native_info, noted_field
from unit.docs.noted_schemas import spark_type
from unit.docs.type_notation import Noted, noted

from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join, split
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.types.spark import arrow_schema, spark_schema
from pyspark_pulsar.schema.write.write_schema import WriteSchema, resolve_write_schema

PAGE = ROOT / "docs" / "schema-mapping.md"
TOPIC = "persistent://public/default/t"
RECORDS = {"AVRO": "avro", "JSON": "json"}
VERSION = b"\0\0\0\0\0\0\0\3"


@dataclass(frozen=True)
class Row:
    """A row of the table. `types` is empty for a schema that has no types in it, `read` where it is refused, or with
    `left_out` where no column holds it."""

    schemas: tuple[str, ...]
    types: tuple[str, ...]
    read: tuple[str, ...]
    registered: tuple[str, ...]
    left_out: bool

    def __str__(self) -> str:
        return f"{'/'.join(self.schemas)} {' '.join(self.types)}"


def rows_of(page: str) -> Iterator[Row]:
    table = page.split("## Table of types", 1)[1].split("\n## ", 1)[0]
    for line in table.splitlines():
        if line.startswith("|") and not line.startswith(("| Schema ", "|---")):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(cells) == 4, line
            schemas, kinds, read, registered = (tuple(re.findall(r"`([^`]+)`", cell)) for cell in cells)
            assert read or cells[2] in ("refused", "left out"), line
            yield Row(schemas, kinds, read, registered, left_out=cells[2] == "left out")


ROWS = list(rows_of(PAGE.read_text()))


def infos(row: Row) -> Iterator[SchemaInfo | None]:
    """Every schema that the row is about."""
    for schema in row.schemas:
        if schema == "KEY_VALUE":
            key, value = (side(text) for text in row.types)
            yield from (join(KeyValueSchemas(key, value, separated)) for separated in (False, True))
        elif row.types:
            for kind in row.types:
                yield _info(schema, noted(kind), whole=False)
        else:
            yield SchemaInfo("", SchemaType[schema])
    if "NONE" in row.schemas:
        yield None


def side(text: str) -> SchemaInfo:
    schema, _, kind = text.partition(" ")
    return _info(schema, noted(kind), whole=True) if kind else SchemaInfo("", SchemaType[schema])


def _info(schema: str, node: Noted, *, whole: bool) -> SchemaInfo:
    if schema == "PROTOBUF_NATIVE":
        return native_info(node, whole=whole)
    if schema == "PROTOBUF":
        return made.protobuf_info(node)
    return made.avro_info(SchemaType[schema], node, whole=whole)


def columns(row: Row) -> spark.StructType:
    """The value columns that the row promises."""
    if row.schemas == ("KEY_VALUE",):
        names: tuple[str, ...] = ("key", "value")
    elif ":" in row.read[0] and "<" not in row.read[0]:
        names, kinds = zip(*(text.split(": ") for text in row.read), strict=True)
        row = replace(row, read=kinds)
    else:
        names = (FIELD if row.types else "value",)
    pairs = zip(names, row.read, strict=True)
    return spark.StructType([spark.StructField(name, spark_type(noted(text))) for name, text in pairs])


def sample(kind: pa.DataType, text: str) -> Any:
    """A value of `kind`; of a union or choice only the first member."""
    if types.is_null(kind):
        return None
    if types.is_struct(kind):
        chosen = [each for each in kind if each.name != "member1"]
        return {each.name: sample(each.type, text) for each in chosen}
    if types.is_list(kind):
        return [sample(kind.value_type, text)]
    if types.is_map(kind):
        return [(sample(kind.key_type, text), sample(kind.item_type, text))]
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC if types.is_timestamp(kind) and kind.tz else None)
    plain: list[tuple[Any, Any]] = [
        (types.is_boolean, True), (types.is_integer, 1), (types.is_floating, 1.5), (types.is_string, text),
        (types.is_binary, b"abcd"), (types.is_date, moment.date()), (types.is_time, moment.time()),
        (types.is_timestamp, moment), (types.is_decimal, Decimal(7)), (types.is_duration, dt.timedelta(seconds=5)),
    ]  # fmt: skip
    return next(value for fits, value in plain if fits(kind))


def one_row(row: Row, schema: pa.Schema) -> pa.RecordBatch:
    words = {word for kind in row.types for each in noted_words(kind) for word in each}
    text = "A" if "enum" in words else "00000000-0000-4000-8000-000000000001"
    values = [sample(field.type, text) for field in schema]
    if row.types == ("duration on fixed(12)",):
        values = [bytes(12)]
    if "oneof" in words:
        values[1] = None
    arrays = [pa.array([value], field.type) for value, field in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def noted_words(text: str) -> Iterator[tuple[str, ...]]:
    kind = text.partition(" ")[2] if text.partition(" ")[0] in SchemaType.__members__ else text
    yield from (each.words for each in noted(kind).walk()) if kind else ()


def check_read(row: Row) -> None:
    for info in infos(row):
        if row.left_out:
            assert resolve_read_schema(info, topic=TOPIC).value.omitted, row
            continue
        if not row.read:
            with pytest.raises(SchemaError):
                resolve_read_schema(info, topic=TOPIC)
            continue
        found = spark_schema(resolve_read_schema(info, topic=TOPIC, columns=["*"]).output_schema)
        assert found == columns(row), f"{row}: read as {found.simpleString()}"


def check_both_ways(row: Row) -> None:
    """Check that a column of the read type returns unchanged after a write to a topic of that schema."""
    for info in infos(row) if row.read else ():
        batch = one_row(row, arrow_schema(columns(row)))
        encoder = BatchEncoder(
            resolve_write_schema(batch.schema, info, topic=TOPIC), topic=TOPIC, partitions=1
        )
        encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=VERSION)
        entries = entries_of(encoder.encode(batch, 1))
        schema = resolve_read_schema(info, topic=TOPIC, columns=["*"])
        decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _, info=info: info)
        back = [*decoder.decode(entries), *decoder.finish()]
        assert [each.to_pylist() for each in back] == [batch.to_pylist()], row


def check_registered(row: Row) -> None:
    """Check what the types of the last column register, for a nullable and for a required column."""
    if row.schemas == ("KEY_VALUE",):
        if row.registered:
            _check_pair(row)
        return
    for text, schema, nullable in itertools.product(row.registered, row.schemas, (False, True)):
        if schema in ("NONE", "BYTES") or not row.types:
            found = registered("value", text, nullable=nullable)
            assert found.info.type is (SchemaType.BYTES if "NONE" in row.schemas else SchemaType[schema]), row
            assert found.registers == (text != "binary")
            continue
        value_format = RECORDS.get(schema, "protobuf")
        info = registered(FIELD, text, nullable=nullable, value_format=value_format).info
        assert info.type.name == schema
        expected = noted(row.types[0])
        if value_format == "protobuf":
            _same_protobuf(noted_field(info), expected, nullable=nullable)
        else:
            _same_avro(json.loads(info.document), expected, nullable=nullable)


def registered(name: str, text: str, *, nullable: bool, value_format: str | None = None) -> WriteSchema:
    field = spark.StructField(name, spark_type(noted(text), nullable=nullable), nullable)
    frame = arrow_schema(spark.StructType([field]))
    return resolve_write_schema(frame, None, topic=TOPIC, value_format=value_format)


def _same_avro(document: dict[str, Any], expected: Noted, *, nullable: bool) -> None:
    (field,) = document["fields"]
    if not expected.words:
        # The row of [null, T] is about a nullable T.
        expected = expected.members[1]
        nullable = True if field["type"][0] == "null" else nullable
    kind = _without_names(made.avro_type(expected, nullable=nullable))
    assert _without_names(field["type"]) == (["null", kind] if nullable else kind)
    assert ("default" in field) == nullable


def _without_names(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_names(each) for each in node]
    if isinstance(node, dict):
        named = node.get("type") == "record"
        return {key: _without_names(value) for key, value in node.items() if not (named and key == "name")}
    return node


def _same_protobuf(found: Noted, expected: Noted, *, nullable: bool) -> None:
    scalar = expected.name not in ("message", "map") and "." not in expected.name
    if nullable and scalar and expected.before != "repeated":
        assert found.before == "optional"
    if nullable:
        found, expected = _without_optional(found), _without_optional(expected)
    elif expected.before == "optional":
        expected = expected.without_prefix()
    assert found == expected


def _without_optional(node: Noted) -> Noted:
    words = node.words[1:] if node.before == "optional" else node.words
    return replace(node, words=words, members=tuple(_without_optional(each) for each in node.members))


def _check_pair(row: Row) -> None:
    kinds = zip(("key", "value"), row.registered, strict=True)
    fields = [spark.StructField(name, spark_type(noted(text), nullable=False), False) for name, text in kinds]
    for encoding in ("inline", "separated"):
        frame = arrow_schema(spark.StructType(fields))
        info = resolve_write_schema(frame, None, topic=TOPIC, key_value_encoding=encoding).info
        pair, expected = split(info, topic=TOPIC), [side(text) for text in row.types]
        assert pair.separated == (encoding == "separated")
        for found, wanted in zip((pair.key, pair.value), expected, strict=True):
            assert found.type is wanted.type
            assert _document(found) == _document(wanted)


def _document(info: SchemaInfo) -> Any:
    return _without_names(json.loads(info.document)) if info.document else None


def check(row: Row) -> None:
    check_read(row)
    check_both_ways(row)
    check_registered(row)
