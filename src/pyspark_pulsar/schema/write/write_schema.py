"""The schema of a write, which the driver derives from a DataFrame's columns and the topic's schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.avro.to_arrow import field_defaults
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import split
from pyspark_pulsar.schema.payload import PayloadSchema, for_writing, payload_schema, value_document
from pyspark_pulsar.schema.primitive import (
    PRIMITIVES,
    VALUE_COLUMN,
    Primitive,
    primitive_for,
    primitive_of,
)
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile
from pyspark_pulsar.schema.protobuf.from_arrow import native_info
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_TYPES, PROTOBUF_VALUE
from pyspark_pulsar.schema.read_schema import suggestion
from pyspark_pulsar.schema.types.type_text import type_text
from pyspark_pulsar.schema.write.absent_columns import absent_defaults
from pyspark_pulsar.schema.write.compatibility import cast_advice, record_mismatches, scalar_fits
from pyspark_pulsar.schema.write.pair_columns import fit_pair, name_faults
from pyspark_pulsar.schema.write.registration import (
    FORMATS,
    PLAIN_FORMATS,
    VALUE_FORMATS,
    pair_info,
    plain_info,
    record_info,
)

_RESERVED: Final = "__"
_ENCODINGS: Final = ("inline", "separated")


@dataclass(frozen=True)
class WriteSchema:
    """The format and columns of a write. The driver sends instances to executors, so instances can be pickled.

    Attributes:
        value: The format of the value.
        info: The topic's schema, or the schema to register. If its type is BYTES, the write sends no schema.
        registers: Whether the write registers `info`.
        input_schema: The columns that the kernel receives. The value columns are first, and the metadata columns that
            the write stores follow.
        defaults: Names and defaults of record fields for which the DataFrame has no column, without defaults of null.
            The encoder adds each default as a constant column of `input_schema`. If the name is a path such as
            `value.status`, the encoder adds a member of the column instead.

    """

    value: PayloadSchema
    info: SchemaInfo
    registers: bool
    input_schema: pa.Schema
    defaults: tuple[tuple[str, object], ...] = ()


def resolve_write_schema(
    columns: pa.Schema,
    info: SchemaInfo | None,
    *,
    topic: str,
    value_format: str | None = None,
    key_value_encoding: str | None = None,
    record_name: str = "Row",
    descriptor: DescriptorFile | None = None,
) -> WriteSchema:
    """Return the schema by which a write encodes rows for a topic.

    If the topic has a schema, the write uses this schema, and the columns must fit. If the topic has no schema, the
    write registers a new schema. By default, a single column `value` of a primitive type becomes a primitive schema,
    and other columns become a record.

    Args:
        columns: The DataFrame's Arrow schema.
        info: The topic's schema. None, or a schema of type NONE, means a topic without a schema.
        topic: The topic, for errors.
        value_format: The format of a new schema. The values "avro" (the default), "json" and "protobuf" write records,
            even for a single column. The values "bytes" and "string" write a single column `value` unchanged.
        key_value_encoding: The values "inline" and "separated" register the columns `key` and `value` as a KEY_VALUE
            schema. A struct becomes a record in `value_format`, and a column of another type becomes a primitive.
        record_name: The name of a new record.
        descriptor: The user's Protobuf message, as which the write encodes the columns; None without a descriptor file.

    Raises:
        SchemaError: If the columns do not fit the schema. The error lists all mismatches.

    """
    if value_format is not None and value_format not in VALUE_FORMATS:
        raise SchemaError(
            f"value format {value_format!r} is not known: expected {' or '.join(VALUE_FORMATS)}; use one of them"
        )
    if key_value_encoding is not None and value_format in PLAIN_FORMATS:
        raise SchemaError(
            f"value format {value_format} cannot store the structs of a pair: expected {' or '.join(FORMATS)}; leave "
            "the format out"
        )
    if key_value_encoding is not None and key_value_encoding not in _ENCODINGS:
        raise SchemaError(
            f"key-value encoding {key_value_encoding!r} is not known: expected {' or '.join(_ENCODINGS)}; use one "
            "of them"
        )
    values, stored = _split(columns, topic)
    if info is not None and info.type is not SchemaType.NONE:
        _refuse_other_encoding(info, key_value_encoding, topic)
        if descriptor is not None or info.type in PROTOBUF_TYPES:
            _check_format(value_format, info.type, topic)
            return _for_protobuf(values, stored, info, descriptor, topic=topic)
        return _for_topic_schema(values, stored, info, topic=topic, value_format=value_format)
    if descriptor is not None:
        new = native_info(descriptor.descriptor())
        _check_format(value_format, new.type, topic)
        return replace(_for_protobuf(values, stored, new, None, topic=topic), registers=True)
    if key_value_encoding is not None:
        _refuse(name_faults(values), f"topic {topic}: the columns do not form a key-value pair")
        separated = key_value_encoding == "separated"
        new = pair_info(values, value_format, separated=separated, name=record_name, where=f"topic {topic}")
        return _pair(values, stored, new, topic=topic, registers=True)
    if value_format in PLAIN_FORMATS:
        new = plain_info(values, value_format, where=f"topic {topic}")
        primitive = PRIMITIVES[new.type]
        return _primitive(values, stored, new, primitive, registers=new.type is not SchemaType.BYTES)
    return _for_no_schema(values, stored, topic=topic, value_format=value_format, record_name=record_name)


def _for_no_schema(
    values: list[pa.Field], stored: list[pa.Field], *, topic: str, value_format: str | None, record_name: str
) -> WriteSchema:
    schema_type = (
        primitive_for(values[0].type) if [column.name for column in values] == [VALUE_COLUMN] else None
    )
    if schema_type is not None and value_format is None:
        primitive = PRIMITIVES[schema_type]
        new = SchemaInfo(primitive.schema_name, schema_type)
        registers = schema_type is not SchemaType.BYTES
        return _primitive(values, stored, new, primitive, registers=registers)
    new = record_info(pa.schema(values), value_format, name=record_name, where=f"topic {topic}")
    value = payload_schema(new, topic=topic)
    return WriteSchema(value, new, registers=True, input_schema=pa.schema(values + stored))


def _for_topic_schema(
    values: list[pa.Field], stored: list[pa.Field], info: SchemaInfo, *, topic: str, value_format: str | None
) -> WriteSchema:
    if info.type is SchemaType.KEY_VALUE:
        return _pair(values, stored, info, topic=topic, value_format=value_format, registers=False)
    primitive = primitive_of(info, topic=topic)
    _check_format(value_format, info.type, topic)
    if primitive is not None:
        _check_primitive(values, primitive, info, topic)
        return _primitive(values, stored, info, primitive, registers=False)
    document = value_document(info)
    where = f"topic {topic}, {info.type.name} schema"
    value = for_writing(info, topic=topic)
    fields = value.value_schema or pa.schema([])
    defaults, faults = absent_defaults(values, fields, field_defaults(document, where=where))
    added = [fields.field(name) for name, _ in defaults]
    faults += [*record_mismatches([*values, *added], fields), *_unheld_faults(value, values)]
    _refuse(faults, f"topic {topic}: the columns do not fit its {info.type.name} schema")
    return WriteSchema(
        value,
        info,
        registers=False,
        input_schema=pa.schema(values + added + stored),
        defaults=tuple(defaults),
    )


def _for_protobuf(
    values: list[pa.Field],
    stored: list[pa.Field],
    info: SchemaInfo,
    descriptor: DescriptorFile | None,
    *,
    topic: str,
) -> WriteSchema:
    value = payload_schema(info, topic=topic, descriptor=descriptor)
    faults = [*record_mismatches(values, value.value_schema or ()), *_unheld_faults(value, values)]
    _refuse(faults, f"topic {topic}: the columns do not fit its {info.type.name} schema")
    return WriteSchema(value, info, registers=False, input_schema=pa.schema(values + stored))


def _unheld_faults(value: PayloadSchema, columns: Sequence[pa.Field]) -> list[str]:
    """Return faults for omitted fields that the schema requires, or for which the DataFrame has a column.

    If an omitted field has no fault, a write stores null in the field.
    """
    given = {column.name for column in columns}
    faults = []
    for omission in value.omitted:
        if omission.path in given:
            faults.append(f"{omission.text()} cannot be written; leave it out")
        elif omission.required and "[]" not in omission.path and "{}" not in omission.path:
            faults.append(
                f"{omission.text()} is required by the topic's schema and cannot be written; write to another topic"
            )
    return faults


def _check_format(value_format: str | None, schema_type: SchemaType, topic: str) -> None:
    if value_format is None or VALUE_FORMATS[value_format] is schema_type:
        return
    if value_format == PROTOBUF_VALUE and schema_type is SchemaType.PROTOBUF:
        return
    raise SchemaError(
        f"topic {topic}: value format {value_format} does not match its {schema_type.name} schema; "
        "leave the format out, or write to another topic"
    )


def _pair(
    values: list[pa.Field],
    stored: list[pa.Field],
    info: SchemaInfo,
    *,
    topic: str,
    value_format: str | None = None,
    registers: bool,
) -> WriteSchema:
    payload = for_writing(info, topic=topic)
    pair = payload.pair
    if pair is None:
        raise SchemaError(
            f"topic {topic}: expected a KEY_VALUE schema, got {info.type.name}; write to another topic"
        )
    fitted = fit_pair(values, pair, where=f"topic {topic}, KEY_VALUE schema")
    faults = [*fitted.faults, *_unheld_faults(payload, values)]
    if pair.separated and any(column.name == "__key" for column in stored):
        faults.append(
            "column __key, although the column key is the message's key in a separated pair; drop it"
        )
    if value_format is not None and value_format not in (pair.key.value_type, pair.value.value_type):
        faults.append(
            f"value format {value_format}, which neither the key nor the value has; leave the format out"
        )
    _refuse(faults, f"topic {topic}: the columns do not fit its KEY_VALUE schema")
    columns = pa.schema([*fitted.columns, *stored])
    return WriteSchema(payload, info, registers, columns, fitted.defaults)


def _refuse_other_encoding(info: SchemaInfo, encoding: str | None, topic: str) -> None:
    if encoding is None:
        return
    registered, has = "", "no KEY_VALUE schema"
    if info.type is SchemaType.KEY_VALUE:
        registered = "separated" if split(info, topic=topic).separated else "inline"
        has = f"a KEY_VALUE schema with {registered} keys"
    if registered != encoding:
        raise SchemaError(
            f"topic {topic} has {has}, expected a KEY_VALUE schema with {encoding} keys; leave the "
            "key-value encoding out, or write to another topic"
        )


def _check_primitive(values: list[pa.Field], primitive: Primitive, info: SchemaInfo, topic: str) -> None:
    faults = [
        f"column {column.name}{suggestion(column.name, [VALUE_COLUMN])}"
        for column in values
        if column.name != VALUE_COLUMN
    ]
    column = next((column for column in values if column.name == VALUE_COLUMN), None)
    if column is None:
        faults.append(f"no column {VALUE_COLUMN}; rename the column with the value to {VALUE_COLUMN}")
    elif not scalar_fits(column.type, primitive.arrow_type):
        faults.append(
            f"column {VALUE_COLUMN} is {type_text(column.type)}, the topic's schema needs "
            f"{type_text(primitive.arrow_type)}; {cast_advice(column.type, primitive.arrow_type)}"
        )
    _refuse(faults, f"topic {topic}: the columns do not fit its {info.type.name} schema")


def _primitive(
    values: list[pa.Field], stored: list[pa.Field], info: SchemaInfo, primitive: Primitive, *, registers: bool
) -> WriteSchema:
    value = pa.field(VALUE_COLUMN, primitive.arrow_type, nullable=values[0].nullable)
    return WriteSchema(
        PayloadSchema(primitive.value_type),
        info,
        registers=registers,
        input_schema=pa.schema([value, *stored]),
    )


def _split(columns: pa.Schema, topic: str) -> tuple[list[pa.Field], list[pa.Field]]:
    """Return the value columns, and the metadata columns that the write stores with a message."""
    faults = [f"column {name} twice; rename one" for name in _repeated(columns.names)]
    values: list[pa.Field] = []
    stored: list[pa.Field] = []
    for column in columns:
        if not column.name.startswith(_RESERVED):
            values.append(column)
        elif column.name not in metadata_columns.WRITABLE:
            close = suggestion(column.name, metadata_columns.WRITABLE)
            faults.append(
                f"column {column.name}, whose prefix {_RESERVED} is reserved for metadata columns{close}"
            )
        elif not _metadata_fits(column):
            expected = metadata_columns.WRITABLE[column.name].type
            takes_text = bool(types.is_binary(expected))
            faults.append(
                f"column {column.name} is {type_text(column.type)}, expected {type_text(expected)}"
                f"{' or string' if takes_text else ''}; {cast_advice(column.type, expected, takes_text=takes_text)}"
            )
        elif column.name in metadata_columns.WRITTEN:
            stored.append(pa.field(column.name, metadata_columns.WRITABLE[column.name].type))
    if not values:
        faults.append("no value column; add one")
    _refuse(faults, f"topic {topic}: the columns cannot be written")
    return values, stored


def _metadata_fits(column: pa.Field) -> bool:
    if column.name in metadata_columns.SET_BY_PULSAR:
        return True
    expected = metadata_columns.WRITABLE[column.name].type
    if types.is_integer(expected):
        return bool(types.is_integer(column.type))
    if types.is_timestamp(expected):
        return bool(types.is_timestamp(column.type) and column.type.tz is not None)
    if types.is_binary(expected):
        return column.type in (pa.binary(), pa.string())
    if types.is_list(expected):
        return bool(types.is_list(column.type) and column.type.value_type == expected.value_type)
    if types.is_map(expected):
        return bool(
            types.is_map(column.type) and column.type.key_type == column.type.item_type == pa.string()
        )
    return bool(column.type == expected)


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _refuse(faults: list[str], what: str) -> None:
    if faults:
        listed = "".join(f"\n  - {fault}" for fault in faults)
        raise SchemaError(f"{what}, {len(faults)} mismatch{'es' if len(faults) > 1 else ''}:{listed}")
