"""Partition fields of a Delta table. Pure.

Delta partitions by columns and knows no transforms. Values of these columns are in the log and not in files:

    field                 column                           values
    item                  item itself                      the column's own
    day(__publishTime)    publishTime_day, a date          2026-01-31
    hour(__publishTime)   publishTime_hour, a string       2026-01-31-08, in UTC
    month(__publishTime)  publishTime_month, a string      2026-01
    year(__publishTime)   publishTime_year, an int         2026

Where the topic has a column of that name, a number follows: publishTime_day_2. Hours, days and months outside the years
1 to 9999 are null. Times of day and intervals are longs in Delta tables (`delta_leaf`), and so are their values here.
A column for a transform is the table's, and not the topic's: our readers leave it out, other engines see it and skip
files by it.

Delta cannot tell an empty text from null here, nor a moment without its engine's time zone; so rows cannot be apart
by timestamps as they are, nor by bytes. A file of rows whose text is empty is refused, and so is one of rows whose date
is outside the years 1 to 9999, which engines read in different ways or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import OptionError, SchemaError
from pyspark_pulsar.history.columnar.layout import IDENTITY_TRANSFORM, PartitionField, PartitionKey

PARTITIONED_BY: Final = "pulsar.partitioned-by"
"""The table's property that holds the partition fields, as a JSON list."""
_TYPES: Final = {"hour": pa.string(), "day": pa.date32(), "month": pa.string(), "year": pa.int32()}


def is_own_column(field: PartitionField) -> bool:
    """Whether the column is the topic's."""
    return field.transform == IDENTITY_TRANSFORM


def check_partition_field(field: PartitionField, columns: pa.Schema) -> None:
    """Raises `OptionError` for a field that the columns do not have, or that Delta cannot partition by."""
    field.check(columns)
    kind = columns.field(field.source).type
    if is_own_column(field) and (types.is_timestamp(kind) or types.is_binary(kind)):
        instead = "hour, day, month or year of it" if types.is_timestamp(kind) else "another column"
        raise OptionError(
            f"partition field {field}: expected a column with numbers, dates or texts, as Delta writes values of "
            f"{kind} in more than one way; choose {instead}"
        )


def table_columns(columns: pa.Schema, fields: Sequence[PartitionField], table: str) -> pa.Schema:
    """Those of the topic and, behind them, those of the partition. Raises `SchemaError` for two of one name."""
    further = [
        pa.field(field.column, _TYPES[field.transform]) for field in fields if not is_own_column(field)
    ]
    names = {name.lower() for name in columns.names}
    for column in further:
        if column.name.lower() in names:
            raise SchemaError(
                f"table {table}: expected columns with names of their own, got {column.name!r} twice, as a column of "
                f"the topic and of the partition; choose another partition"
            )
        names.add(column.name.lower())
    return pa.schema([*columns, *further])


def topic_columns(columns: pa.Schema, fields: Sequence[PartitionField]) -> pa.Schema:
    """Of a table's columns, those of the topic."""
    further = {field.column for field in fields if not is_own_column(field)}
    return pa.schema([column for column in columns if column.name not in further])


def file_columns(columns: pa.Schema, fields: Sequence[PartitionField]) -> pa.Schema:
    """Of a table's columns, those that its files hold."""
    apart = {field.column for field in fields}
    return pa.schema([column for column in columns if column.name not in apart])


def partition_values(
    fields: Sequence[PartitionField], key: PartitionKey, table: str
) -> dict[str, str | None]:
    """Return the partition values of an add action for a file whose rows have this key.

    Raises:
        SchemaError: A value is an empty text, or a date that Delta does not have.

    """
    values = {field.column: field.text(value) for field, value in zip(fields, key, strict=True)}
    for field, value in zip(fields, key, strict=True):
        text = values[field.column]
        if text == "":
            raise SchemaError(
                f"table {table}: expected texts that are not empty in partition column {field.column!r}, got an empty "
                f"one, which Delta cannot tell from null; drop the tier and choose another partition"
            )
        if text is None and value is not None and is_own_column(field):
            raise SchemaError(
                f"table {table}: expected dates of the years 1 to 9999 in partition column {field.column!r}, got one "
                f"that is {value} days after 1970-01-01; drop the tier and choose day({field.source})"
            )
    return values


def constants(fields: Sequence[PartitionField], values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What `DataFile.constants` holds, from the values of a file's partition columns."""
    return tuple((field.source, values.get(field.source)) for field in fields if is_own_column(field))


def to_json(fields: Sequence[PartitionField]) -> str:
    """For the property `PARTITIONED_BY`."""
    return json.dumps([str(field) for field in fields])


def from_json(text: str | None, names: Sequence[str], columns: pa.Schema) -> tuple[PartitionField, ...]:
    """Return the partition fields of a table.

    Args:
        text: The property `PARTITIONED_BY`.
        names: The table's partition columns.
        columns: The table's columns.

    Raises:
        ValueError: The fields are not those of the columns.

    """
    fields = () if text is None else tuple(PartitionField.parse(field) for field in json.loads(text))
    named = tuple(
        field if field.column == name else replace(field, label=name)
        for field, name in zip(fields, names, strict=True)
    )
    if [field.column for field in named] != list(names):
        raise ValueError(f"expected partition fields of the columns {names}, got {text}")
    return tuple(_typed(field, columns) for field in named)


def _typed(field: PartitionField, columns: pa.Schema) -> PartitionField:
    position = columns.get_field_index(field.source)
    return field if position < 0 else replace(field, kind=columns.field(position).type)
