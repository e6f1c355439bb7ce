"""The schema that a write registers for a topic without a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.from_arrow import legal_name, record_document
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join
from pyspark_pulsar.schema.payload import KEY_COLUMN
from pyspark_pulsar.schema.primitive import PRIMITIVES, VALUE_COLUMN, primitive_for
from pyspark_pulsar.schema.protobuf.from_arrow import new_protobuf_info
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_VALUE
from pyspark_pulsar.schema.types.type_text import spark_mark, type_text

FORMATS: Final = {
    "avro": SchemaType.AVRO,
    "json": SchemaType.JSON,
    "protobuf": SchemaType.PROTOBUF_NATIVE,
}
"""The schema types for records, by value of option `valueFormat`."""

PLAIN_FORMATS: Final = {"bytes": SchemaType.BYTES, "string": SchemaType.STRING}
"""The schema types for a column `value` that a write stores unchanged, by value of option `valueFormat`."""

VALUE_FORMATS: Final = FORMATS | PLAIN_FORMATS
"""The schema types for all values of option `valueFormat`."""

_DEFAULT_FORMAT: Final = "avro"


def record_info(columns: pa.Schema, value_format: str | None, *, name: str, where: str) -> SchemaInfo:
    """Return the schema of a record whose fields are the columns.

    Args:
        columns: The columns.
        value_format: A key of `FORMATS`; None means Avro.
        name: The name of the record.
        where: The topic, for errors.

    Raises:
        SchemaError: If the format cannot represent a column.

    """
    name = legal_name(name)
    if value_format == PROTOBUF_VALUE:
        return new_protobuf_info(columns, name=name, where=where)
    document = record_document(columns, record_name=name, where=where)
    return SchemaInfo(name, FORMATS[value_format or _DEFAULT_FORMAT], document.encode())


def plain_info(columns: Sequence[pa.Field], value_format: str, *, where: str) -> SchemaInfo:
    """Return the BYTES or STRING schema for a single column `value`.

    Raises:
        SchemaError: If other columns exist, or if the schema cannot store values of the column's type unchanged.

    """
    schema_type = PLAIN_FORMATS[value_format]
    fitting = (pa.string(), pa.binary()) if schema_type is SchemaType.BYTES else (pa.string(),)
    if [column.name for column in columns] != [VALUE_COLUMN] or columns[0].type not in fitting:
        columns_text = ", ".join(f"{column.name} {type_text(column.type)}" for column in columns)
        raise SchemaError(
            f"{where}: {columns_text} cannot be written with valueFormat={value_format}, expected one column "
            f"{VALUE_COLUMN} of type {' or '.join(map(type_text, fitting))}; {_to_one_column(columns)}, or use another "
            f"format"
        )
    return SchemaInfo(PRIMITIVES[schema_type].schema_name, schema_type)


def _to_one_column(columns: Sequence[pa.Field]) -> str:
    """Return advice for converting the columns to one column that can be written unchanged."""
    if [column.name for column in columns] == [VALUE_COLUMN] and not types.is_nested(columns[0].type):
        return "cast it to string"
    return "make one column, for example with to_json(struct(*))"


def pair_info(
    columns: Sequence[pa.Field], value_format: str | None, *, separated: bool, name: str, where: str
) -> SchemaInfo:
    """Return a KEY_VALUE schema for the columns `key` and `value`.

    A struct becomes a record whose name begins with `name`. A column of another type becomes the primitive that stores
    its values unchanged.

    Raises:
        SchemaError: If the schema cannot represent a column.

    """
    sides = {column.name: column for column in columns}
    if value_format is not None and not any(types.is_struct(column.type) for column in sides.values()):
        raise SchemaError(
            f"{where}: expected a struct in {KEY_COLUMN} or {VALUE_COLUMN} to write as {value_format}, got "
            f"{', '.join(type_text(column.type) for column in columns)}; leave the value format out"
        )
    sides_info = {}
    for column in (sides[KEY_COLUMN], sides[VALUE_COLUMN]):
        place = f"{where}, column {column.name}"
        if types.is_struct(column.type) and spark_mark(column.type) is None:
            own = f"{name}_{column.name}"
            sides_info[column.name] = record_info(
                pa.schema(list(column.type)), value_format, name=own, where=place
            )
            continue
        schema_type = primitive_for(column.type)
        if schema_type is None:
            held = ", ".join(
                dict.fromkeys(type_text(primitive.arrow_type) for primitive in PRIMITIVES.values())
            )
            raise SchemaError(
                f"{place}: expected a struct, or a type that a Pulsar primitive holds ({held}), got "
                f"{type_text(column.type)}; cast it, or put it into a struct"
            )
        sides_info[column.name] = SchemaInfo(PRIMITIVES[schema_type].schema_name, schema_type)
    return join(KeyValueSchemas(sides_info[KEY_COLUMN], sides_info[VALUE_COLUMN], separated))
