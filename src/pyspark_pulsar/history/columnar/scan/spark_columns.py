"""The plan with which Spark's own Parquet scan reads the columns of a query from a table's files. Pure.

Spark finds columns by their names in the files, and reads the columns with the types of the reader's schema. In these
cases, Spark reads the same values as the reader of this package (module `projection`):

    in the file                     Spark reads                 why the result is the same
    the type of the reader          that type
    a narrower number: int, float,  the reader's type           Spark widens values as it reads, at any depth
      a decimal of the same scale
    int for tinyint and smallint    int, then casts             the values fit into the narrower type
    no such column                  nothing                     a constant: null, or the field's default
    no such column in some files    the reader's type           null, or the field's default in the metadata
                                                                `EXISTS_DEFAULT` of Spark's own tables
    no such field inside a column   the reader's type           null

All other cases are `NotScannable`, for three reasons. Spark reads times of day and intervals differently from this
package. Spark cannot fill in the defaults of fields inside a column. Some names do not identify one field
(`TableFiles.unclear_names`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.history.columnar.columns.absent_values import ITEM, NULL, Absent
from pyspark_pulsar.history.columnar.columns.projection import field_id
from pyspark_pulsar.history.columnar.columns.stored_types import leaves_of
from pyspark_pulsar.history.columnar.table_files import NotScannable, TableFiles

_WIDENED: Final = ((pa.int32(), pa.int64()), (pa.float32(), pa.float64()))
_SMALL: Final = (pa.int8(), pa.int16())


@dataclass(frozen=True, slots=True)
class ScannedColumn:
    """A column of a reader, and the type and default with which Spark reads the column."""

    field: pa.Field
    """The column in the reader's schema."""
    scanned: pa.DataType | None
    """The type with which Spark reads the column from files; None if no file has the column.

    If the type in `field` is another type, Spark casts the values to the type in `field`.
    """
    default: str | None
    """The value for files that lack the column, as text that Spark casts to the column's type. None means null."""


def scanned_column(
    column: pa.Field, table: pa.Schema, files: TableFiles, absent: Absent = NULL
) -> ScannedColumn:
    """Plan how Spark reads a column of the reader.

    Args:
        column: The column in the reader's schema.
        table: The table's columns, with field ids.
        files: The table's files.
        absent: The value if the table lacks the column.

    Raises:
        NotScannable: Spark cannot read the column correctly.

    """
    if column.name.lower() in files.unclear_names:
        raise NotScannable(f"names of fields in column {column.name} have changed in the table")
    if column.name not in table.names:
        return ScannedColumn(column, None, _default(column, absent))
    stored = table.field(column.name)
    scanned = _scanned_type(column.name, column.type, stored.type)
    for leaves in _leaves_with_default(column.type, stored.type, absent, column.name):
        _require(column.name, leaves, files)
    try:
        default = _default(column, absent)
    except NotScannable:
        _require(column.name, frozenset(_leaf_ids(stored)), files)
        default = None
    return ScannedColumn(column, scanned, default)


def _scanned_type(path: str, kind: pa.DataType, stored: pa.DataType) -> pa.DataType:
    """Return the type with which Spark reads a column. Raises `NotScannable`."""
    if types.is_struct(kind) and types.is_struct(stored):
        return pa.struct([_scanned_member(path, member, stored) for member in kind])
    if types.is_map(kind) and types.is_map(stored):
        key = _scanned_type(f"{path}.key", kind.key_type, stored.key_type)
        item = _scanned_type(f"{path}.value", kind.item_type, stored.item_type)
        return pa.map_(kind.key_field.with_type(key), kind.item_field.with_type(item))
    if types.is_list(kind) and types.is_list(stored):
        item = _scanned_type(f"{path}.element", kind.value_type, stored.value_type)
        return pa.list_(kind.value_field.with_type(item))
    if types.is_nested(kind) or types.is_nested(stored) or not _has_parquet(kind):
        raise NotScannable(f"{path} is {stored} in the table, which Spark does not read as {kind}")
    if kind == stored or (stored, kind) in _WIDENED or _is_wider_decimal(stored, kind):
        return kind
    if kind in _SMALL and stored == pa.int32():
        return stored
    raise NotScannable(f"{path} is {stored} in the table, and {kind} in the topic's schema")


