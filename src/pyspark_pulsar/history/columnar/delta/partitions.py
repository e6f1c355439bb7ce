"""Partition fields of a Delta table. Pure.

A Delta table can be partitioned only by columns, and not by transforms such as `day`. So each transform gets its own
column. The log contains the values of partition columns, and the data files do not:

    field                 column                           values
    item                  item                             the values of the column
    day(__publishTime)    publishTime_day, a date          2026-01-31
    hour(__publishTime)   publishTime_hour, a string       2026-01-31-08, in UTC
    month(__publishTime)  publishTime_month, a string      2026-01
    year(__publishTime)   publishTime_year, an int         2026

If the topic already has a column with the name of a transform's column, the name gets a number, such as
`publishTime_day_2`. Hours, days and months outside the years 1 to 9999 are null. Times of day and intervals are longs
in Delta tables (`delta_leaf`), so partition values of these types are longs too. The column of a transform belongs to
the table and not to the topic. Readers of this package do not return the column. Other engines show the column, and use
the column to skip files.

Delta has no exact form for some partition values. So rows cannot be partitioned by bytes, and timestamps need a
transform, because the time zone of a timestamp depends on the engine. A commit fails if a partition value is an empty
text, because Delta does not distinguish an empty text from null. A commit also fails if a partition value is a date
outside the years 1 to 9999. Engines read such dates differently or not at all.
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
"""The name of the table property that contains the partition fields as a JSON list."""
_TYPES: Final = {"hour": pa.string(), "day": pa.date32(), "month": pa.string(), "year": pa.int32()}


def is_own_column(field: PartitionField) -> bool:
    """Return whether the field's column is a column of the topic."""
    return field.transform == IDENTITY_TRANSFORM


def check_partition_field(field: PartitionField, columns: pa.Schema) -> None:
    """Raise `OptionError` if the source column does not exist, or if Delta cannot partition by its type."""
    field.check(columns)
    kind = columns.field(field.source).type
    if is_own_column(field) and (types.is_timestamp(kind) or types.is_binary(kind)):
        instead = (
            f"hour, day, month or year of {field.source}" if types.is_timestamp(kind) else "another column"
        )
        raise OptionError(
            f"partition field {field}: expected a column of numbers, dates or texts, got {kind}, which Delta writes in "
            f"more than one way; choose {instead}"
        )


def table_columns(columns: pa.Schema, fields: Sequence[PartitionField], table: str) -> pa.Schema:
    """Return the columns of a table: the columns of the topic, followed by one column for each transform.

    Raises:
        SchemaError: Two columns have the same name.

    """
    partition_columns = [
        pa.field(field.column, _TYPES[field.transform]) for field in fields if not is_own_column(field)
    ]
    names = {name.lower() for name in columns.names}
    for column in partition_columns:
        if column.name.lower() in names:
            raise SchemaError(
                f"table {table}: expected distinct column names, got {column.name!r} twice, as a column of the topic "
                f"and as a partition column; choose another partition field"
            )
        names.add(column.name.lower())
    return pa.schema([*columns, *partition_columns])


def topic_columns(columns: pa.Schema, fields: Sequence[PartitionField]) -> pa.Schema:
    """Return the table's columns that also exist in the topic."""
    partition_columns = {field.column for field in fields if not is_own_column(field)}
    return pa.schema([column for column in columns if column.name not in partition_columns])


def file_columns(columns: pa.Schema, fields: Sequence[PartitionField]) -> pa.Schema:
    """Return the table's columns that data files contain. These are all columns except the partition columns."""
    outside = {field.column for field in fields}
    return pa.schema([column for column in columns if column.name not in outside])


def partition_values(
    fields: Sequence[PartitionField], key: PartitionKey, table: str
) -> dict[str, str | None]:
    """Return the partition values of an add action, for a file whose rows have the given partition key.

    Raises:
        SchemaError: A value is an empty text, or a date that Delta cannot store.

    """
    values = {field.column: field.text(value) for field, value in zip(fields, key, strict=True)}
    for field, value in zip(fields, key, strict=True):
        text = values[field.column]
        if text == "":
            raise SchemaError(
                f"table {table}: expected nonempty texts in partition column {field.column!r}, got an empty one, "
                f"which Delta cannot distinguish from null; drop the table with pyspark-pulsar tier drop, and choose "
                f"another partition field"
            )
        if text is None and value is not None and is_own_column(field):
            raise SchemaError(
                f"table {table}: expected dates of the years 1 to 9999 in partition column {field.column!r}, got one "
                f"that is {value} days after 1970-01-01; drop the table with pyspark-pulsar tier drop, and choose the "
                f"partition field day({field.source})"
            )
    return values


def constants(fields: Sequence[PartitionField], values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Compute `DataFile.constants` from the values of a file's partition columns."""
    return tuple((field.source, values.get(field.source)) for field in fields if is_own_column(field))


def to_json(fields: Sequence[PartitionField]) -> str:
    """Return the value of the table property `PARTITIONED_BY`."""
    return json.dumps([str(field) for field in fields])


def from_json(text: str | None, names: Sequence[str], columns: pa.Schema) -> tuple[PartitionField, ...]:
    """Parse the partition fields of a table.

    Args:
        text: The value of the table property `PARTITIONED_BY`; None if the table lacks the property.
        names: The names of the table's partition columns.
        columns: The table's columns.

    Raises:
        ValueError: The fields do not match the partition columns.

    """
    fields = () if text is None else tuple(PartitionField.parse(field) for field in json.loads(text))
    named = tuple(
        field if field.column == name else replace(field, label=name)
        for field, name in zip(fields, names, strict=True)
    )
    if [field.column for field in named] != list(names):
        raise ValueError(f"expected partition fields of the columns {names}, got {text}")
    return tuple(_with_type(field, columns) for field in named)


def _with_type(field: PartitionField, columns: pa.Schema) -> PartitionField:
    position = columns.get_field_index(field.source)
    return field if position < 0 else replace(field, kind=columns.field(position).type)
