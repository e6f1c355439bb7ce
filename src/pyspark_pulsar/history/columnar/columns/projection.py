"""Conversion of a data file's columns to the columns of a reader's schema, at any depth.

If the table's format uses field ids, columns are found by field id, so a renamed column is still found. In other
formats, columns are found by name. If the table has no column for a field of the reader, module `absent_values`
determines the value of the field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from pyspark_pulsar.history.columnar.columns.absent_values import ITEM, NULL, Absent
from pyspark_pulsar.history.columnar.columns.field_matches import stored_name

FIELD_ID: Final = b"PARQUET:field_id"

Convert = Callable[[pa.Array], pa.Array]


class FieldIndex:
    """An index of a file's fields, or of a struct's members, by id and by name. Each file has one index."""

    def __init__(self, fields: Iterable[pa.Field]) -> None:
        self._by_id: dict[int, tuple[int, pa.Field]] = {}
        self._by_name: dict[str, tuple[int, pa.Field]] = {}
        self._without_id: dict[str, tuple[int, pa.Field]] = {}
        for position, field in enumerate(fields):
            number, found = field_id(field), (position, field)
            self._by_name.setdefault(field.name, found)
            if number is None:
                self._without_id.setdefault(field.name, found)
            else:
                self._by_id.setdefault(number, found)

    def matching(self, table: pa.Field) -> tuple[int, pa.Field] | None:
        """Find the file's field for a field of the table.

        Fields match by id. If the file's field or the table's field has no id, the two fields match by name. If several
        fields of the file match, the first of these fields is returned.

        Returns:
            The index and the matching field of the file, or None if no field of the file matches.

        """
        number, name = field_id(table), stored_name(table)
        if number is None:
            return self._by_name.get(name)
        found = [self._by_id.get(number), self._without_id.get(name)]
        return min((one for one in found if one is not None), key=itemgetter(0), default=None)


class ColumnProjection:
    """A conversion of one column of a file to one column of a reader's schema."""

    def __init__(
        self, target: pa.Field, table: pa.Field | None, file: FieldIndex, absent: Absent = NULL
    ) -> None:
        """Find the column and its conversion.

        Args:
            target: The column of the reader.
            table: The table's column, with the reader's names at every depth; None if the table lacks the column.
            file: The columns of the file.
            absent: The value of the column if the table lacks the column.

        Raises:
            ValueError: The file lacks the table's column, or the column's values cannot be converted to `target`.

        """
        self._target = target
        self._absent = absent
        source = None if table is None else _found(file, table, target.name)[1]
        self.source: str | None = None if source is None else source.name
        """The name of the file's column to read, or None if the table lacks the column."""
        self._convert = (
            None
            if source is None or table is None
            else _conversion(source.type, table.type, target.type, absent, target.name)
        )

    def convert(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the converted column of a batch, with exactly the target's type."""
        if self.source is None:
            return _constant(self._absent, self._target.type, batch.num_rows)
        values = batch.column(self.source)
        return values if self._convert is None else self._convert(values)


def _found(file: FieldIndex, table: pa.Field, path: str) -> tuple[int, pa.Field]:
    found = file.matching(table)
    if found is None:
        raise ValueError(f"a file without column {path}, which another engine has dropped or omitted")
    return found


def constant(target: pa.Field, table: pa.Field, value: Any) -> Absent:
    """Return the value of a column that a file omits because all rows have the same value.

    Args:
        target: The column of the reader.
        table: The table's column.
        value: The value as a Python object that fits the table's type.

    Raises:
        ValueError: The table's type cannot be converted to the target's type.

    """
    name = stored_name(table)
    row = pa.RecordBatch.from_arrays([pa.array([value], table.type)], names=[name])
    file = FieldIndex([pa.field(name, table.type)])
    return Absent(ColumnProjection(target, table, file).convert(row))


def field_id(field: pa.Field) -> int | None:
    number = (field.metadata or {}).get(FIELD_ID)
    return None if number is None else int(number)


def _conversion(
    kind: pa.DataType, table: pa.DataType, target: pa.DataType, absent: Absent, path: str
) -> Convert | None:
    """Return the conversion of a file's values, or None if the values need no conversion."""
    if types.is_struct(target) and types.is_struct(kind):
        return _struct(kind, table, target, absent, path)
    if types.is_map(target) and types.is_map(kind):
        return _map(kind, table, target, absent, path)
    if types.is_list(target) and types.is_list(kind):
        return _list(kind, table, target, absent, path)
    if kind == target:
        return None
    if types.is_nested(kind) or types.is_nested(target):
        raise ValueError(f"column {path} of type {kind}, which cannot be read as {target}")
    return _leaf(kind, target)


def _struct(
    kind: pa.StructType, table: pa.StructType, target: pa.StructType, absent: Absent, path: str
) -> Convert | None:
    parts: list[tuple[int, Convert | None, pa.DataType, Absent]] = []
    index = FieldIndex(kind)
    for member in target:
        inner, below = absent.members.get(member.name, NULL), f"{path}.{member.name}"
        position = table.get_field_index(member.name)
        if position < 0:
            parts.append((-1, None, member.type, inner))
            continue
        number, source = _found(index, table.field(position), below)
        change = _conversion(source.type, table.field(position).type, member.type, inner, below)
        parts.append((number, change, member.type, inner))
    as_they_are = [(index, None) for index in range(len(list(kind)))]
    if kind == target and [(index, change) for index, change, *_ in parts] == as_they_are:
        return None

    def convert(values: pa.StructArray) -> pa.StructArray:
        children = []
        for index, change, inner_type, inner in parts:
            if index < 0:
                children.append(_constant(inner, inner_type, len(values)))
            else:
                child = values.field(index)
                children.append(child if change is None else change(child))
        mask = pc.is_null(values) if values.null_count else None
        if not children:
            # The length of an Arrow array of structs without members is the length of its mask.
            valid = None if mask is None else pc.is_valid(values).buffers()[1]
            return pa.Array.from_buffers(target, len(values), [valid], values.null_count)
        return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)

    return convert