def _scanned_member(path: str, member: pa.Field, stored: pa.StructType) -> pa.Field:
    position = stored.get_field_index(member.name)
    if position < 0:
        # The table lacks the member. `_leaves_with_default` checks the member's default.
        return member.with_type(_unstored_type(f"{path}.{member.name}", member.type))
    return member.with_type(_scanned_type(f"{path}.{member.name}", member.type, stored.field(position).type))


def _unstored_type(path: str, kind: pa.DataType) -> pa.DataType:
    if not all(_has_parquet(leaf.type) for leaf in leaves_of([pa.field(path, kind)])):
        raise NotScannable(f"{path} is {kind}, which Spark does not read from Parquet")
    return kind


def _has_parquet(kind: pa.DataType) -> bool:
    """Return whether Spark reads a leaf of this type correctly from the Parquet files of this package."""
    return not (
        types.is_null(kind) or types.is_time(kind) or types.is_duration(kind) or types.is_interval(kind)
    )


def _is_wider_decimal(stored: pa.DataType, kind: pa.DataType) -> bool:
    return bool(
        types.is_decimal(stored)
        and types.is_decimal(kind)
        and stored.scale == kind.scale
        and stored.precision <= kind.precision
    )


def _leaves_with_default(
    kind: pa.DataType, stored: pa.DataType, absent: Absent, path: str
) -> Iterator[frozenset[int]]:
    """Yield, for each nested field with a default other than null, the ids of leaves that each file must contain.

    Raises:
        NotScannable: No file contains such a field.

    """
    if types.is_struct(kind) and types.is_struct(stored):
        for member in kind:
            inner, position = absent.members.get(member.name, NULL), stored.get_field_index(member.name)
            below = f"{path}.{member.name}"
            if inner.value is not None:
                if position < 0:
                    raise NotScannable(f"{below} has a default, and the table has no column for it")
                yield frozenset(_leaf_ids(stored.field(position)))
            if position >= 0:
                yield from _leaves_with_default(member.type, stored.field(position).type, inner, below)
        return
    item = absent.members.get(ITEM, NULL)
    if types.is_map(kind) and types.is_map(stored):
        yield from _leaves_with_default(kind.item_type, stored.item_type, item, f"{path}.value")
    elif types.is_list(kind) and types.is_list(stored):
        yield from _leaves_with_default(kind.value_type, stored.value_type, item, f"{path}.element")


def _leaf_ids(field: pa.Field) -> Iterator[int]:
    for leaf in leaves_of([field]):
        number = field_id(leaf)
        if number is None:
            raise NotScannable(f"{leaf.name} has no field id")
        yield number


def _require(path: str, leaves: frozenset[int], files: TableFiles) -> None:
    """Raise `NotScannable` unless every file contains the leaves."""
    if not all(present is not None and leaves <= present for present in files.leaves):
        raise NotScannable(f"files lack fields of column {path} whose default Spark cannot fill in")


def _default(column: pa.Field, absent: Absent) -> str | None:
    """Return the text of a column's default, or None if the default is null.

    Raises `NotScannable` if it is not certain that Spark parses the text as the default.
    """
    if absent.value is None:
        return None
    text = _text(absent.value[0].as_py())
    if text is None:
        raise NotScannable(f"column {column.name} has a default that Spark cannot fill in")
    return text


def _text(value: Any) -> str | None:
    """Return a text that Spark's CAST converts to the value, or None if the result of CAST is uncertain."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, int | Decimal):
        return str(value)
    # A Spark setting decides how escapes in text literals are parsed, so only texts without escapes are safe.
    is_plain = isinstance(value, str) and value.isprintable() and not set(value) & set("'\"\\")
    return value if is_plain else None


def statistics_columns(columns: Mapping[str, ScannedColumn]) -> list[str]:
    """Return the names of columns whose statistics can exclude files: the columns that Spark does not cast."""
    return [name for name, column in columns.items() if column.scanned == column.field.type]
