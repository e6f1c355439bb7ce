"""Names and types of columns that a Delta table can have. Pure."""

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

NOTED: Final = IDENTITY
"""The column at which we note in the log what changes, and needs no fence."""
_FORBIDDEN: Final = re.compile(r"[ ,;{}()\n\t=]")
"""In names of columns: the protocol, without column mapping."""


def delta_schema(columns: pa.Schema, table: str) -> Schema:
    """Return the columns as delta-rs has them. Raises `SchemaError` for a type that Delta does not have."""
    from deltalake import Field, Schema

    fields = []
    for column in columns:
        try:
            field = Schema.from_arrow(pa.schema([column])).fields[0]
        except Exception as fault:  # noqa: BLE001 - delta-rs raises just that
            raise SchemaError(
                f"table {table}: expected columns of types that Delta has, got {column.name!r} of type {column.type} "
                f"({str(fault).splitlines()[0]}); tier the topic to Iceberg, or leave the column out"
            ) from None
        fields.append(Field(field.name, field.type, nullable=field.nullable))
    return Schema(fields)


def allowed_columns(columns: pa.Schema, table: str, present: Iterable[pa.Field]) -> list[pa.Field]:
    """Return the columns that a Delta table can have beside those that are there, by their names and types."""
    there = list(present)
    allowed: list[pa.Field] = []
    for column in columns:
        try:
            check_names(pa.schema([column]), table, [*there, *allowed])
            delta_schema(pa.schema([column]), table)
        except SchemaError:
            continue
        allowed.append(column)
    return allowed


def has_local_times(kind: pa.DataType) -> bool:
    """Whether there are moments without zone in it, which only tables with the feature `timestampNtz` may have."""
    if types.is_timestamp(kind):
        return kind.tz is None
    return any(has_local_times(inner.type) for inner in inner_fields(kind))


def hides_local_times(kind: pa.DataType) -> bool:
    """Whether there are such in a map: delta-rs 1.6 does not see those, and makes a table that cannot be read."""
    if types.is_map(kind):
        return has_local_times(kind)
    return any(hides_local_times(inner.type) for inner in inner_fields(kind))


def check_names(columns: pa.Schema, table: str, present: Iterable[pa.Field] = ()) -> None:
    """Raises `SchemaError` for names of columns that Delta does not have, also beside those that are there."""
    wrong = [".".join(path) for path in paths_of(columns) if _FORBIDDEN.search(path[-1]) or not path[-1]]
    if wrong:
        raise SchemaError(
            f"table {table}: expected names of columns without blanks, line ends, tabs and the letters ,;{{}}()= which "
            f"Delta does not allow, got {', '.join(map(repr, wrong))}; tier the topic to Iceberg"
        )
    _check_distinct([*present, *columns], table)


def _check_distinct(columns: Iterable[pa.Field], table: str) -> None:
    """Delta does not tell capital letters from small ones."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for path in paths_of(columns):
        key = tuple(name.lower() for name in path)
        if seen.setdefault(key, path) != path:
            raise SchemaError(
                f"table {table}: expected names of columns that differ in more than capital letters, as Delta does not "
                f"tell them apart, got {'.'.join(seen[key])!r} and {'.'.join(path)!r}; tier the topic to Iceberg"
            )
