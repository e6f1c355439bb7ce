"""What a write encodes from and to: the DataFrame's columns against the topic's schema, on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.avro import field_defaults, record_schema
from pyspark_pulsar.schema.avro_defaults import default_scalar
from pyspark_pulsar.schema.avro_document import legal_name, record_document
from pyspark_pulsar.schema.compatibility import record_mismatches, scalar_fits
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.primitive import (
    PRIMITIVES,
    RECORD_TYPES,
    VALUE_COLUMN,
    Primitive,
    primitive_for,
    primitive_of,
)
from pyspark_pulsar.schema.read_schema import suggestion

_FORMATS: Final = {"avro": SchemaType.AVRO, "json": SchemaType.JSON}
_DEFAULT_FORMAT: Final = "avro"
_RESERVED: Final = "__"


@dataclass(frozen=True)
class WriteSchema:
    """Everything an encoder must know about the columns; picklable, made on the driver for the executors.

    `input_schema` is what the kernel is given: the value columns, then the metadata columns that are
    stored. `defaults` are record fields without a column whose schema has a default other than null: the
    encoder adds them as constant columns of `input_schema`. `info` is the topic's schema, or with
    `registers` the one to register; its type BYTES means that no schema is sent at all.
    """

    value_type: str
    value_schema: pa.Schema | None
    document: str | None
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
    record_name: str = "Row",
) -> WriteSchema:
    """How rows with `columns` (the DataFrame's Arrow schema) are written to `topic`.

    `info` None or of type NONE is a topic without schema. A single value column named `value` of a
    primitive type is then written as that primitive; anything else, or with `value_format` ("avro" or
    "json") anything at all, is written as a record in that format (Avro when not said) which is
    registered under `record_name`. A topic that has a schema keeps it, and the columns must fit it.
    Raises SchemaError, listing all mismatches at once.
    """
    if value_format is not None and value_format not in _FORMATS:
        raise SchemaError(
            f"value format: expected {' or '.join(_FORMATS)}, got {value_format!r}; use one of them"
        )
    values, stored = _split(columns, topic)
    if info is not None and info.type is not SchemaType.NONE:
        return _for_topic_schema(values, stored, info, topic=topic, value_format=value_format)
    schema_type = primitive_for(values[0].type) if [each.name for each in values] == [VALUE_COLUMN] else None
    if schema_type is not None and value_format is None:
        primitive = PRIMITIVES[schema_type]
        new = SchemaInfo(primitive.schema_name, schema_type)
        registers = schema_type is not SchemaType.BYTES
        return _primitive(values, stored, new, primitive, registers=registers)
    chosen = value_format or _DEFAULT_FORMAT
    name = legal_name(record_name)
    document = record_document(pa.schema(values), record_name=name, where=f"topic {topic}")
    new = SchemaInfo(name, _FORMATS[chosen], document.encode())
    fields = record_schema(document, where=f"topic {topic}")
    return WriteSchema(chosen, fields, document, new, registers=True, input_schema=pa.schema(values + stored))


def _for_topic_schema(
    values: list[pa.Field], stored: list[pa.Field], info: SchemaInfo, *, topic: str, value_format: str | None
) -> WriteSchema:
    primitive = primitive_of(info, topic=topic)
    if value_format is not None and _FORMATS[value_format] is not info.type:
        raise SchemaError(
            f"topic {topic}: expected the value format of its {info.type.name} schema, got {value_format}; "
            "leave the format out, or write to another topic"
        )
    if primitive is not None:
        _check_primitive(values, primitive, info, topic)
        return _primitive(values, stored, info, primitive, registers=False)
    document = info.text
    where = f"topic {topic}, {info.type.name} schema"
    fields = record_schema(document, where=where)
    defaults, faults = _absent_defaults(values, fields, field_defaults(document, where=where))
    added = [fields.field(name) for name, _ in defaults]
    faults += record_mismatches([*values, *added], fields)
    _refuse(faults, f"topic {topic}: expected columns that fit its {info.type.name} schema")
    return WriteSchema(
        RECORD_TYPES[info.type],
        fields,
        document,
        info,
        registers=False,
        input_schema=pa.schema(values + added + stored),
        defaults=tuple(defaults),
    )


def _absent_defaults(
    values: list[pa.Field], fields: pa.Schema, defaults: dict[str, object]
) -> tuple[list[tuple[str, object]], list[str]]:
    """Defaults to write for fields without a column, as Python values; and faults for unusable ones."""
    given = {each.name for each in values}
    usable: list[tuple[str, object]] = []
    faults: list[str] = []
    for field in fields:
        default = defaults.get(field.name)
        if field.name in given or default is None:
            continue
        try:
            usable.append((field.name, default_scalar(default, field.type)))
        except ValueError:
            faults.append(f"{field.name} ({field.type}) is missing and its default cannot be written; add it")
    return usable, faults


def _check_primitive(values: list[pa.Field], primitive: Primitive, info: SchemaInfo, topic: str) -> None:
    faults = [
        f"column {each.name}{suggestion(each.name, [VALUE_COLUMN])}"
        for each in values
        if each.name != VALUE_COLUMN
    ]
    column = next((each for each in values if each.name == VALUE_COLUMN), None)
    if column is None:
        faults.append(f"no column {VALUE_COLUMN}; name the value's column so")
    elif not scalar_fits(column.type, primitive.arrow_type):
        faults.append(f"column {VALUE_COLUMN} of type {column.type}; cast it to {primitive.arrow_type}")
    _refuse(
        faults, f"topic {topic}: expected one value column {VALUE_COLUMN} for its {info.type.name} schema"
    )


def _primitive(
    values: list[pa.Field], stored: list[pa.Field], info: SchemaInfo, primitive: Primitive, *, registers: bool
) -> WriteSchema:
    value = pa.field(VALUE_COLUMN, primitive.arrow_type, nullable=values[0].nullable)
    return WriteSchema(
        primitive.value_type, None, None, info, registers=registers, input_schema=pa.schema([value, *stored])
    )


def _split(columns: pa.Schema, topic: str) -> tuple[list[pa.Field], list[pa.Field]]:
    """Value columns, and the metadata columns that are stored with a message."""
    faults = [f"column {name} twice; rename one" for name in _repeated(columns.names)]
    values: list[pa.Field] = []
    stored: list[pa.Field] = []
    for column in columns:
        if not column.name.startswith(_RESERVED):
            values.append(column)
        elif column.name not in metadata_columns.FIELDS:
            close = suggestion(column.name, metadata_columns.FIELDS)
            faults.append(
                f"column {column.name}, which begins with {_RESERVED} as only metadata columns do{close}"
            )
        elif not _metadata_fits(column):
            wanted = metadata_columns.FIELDS[column.name].type
            faults.append(f"column {column.name} of type {column.type}; cast it to {wanted}")
        elif column.name in metadata_columns.WRITTEN:
            stored.append(pa.field(column.name, metadata_columns.FIELDS[column.name].type))
    if not values:
        faults.append("no value column; add one")
    _refuse(faults, f"topic {topic}: expected value columns and known metadata columns")
    return values, stored


def _metadata_fits(column: pa.Field) -> bool:
    if column.name in metadata_columns.SET_BY_PULSAR:
        return True
    wanted = metadata_columns.FIELDS[column.name].type
    if types.is_timestamp(wanted):
        return bool(types.is_timestamp(column.type) and column.type.tz is not None)
    if types.is_binary(wanted):
        return column.type in (pa.binary(), pa.string())
    if types.is_map(wanted):
        return bool(
            types.is_map(column.type) and column.type.key_type == column.type.item_type == pa.string()
        )
    return bool(column.type == wanted)


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _refuse(faults: list[str], expected: str) -> None:
    if faults:
        listed = "".join(f"\n  - {fault}" for fault in faults)
        raise SchemaError(f"{expected}, got {len(faults)} mismatch{'es' if len(faults) > 1 else ''}:{listed}")
