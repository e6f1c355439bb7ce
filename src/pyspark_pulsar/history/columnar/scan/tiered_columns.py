"""Checks that Spark's own Parquet scan reads a reader's fields correctly from rows of each stored schema. Pure.

Spark finds columns by their names in files. If a file lacks a column, Spark returns one value for all rows of the file:
the column's default or null. So each schema with which rows were written must either have the reader's fields under the
reader's names, or lack these fields completely. A default other than null is correct only under two conditions:

  * The writer of this package wrote the file. Other engines fill absent columns with null when they rewrite a file.
  * No message is a null value. The fields of a null value are null, and do not have their defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from pyspark_pulsar.history.columnar.columns.absent_values import NULL, Absent
from pyspark_pulsar.history.columnar.columns.field_matches import STORED_NAME, by_name
from pyspark_pulsar.history.columnar.columns.projection import field_id
from pyspark_pulsar.history.columnar.columns.resolution import resolve
from pyspark_pulsar.history.columnar.columns.stored_types import inner_fields, leaves_of
from pyspark_pulsar.history.columnar.table_files import NotScannable, TableFiles
from pyspark_pulsar.history.columnar.tiered_schema import TieredSchema
from pyspark_pulsar.schema.payload import PayloadSchema


def check_tiered(
    columns: Iterable[pa.Field],
    reader: PayloadSchema,
    schemas: Mapping[int, TieredSchema],
    files: TableFiles,
    absent: Mapping[str, Absent],
) -> None:
    """Check that a scan by names returns the value columns of a query.

    Args:
        columns: The value columns that the query needs.
        reader: The reader's schema.
        schemas: The schemas that the table stores, by schema id.
        files: The table's files.
        absent: The values of the reader's columns for rows whose schema lacks the field, by column name.

    Raises:
        NotScannable: A scan by names may return wrong values.

    """
    requested = list(columns)
    for bounds, leaves in files.layouts if requested else ():
        if bounds is None:
            raise NotScannable(
                "the table's metadata does not record with which schemas the rows of some files were tiered"
            )
        present = [tiered for number, tiered in schemas.items() if bounds[0] <= number <= bounds[1]]
        if not present:
            raise NotScannable("the table's properties lack a schema with which rows were tiered")
        for tiered in present:
            _check(requested, reader, tiered, leaves, absent, files.least_size)


def _check(
    requested: Iterable[pa.Field],
    reader: PayloadSchema,
    tiered: TieredSchema,
    leaves: frozenset[int] | None,
    absent: Mapping[str, Absent],
    least_size: int | None,
) -> None:
    values = tiered.stored_values
    resolution = resolve(tiered.payload, values, reader)
    if resolution.columns is None:
        raise NotScannable(
            "the table has rows of an earlier schema; these rows must be decoded with the query's schema"
        )
    found = by_name(resolution.columns)
    is_ours = leaves == _leaf_ids(tiered.stored)
    for column in requested:
        source = found.get(column.name)
        defaults = _absent_values([column], [] if source is None else [source], values, absent)
        if source is not None and (leaves is None or not leaves.issuperset(_leaf_ids([source]))):
            raise NotScannable(f"files lack column {column.name}, which another engine has dropped")
        for default in defaults:
            if default.value is None:
                continue
            if not is_ours:
                raise NotScannable(
                    f"column {column.name} has a default, and other engines have rewritten files"
                )
            if not least_size:
                raise NotScannable(
                    f"column {column.name} has a default, which does not apply to messages without a value"
                )


def _absent_values(
    requested: Iterable[pa.Field],
    found: Iterable[pa.Field],
    stored: Iterable[pa.Field],
    absent: Mapping[str, Absent],
) -> Iterator[Absent]:
    """Yield the value of each field of `requested`, at any depth, that the schema of the rows lacks.

    Raises:
        NotScannable: The files use the name of a field for another field.

    """
    sources, names = by_name(found), {column.name.lower(): column for column in stored}
    for column in requested:
        source, own = sources.get(column.name), absent.get(column.name, NULL)
        if source is None:
            if column.name.lower() in names:
                raise NotScannable(f"column {column.name} has the name of another field in files")
            yield own
            continue
        if STORED_NAME in (source.metadata or {}):
            raise NotScannable(f"column {column.name} has another name in files")
        below = names.get(column.name.lower(), source)
        yield from _absent_values(
            inner_fields(column.type), inner_fields(source.type), inner_fields(below.type), own.members
        )


def _leaf_ids(fields: Iterable[pa.Field]) -> frozenset[int]:
    numbers = map(field_id, leaves_of(fields))
    return frozenset(number for number in numbers if number is not None)
