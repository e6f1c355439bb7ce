"""The types of columns in data files.

Some types of Spark are replaced, because open table formats lack these types.

    column            in the file                        values that a read returns
    tinyint, smallint int                                the same numbers
    time              microseconds (Delta: as long)      the same times; writing a finer value is an error
    interval          microseconds, as long              the same intervals
    void              omitted; in lists and maps, a      null
                      boolean
    struct<>          struct<__empty: boolean>, because  the same structs
                      Parquet needs a member

All other types are stored unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.avro.to_arrow import list_of

_EMPTY: Final = pa.field("__empty", pa.bool_())
"""The member that files contain for a struct without members."""

Leaf = Callable[[pa.DataType], pa.DataType | None]


def iceberg_leaf(kind: pa.DataType) -> pa.DataType | None:
    """Return the type that a leaf of type `kind` has in Iceberg tables, or None if files omit leaves of this type."""
    if types.is_null(kind):
        return None
    if types.is_int8(kind) or types.is_int16(kind):
        return pa.int32()
    if types.is_duration(kind):
        return pa.int64()
    return pa.time64("us") if types.is_time(kind) else kind


def delta_leaf(kind: pa.DataType) -> pa.DataType | None:
    """Return the type that a leaf of type `kind` has in Delta tables, or None if files omit leaves of this type."""
    if types.is_null(kind):
        return None
    return pa.int64() if types.is_time(kind) or types.is_duration(kind) else kind


def stored_schema(columns: pa.Schema, leaf: Leaf) -> pa.Schema:
    """Convert columns in Spark's types to the columns that a table stores. Columns of type void are omitted.

    All fields except keys of maps are nullable.
    """
    return pa.schema([field for column in columns if (field := _stored_field(column, leaf)) is not None])


def _stored_field(field: pa.Field, leaf: Leaf) -> pa.Field | None:
    kind = _stored_type(field.type, leaf)
    return None if kind is None else pa.field(field.name, kind, field.nullable)


def _stored_type(kind: pa.DataType, leaf: Leaf) -> pa.DataType | None:
    """Return the type in files, or None if the type is void."""
    if types.is_struct(kind):
        members = [member for field in kind if (member := _stored_field(field, leaf)) is not None]
        return pa.struct(members or [_EMPTY])
    if types.is_list(kind):
        return list_of(_item_type(kind.value_type, leaf), nullable=True)
    if types.is_map(kind):
        key, item = _item_type(kind.key_type, leaf), _item_type(kind.item_type, leaf)
        return pa.map_(pa.field("key", key, nullable=False), pa.field("value", item))
    return leaf(kind)


def _item_type(kind: pa.DataType, leaf: Leaf) -> pa.DataType:
    return _stored_type(kind, leaf) or pa.bool_()


def fitting_field(column: pa.Field, table: pa.Field | None, *, may_widen: bool) -> pa.Field | None:
    """Return the part of a column that fits into the table's column of the same name.

    An open table format can change a column only to a wider type. The changes are int to long, float to double, more
    digits of a decimal, or more members of a struct.

    Args:
        column: A stored column.
        table: The table's column with the name of `column`; None if the table lacks the column.
        may_widen: Whether the format can also widen leaves; otherwise the format can only add members.

    Returns:
        The column without members, at any depth, whose types conflict with the table. If the table has a wider type,
        the result has the wider type. The result is None if no part of the column fits.

    """
    if table is None:
        return column
    kind = _fitting_type(column.type, table.type, may_widen=may_widen)
    return None if kind is None else column.with_type(kind)


def _fitting_type(kind: pa.DataType, table: pa.DataType, *, may_widen: bool) -> pa.DataType | None:
    if types.is_struct(table) and types.is_struct(kind):
        present = {member.name: member for member in table}
        members = [
            fitting
            for member in kind
            if (fitting := fitting_field(member, present.get(member.name), may_widen=may_widen)) is not None
        ]
        return pa.struct(members) if members else None
    if types.is_map(table) and types.is_map(kind):
        key = _fitting_type(kind.key_type, table.key_type, may_widen=may_widen)
        item = fitting_field(kind.item_field, table.item_field, may_widen=may_widen)
        return None if item is None or key is None else pa.map_(kind.key_field.with_type(key), item)
    if types.is_list(table) and types.is_list(kind):
        item = _fitting_type(kind.value_type, table.value_type, may_widen=may_widen)
        return None if item is None else pa.list_(kind.value_field.with_type(item))
    if types.is_nested(kind) or types.is_nested(table):
        return None
    if _is_wider(kind, table):
        return table
    return kind if may_widen and _is_wider(table, kind) else None


def inner_fields(kind: pa.DataType) -> list[pa.Field]:
    """Return the direct inner fields of a type: struct members, the key and value of a map, or the item of a list."""
    if types.is_struct(kind):
        return list(kind)
    if types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.value_field] if types.is_list(kind) or types.is_large_list(kind) else []


def leaves_of(fields: Iterable[pa.Field]) -> Iterator[pa.Field]:
    """Yield all leaf fields, at every depth."""
    for field in fields:
        if types.is_nested(field.type):
            yield from leaves_of(inner_fields(field.type))
        else:
            yield field


def plain_schema(columns: pa.Schema) -> pa.Schema:
    """Replace Arrow's large string, binary and list types with the types `string`, `binary` and `list`."""
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


def columns_of_table(columns: Iterable[pa.Field], table: Iterable[pa.Field]) -> list[pa.Field]:
    """Return the table's columns that have the names of `columns`, without nested members that `columns` lack."""
    present = {column.name: column for column in table}
    return [
        present[column.name].with_type(_type_of_table(column.type, present[column.name].type))
        for column in columns
    ]


def _type_of_table(kind: pa.DataType, table: pa.DataType) -> pa.DataType:
    if types.is_struct(kind) and types.is_struct(table):
        return pa.struct(columns_of_table(kind, table))
    if types.is_map(kind) and types.is_map(table):
        (item,) = columns_of_table([kind.item_field], [table.item_field])
        return pa.map_(table.key_field, item)
    if types.is_list(kind) and types.is_list(table):
        item = table.value_field
        return pa.list_(item.with_type(_type_of_table(kind.value_type, item.type)))
    return table


def paths_of(fields: Iterable[pa.Field], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each field, at every depth. A path consists of the names from the column to the field."""
    for field in fields:
        path = (*above, field.name)
        yield path
        yield from paths_of(inner_fields(field.type), path)


def _is_wider(table: pa.DataType, column: pa.DataType) -> bool:
    """Return whether `column` has the same type as `table`, or a wider type."""
    if types.is_decimal(table) and types.is_decimal(column):
        return bool(column.scale == table.scale and column.precision >= table.precision)
    return table == column or (table, column) in ((pa.int32(), pa.int64()), (pa.float32(), pa.float64()))
