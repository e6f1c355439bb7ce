"""Columns of a data file as a reader's schema has them, at any depth.

Columns are found by field id where the table's format has ids, so that a column which somebody renamed in the table
is still itself; else by name. The names that a reader knows are those of the table. What a file lacks is `absent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from pyspark_pulsar.columnar.columns.absent import ITEM, NULL, Absent

FIELD_ID: Final = b"PARQUET:field_id"

Convert = Callable[[pa.Array], pa.Array]


class FieldIndex:
    """The fields of a file's schema, or the members of a struct in it, by their ids and names. Made once for a file."""

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
        """Return the position and the field that the table's field is; None where the file has none.

        Fields are the same if their ids are, or their names where one of the two has no id. The first one counts.
        """
        number = field_id(table)
        if number is None:
            return self._by_name.get(table.name)
        found = [self._by_id.get(number), self._without_id.get(table.name)]
        return min((one for one in found if one is not None), key=itemgetter(0), default=None)


class ColumnProjection:
    """Of one column of a reader's schema, from one file."""

    def __init__(
        self,
        target: pa.Field,
        table: pa.Field | None,
        file: FieldIndex,
        absent: Absent = NULL,
        former_names: frozenset[str] = frozenset(),
    ) -> None:
        """`table`: the column of that name in the table, None for one that it does not have; `file`: the columns of the
        file. Raises ValueError where what the table holds cannot be the target, or has it under another name by now."""
        if table is None and target.name in former_names:
            raise ValueError(f"{target.name} has another name there by now")
        self._target = target
        self._absent = absent
        found = None if table is None else file.matching(table)
        source = None if found is None else found[1]
        self.source: str | None = None if source is None else source.name
        """The file's column that must be read; None where it has none."""
        self._convert = (
            None
            if source is None or table is None
            else _Conversions(former_names).of(source, table, target.type, absent, target.name)
        )

    def of(self, batch: pa.RecordBatch) -> pa.Array:
        """Of exactly the target's type."""
        if self.source is None:
            return _constant(self._absent, self._target.type, batch.num_rows)
        values = batch.column(self.source)
        return values if self._convert is None else self._convert(values)


def constant(target: pa.Field, table: pa.Field, value: Any) -> Absent:
    """A column that has one value in all rows of a file, which does not hold it. `value`: as Python has it for the
    table's type. Raises ValueError where that type cannot be the target's."""
    row = pa.RecordBatch.from_arrays([pa.array([value], table.type)], names=[table.name])
    return Absent(ColumnProjection(target, table, FieldIndex([table])).of(row))


def field_id(field: pa.Field) -> int | None:
    told = (field.metadata or {}).get(FIELD_ID)
    return None if told is None else int(told)


def shared_field(table: pa.Field, file: pa.Field) -> pa.Field | None:
    """The table's field with the members, at any depth, that the file's has; None where none is left."""
    kind = _shared_type(table.type, file.type)
    return None if kind is None else table.with_type(kind)


def _shared_type(table: pa.DataType, file: pa.DataType) -> pa.DataType | None:
    if types.is_struct(table) and types.is_struct(file):
        index = FieldIndex(file)
        members = [
            shared
            for member in table
            if (found := index.matching(member)) is not None
            and (shared := shared_field(member, found[1])) is not None
        ]
        return pa.struct(members) if members else None
    if types.is_map(table) and types.is_map(file):
        item = shared_field(table.item_field, file.item_field)
        return None if item is None else pa.map_(table.key_field, item)
    if types.is_list(table) and types.is_list(file):
        item = shared_field(table.value_field, file.value_field)
        return None if item is None else pa.list_(item)
    return table


class _Conversions:
    """Of values of a file to those of a reader's schema."""

    def __init__(self, former_names: frozenset[str]) -> None:
        self._former_names = former_names

    def of(
        self, source: pa.Field, table: pa.Field, target: pa.DataType, absent: Absent, path: str
    ) -> Convert | None:
        """None where the values are right as they are."""
        kind = source.type
        if types.is_struct(target) and types.is_struct(kind):
            return self._struct(kind, table.type, target, absent, path)
        if types.is_map(target) and types.is_map(kind):
            return self._map(kind, table.type, target, absent, path)
        if types.is_list(target) and types.is_list(kind):
            return self._list(kind, table.type, target, absent, path)
        if kind == target:
            return None
        if types.is_nested(kind) or types.is_nested(target):
            raise ValueError(f"{path}: expected {target}, got {kind}")
        return _leaf(kind, target)

    def _struct(
        self, kind: pa.StructType, table: pa.StructType, target: pa.StructType, absent: Absent, path: str
    ) -> Convert | None:
        parts: list[tuple[int, Convert | None, pa.DataType, Absent]] = []
        index = FieldIndex(kind)
        for member in target:
            inner, below = absent.members.get(member.name, NULL), f"{path}.{member.name}"
            position = table.get_field_index(member.name)
            if position < 0 and below in self._former_names:
                raise ValueError(f"{below} has another name there by now")
            found = None if position < 0 else index.matching(table.field(position))
            if found is None:
                parts.append((-1, None, member.type, inner))
            else:
                number, source = found
                change = self.of(source, table.field(position), member.type, inner, below)
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
            return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)

        return convert

    def _list(
        self, kind: pa.ListType, table: pa.ListType, target: pa.ListType, absent: Absent, path: str
    ) -> Convert | None:
        item = absent.members.get(ITEM, NULL)
        inner = self.of(kind.value_field, table.value_field, target.value_type, item, f"{path}.element")
        if inner is None and kind == target:
            return None

        def convert(values: pa.ListArray) -> pa.ListArray:
            items = values.values if inner is None else inner(values.values)
            buffers = values.buffers()[:2]
            return pa.Array.from_buffers(
                target, len(values), buffers, values.null_count, values.offset, [items]
            )

        return convert

    def _map(
        self, kind: pa.MapType, table: pa.MapType, target: pa.MapType, absent: Absent, path: str
    ) -> Convert | None:
        item = absent.members.get(ITEM, NULL)
        keys = self.of(kind.key_field, table.key_field, target.key_type, NULL, f"{path}.key")
        items = self.of(kind.item_field, table.item_field, target.item_type, item, f"{path}.value")
        if keys is None and items is None and kind == target:
            return None

        def convert(values: pa.MapArray) -> pa.MapArray:
            sides = [
                side if inner is None else inner(side)
                for side, inner in ((values.keys, keys), (values.items, items))
            ]
            entries = pa.StructArray.from_arrays(sides, fields=[target.key_field, target.item_field])
            buffers = values.buffers()[:2]
            return pa.Array.from_buffers(
                target, len(values), buffers, values.null_count, values.offset, [entries]
            )

        return convert


def _leaf(kind: pa.DataType, target: pa.DataType) -> Convert:
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
