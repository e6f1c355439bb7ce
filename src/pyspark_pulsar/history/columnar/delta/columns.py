"""The names and types that columns of a Delta table can have. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.history.columnar.columns.stored_types import inner_fields, paths_of
from pyspark_pulsar.history.columnar.layout import IDENTITY

if TYPE_CHECKING:
    from deltalake import Schema

NOTES_COLUMN: Final = IDENTITY
"""The column whose metadata contains `TableState.notes`."""
_FORBIDDEN: Final = re.compile(r"[ ,;{}()\n\t=]")
"""Characters that the Delta protocol forbids in column names, unless the table uses column mapping."""


def delta_schema(columns: pa.Schema, table: str) -> Schema:
    """Convert the columns to a schema of delta-rs. Raises `SchemaError` for a type that Delta lacks."""
    from deltalake import Field, Schema

    fields = []
    for column in columns:
        try:
            field = Schema.from_arrow(pa.schema([column])).fields[0]
        except Exception as fault:  # noqa: BLE001 - delta-rs raises plain Exception
            raise SchemaError(
                f"table {table}: expected columns of types that Delta supports, got {column.name!r} of type "
                f"{column.type} ({str(fault).splitlines()[0]}); tier the topic to Iceberg, or remove the column"
            ) from None
        fields.append(Field(field.name, field.type, nullable=field.nullable))
    return Schema(fields)


def allowed_columns(columns: pa.Schema, table: str, present: Iterable[pa.Field]) -> list[pa.Field]:
    """Return the columns whose names and types a Delta table with the columns `present` accepts."""
    existing = list(present)
    allowed: list[pa.Field] = []
    for column in columns:
        try:
            check_names(pa.schema([column]), table, [*existing, *allowed])
            delta_schema(pa.schema([column]), table)
        except SchemaError:
            continue
        allowed.append(column)
    return allowed


def has_local_times(kind: pa.DataType) -> bool:
    """Return whether a type contains timestamps without a time zone.

    A table with such a column needs the table feature `timestampNtz`.
    """
    if types.is_timestamp(kind):
        return kind.tz is None
    return any(has_local_times(inner.type) for inner in inner_fields(kind))


def hides_local_times(kind: pa.DataType) -> bool:
    """Return whether a map inside a type contains timestamps without a time zone.

    delta-rs 1.6 does not notice these timestamps. If a new table has such a column, delta-rs creates a table that no
    engine can read.
    """
    if types.is_map(kind):
        return has_local_times(kind)
    return any(hides_local_times(inner.type) for inner in inner_fields(kind))


def check_names(columns: pa.Schema, table: str, present: Iterable[pa.Field] = ()) -> None:
    """Raise `SchemaError` if Delta forbids a column's name, or if the name conflicts with another column's name."""
    wrong = [".".join(path) for path in paths_of(columns) if _FORBIDDEN.search(path[-1]) or not path[-1]]
    if wrong:
        raise SchemaError(
            f"table {table}: expected nonempty column names without spaces, line breaks, tabs and the characters "
            f"',;{{}}()=', as Delta requires, got {', '.join(map(repr, wrong))}; tier the topic to Iceberg"
        )
    _check_distinct([*present, *columns], table)


def _check_distinct(columns: Iterable[pa.Field], table: str) -> None:
    """Raise `SchemaError` if the names of two columns differ only in case, because Delta ignores case."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for path in paths_of(columns):
        key = tuple(name.lower() for name in path)
        if seen.setdefault(key, path) != path:
            raise SchemaError(
                f"table {table}: expected column names that differ in more than case, because Delta ignores case, "
                f"got {'.'.join(seen[key])!r} and {'.'.join(path)!r}; tier the topic to Iceberg"
            )
