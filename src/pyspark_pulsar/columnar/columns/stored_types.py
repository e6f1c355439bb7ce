"""The types that columns have in data files: those of Spark, as far as open table formats have them.

    column            in the file                      read back
    tinyint, smallint int                              the same numbers
    time              microseconds (Delta: as long)    the same; a finer value is refused when it is written
    interval          microseconds, as long            the same
    void              is left out                      null

All else is stored as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.avro.to_arrow import list_of

Leaf = Callable[[pa.DataType], pa.DataType | None]


def iceberg_leaf(kind: pa.DataType) -> pa.DataType | None:
    """The type of a leaf in an Iceberg table, None for one that no column can have."""
    if types.is_null(kind):
        return None
    if types.is_int8(kind) or types.is_int16(kind):
        return pa.int32()
    if types.is_duration(kind):
        return pa.int64()
    return pa.time64("us") if types.is_time(kind) else kind


def delta_leaf(kind: pa.DataType) -> pa.DataType | None:
    """The type of a leaf in a Delta table, which has no times of day."""
    if types.is_null(kind):
        return None
    return pa.int64() if types.is_time(kind) or types.is_duration(kind) else kind


def stored_schema(columns: pa.Schema, leaf: Leaf) -> pa.Schema:
    """Of a table that holds `columns`; those that it cannot hold are left out. All fields are nullable but keys of
    maps."""
    return pa.schema([field for column in columns if (field := _stored_field(column, leaf)) is not None])


def _stored_field(field: pa.Field, leaf: Leaf) -> pa.Field | None:
    kind = stored_type(field.type, leaf)
    return None if kind is None else pa.field(field.name, kind, field.nullable)


def stored_type(kind: pa.DataType, leaf: Leaf) -> pa.DataType | None:
    """None for a type that nothing is left of."""
    if types.is_struct(kind):
        members = [member for field in kind if (member := _stored_field(field, leaf)) is not None]
        return pa.struct(members) if members else None
    if types.is_list(kind):
        item = stored_type(kind.value_type, leaf)
        return None if item is None else list_of(item, nullable=True)
    if types.is_map(kind):
        key, item = stored_type(kind.key_type, leaf), stored_type(kind.item_type, leaf)
        if key is None or item is None:
            return None
        return pa.map_(pa.field("key", key, nullable=False), pa.field("value", item))
    return leaf(kind)


def check_widened(name: str, table: pa.DataType, column: pa.DataType, *, may_widen: bool = True) -> None:
    """Raises ValueError unless values of type `column`, and those that are there of type `table`, go into one column
    which is only ever widened, as open table formats allow: int to long, float to double, more digits, more members.
    Without `may_widen` only more members."""
    if types.is_struct(table) and types.is_struct(column):
        for member in column:
            position = table.get_field_index(member.name)
            if position >= 0:
                check_widened(
                    f"{name}.{member.name}", table.field(position).type, member.type, may_widen=may_widen
                )
    elif types.is_map(table) and types.is_map(column):
        check_widened(f"{name}.key", table.key_type, column.key_type, may_widen=may_widen)
        check_widened(f"{name}.value", table.item_type, column.item_type, may_widen=may_widen)
    elif types.is_list(table) and types.is_list(column):
        check_widened(f"{name}.element", table.value_type, column.value_type, may_widen=may_widen)
    elif not (_is_wider if may_widen else operator.eq)(table, column):
        raise ValueError(f"{name} is {table} in the table, and {column} in the topic's schema")


def plain_schema(columns: pa.Schema) -> pa.Schema:
    """The same without the types that differ only in how much they can hold: what Spark has."""
    return pa.schema([_plain_field(column) for column in columns], columns.metadata)


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain_type(field.type))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if types.is_large_string(kind):
        return pa.string()
    if types.is_large_binary(kind):
        return pa.binary()
    if types.is_struct(kind):
        return pa.struct([_plain_field(member) for member in kind])
    if types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field))
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    return kind


def _is_wider(table: pa.DataType, column: pa.DataType) -> bool:
    """Whether `column` is the same or can stand for both."""
    if types.is_decimal(table) and types.is_decimal(column):
        return bool(column.scale == table.scale and column.precision >= table.precision)
    return table == column or (table, column) in ((pa.int32(), pa.int64()), (pa.float32(), pa.float64()))