def _list(
    kind: pa.ListType, table: pa.ListType, target: pa.ListType, absent: Absent, path: str
) -> Convert | None:
    item = absent.members.get(ITEM, NULL)
    inner = _conversion(kind.value_type, table.value_type, target.value_type, item, f"{path}.{ITEM}")
    if inner is None and kind == target:
        return None

    def convert(values: pa.ListArray) -> pa.ListArray:
        return _replace_items(values.values if inner is None else inner(values.values), values, target)

    return convert


def _map(
    kind: pa.MapType, table: pa.MapType, target: pa.MapType, absent: Absent, path: str
) -> Convert | None:
    item = absent.members.get(ITEM, NULL)
    keys = _conversion(kind.key_type, table.key_type, target.key_type, NULL, f"{path}.key")
    items = _conversion(kind.item_type, table.item_type, target.item_type, item, f"{path}.value")
    if keys is None and items is None and kind == target:
        return None

    def convert(values: pa.MapArray) -> pa.MapArray:
        sides = [
            side if inner is None else inner(side)
            for side, inner in ((values.keys, keys), (values.items, items))
        ]
        entries = pa.StructArray.from_arrays(sides, fields=[target.key_field, target.item_field])
        return _replace_items(entries, values, target)

    return convert


def _replace_items(items: pa.Array, values: pa.Array, target: pa.DataType) -> pa.Array:
    """Return an array of lists or maps that contain `items`, with the lengths and nulls of `values`."""
    buffers = values.buffers()[:2]
    return pa.Array.from_buffers(target, len(values), buffers, values.null_count, values.offset, [items])


def _leaf(kind: pa.DataType, target: pa.DataType) -> Convert:
    if types.is_null(target):
        return lambda values: pa.nulls(len(values))
    if types.is_time(target) and types.is_int64(kind):
        return lambda values: values.cast(pa.time64("us")).cast(target)
    if types.is_duration(target) and types.is_int64(kind):
        return lambda values: values.cast(pa.duration("us")).cast(target)
    if types.is_int64(target) and types.is_time(kind):
        return lambda values: values.cast(pa.time64("us")).cast(target)
    return lambda values: values.cast(target)


def _constant(absent: Absent, kind: pa.DataType, rows: int) -> pa.Array:
    if absent.value is None:
        return pa.nulls(rows, kind)
    row = absent.value if absent.value.type == kind else absent.value.cast(kind)
    return row.take(pa.nulls(rows, pa.int32()).fill_null(0))
