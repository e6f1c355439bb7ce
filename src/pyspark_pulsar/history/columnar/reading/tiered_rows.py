"""Conversion of rows of data files to the columns of a read. Executor only.

The conversion of a row depends on the schema with which the row was written. Usually, a column of the read is a column
of the table (`columns.resolution`). If the table's columns do not contain the values directly, the columns of each row
are encoded as a payload. The read then decodes this payload like a kept payload (`kept_payloads`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar.codec.payload_rows import NEEDED_COLUMNS, PayloadRows
from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.columns.absent_values import NULL, Absent, absent_columns
from pyspark_pulsar.history.columnar.columns.field_matches import by_name, stored_name
from pyspark_pulsar.history.columnar.columns.projection import ColumnProjection, FieldIndex, constant
from pyspark_pulsar.history.columnar.columns.resolution import Resolution, resolve
from pyspark_pulsar.history.columnar.layout import IDENTITY, PAYLOAD_COLUMN, TIERED_BY
from pyspark_pulsar.history.columnar.reading.request import RowRequest, TableRows
from pyspark_pulsar.history.columnar.reading.row_groups import RowGroup
from pyspark_pulsar.history.columnar.tiered_schema import TieredSchema, parse_tiered_schema
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.metadata_columns import TOMBSTONE
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.primitive import RECORD_TYPES, VALUE_COLUMN
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_VALUE
from pyspark_pulsar.schema.read_schema import resolve_read_schema

IS_DECODED: Final = "__isDecoded"
"""The name of a column that is true for rows whose values are decoded from `PAYLOAD_COLUMN`.

In these rows, a null payload is decoded as a null value.
"""
_SIZE: Final = "__messageSize"
_KEY: Final = "__key"
_RECORDS: Final = frozenset([*RECORD_TYPES.values(), PROTOBUF_VALUE])


class TieredRows:
    """A converter for rows of one topic partition. Used by one task."""

    def __init__(self, table: TableRows, request: RowRequest, partition: TopicPartition) -> None:
        self._table = table
        self._partition = partition
        self._reader = request.schema
        self._batch_rows = request.batch_rows
        self._absent = absent_columns(request.schema.value)
        self._resolutions: dict[int, Resolution] = {}
        self._numbers: dict[tuple[str, int], tuple[int, ...]] = {}
        """The schema ids of the rows of each row group, by the file's URL and the row group's index."""
        self._payloads: PayloadRows | None = None

    def decodes(self, group: RowGroup, names: frozenset[str]) -> bool:
        """Return whether the columns `names` of some row of a row group must be decoded from a payload.

        Raises:
            ColumnsUnavailable: The table does not determine one of the columns.

        """
        if not names & set(self._reader.value_columns.names):
            return False
        return any(self._resolution(number, names).columns is None for number in self._schemas(group))

    def batches(self, group: RowGroup, fields: Mapping[str, pa.Field]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a row group, in the order of the row group.

        Args:
            group: The row group.
            fields: The columns of the batches, by name.

        Raises:
            ColumnsUnavailable: The table does not determine one of the columns, or another engine has dropped a column.

        """
        numbers, file = self._schemas(group), FieldIndex(group.file.parquet.schema_arrow)
        try:
            rows = {number: self._rows(number, group, fields, file) for number in numbers}
        except ValueError as fault:
            raise self._unavailable(group, f"the columns that were tiered, got {fault}") from None
        sources = {source: None for one in rows.values() for source in one.sources}
        tiered_by = self._source(file, TIERED_BY) if len(rows) > 1 else None
        if tiered_by is not None:
            sources[tiered_by] = None
        for batch in group.batches(list(sources) or [self._source(file, IDENTITY)], self._batch_rows):
            if tiered_by is None:
                yield from (one.convert(batch) for one in rows.values())
            else:
                yield _combine_rows(batch, batch.column(tiered_by), rows)

    def _schemas(self, group: RowGroup) -> tuple[int, ...]:
        """Return the ids of the schemas with which the row group's rows were written. Raises `ColumnsUnavailable`."""
        place = (group.file.file.url, group.index)
        if place not in self._numbers:
            bounds = group.tiered_by
            if bounds is not None and bounds[0] == bounds[1]:
                numbers: tuple[int | None, ...] = bounds[:1]
            else:
                # Another engine has combined rows of several schemas in this row group.
                name = self._source(FieldIndex(group.file.parquet.schema_arrow), TIERED_BY)
                column = group.file.parquet.read_row_group(group.index, [name], use_threads=False).column(0)
                numbers = tuple(column.unique().to_pylist())
            unknown = [number for number in numbers if number not in self._table.schemas]
            if unknown:
                raise self._unavailable(
                    group, f"ids of schemas of the table in column {TIERED_BY}, got {unknown[0]}"
                )
            self._numbers[place] = tuple(number for number in numbers if number is not None)
        return self._numbers[place]

    def _unavailable(self, group: RowGroup, expected: str) -> ColumnsUnavailable:
        return ColumnsUnavailable(
            f"{self._partition}: expected data file {group.file.file.url} of table {self._table.name} to contain "
            f"{expected}; undo the change that another engine made, read other columns, or drop the table with "
            f"pyspark-pulsar tier drop and tier again"
        )

    def _tiered(self, number: int) -> TieredSchema:
        return parse_tiered_schema(self._table.schemas[number], f"table {self._table.name}")

    def _resolution(self, number: int, names: frozenset[str]) -> Resolution:
        if number not in self._resolutions:
            tiered = self._tiered(number)
            self._resolutions[number] = resolve(tiered.payload, tiered.stored_values, self._reader.value)
        found = self._resolutions[number]
        unclear = sorted(found.unclear.keys() & names)
        if unclear:
            raise ColumnsUnavailable(
                f"{self._partition}: expected table {self._table.name} to determine column {unclear[0]} for rows of an "
                f"earlier schema, but {found.unclear[unclear[0]]}; read other columns, read with the earlier schema "
                f"(option schema), or set readFrom=broker while the broker has the messages"
            )
        return found

    def _rows(
        self, number: int, group: RowGroup, fields: Mapping[str, pa.Field], file: FieldIndex
    ) -> _SchemaRows:
        tiered, names = self._tiered(number), frozenset(fields)
        values = names & set(self._reader.value_columns.names)
        columns = self._resolution(number, names).columns if values else pa.schema([])
        stored = _Columns(file, by_name(tiered.stored), dict(group.file.file.constants))
        rows = _SchemaRows(tiered.payload, is_decoded=columns is None)
        found = _Columns(file, by_name(columns or []), stored.constants)
        for name, one in fields.items():
            if name == IS_DECODED:
                rows.projections[name] = None
            elif name in values:
                rows.projections[name] = found.projection(one, self._absent.get(name, NULL))
            else:
                rows.projections[name] = stored.projection(one)
        if rows.is_decoded:
            rows.payloads = self._payloads = self._payloads or self._payload_rows()
            rows.tiered = {column.name: stored.projection(column) for column in tiered.values}
            rows.further[_KEY] = stored.projection(metadata_columns.FIELDS[_KEY])
        elif tiered.payload.value_type in _RECORDS:
            rows.defaults = [
                name
                for name in values
                if name not in found.columns and self._absent.get(name, NULL).value is not None
            ]
        if rows.is_decoded or rows.defaults:
            rows.further[_SIZE] = stored.projection(metadata_columns.FIELDS[_SIZE])
        return rows

    def _payload_rows(self) -> PayloadRows:
        """Return a converter for reads without a schema. Such a read returns the payload of a message as the value."""
        topic = str(self._partition.topic)
        return PayloadRows(
            resolve_read_schema(None, topic=topic),
            topic=topic,
            partition=self._partition.index,
            fetch_schema=lambda _: None,
        )

    def _source(self, file: FieldIndex, name: str) -> str:
        """Return the name in a file of a column that all schemas have, such as `TIERED_BY`.

        Raises `ColumnsUnavailable` if the file lacks the column.
        """
        for text in self._table.schemas.values():
            column = parse_tiered_schema(text, f"table {self._table.name}").stored.field(name)
            found = file.matching(column)
            if found is not None:
                return str(found[1].name)
        raise ColumnsUnavailable(
            f"{self._partition}: expected table {self._table.name} to have the rows' schemas in its properties, "
            f"and column {name} in its files, got neither; restore the table, or drop the table with "
            f"pyspark-pulsar tier drop and tier the topic again"
        )


@dataclass(frozen=True)
class _Columns:
    """The columns of a table, and where one data file stores the columns."""

    file: FieldIndex
    columns: Mapping[str, pa.Field]
    """The table's columns, by the reader's names."""
    constants: Mapping[str, Any]
    """The values of columns that the file omits because all rows have the same value, by the table's column names."""

    def projection(self, target: pa.Field, absent: Absent = NULL) -> ColumnProjection:
        """Return the conversion of a file's column to the reader's column `target`.

        Raises the ValueError of `ColumnProjection`.
        """
        column = self.columns.get(target.name)
        if column is not None and stored_name(column) in self.constants:
            absent = constant(target, column, self.constants[stored_name(column)])
            column = None
        return ColumnProjection(target, column, self.file, absent)


@dataclass
class _SchemaRows:
    """A converter for the rows of one file that were written with one schema."""

    payload: PayloadSchema
    """The schema with which the rows were written."""
    is_decoded: bool
    """True if the values of all rows are decoded from payloads."""
    projections: dict[str, ColumnProjection | None] = field(default_factory=dict)
    """The conversions to the columns of the read, by column name. The column `IS_DECODED` has no conversion (None)."""
    tiered: dict[str, ColumnProjection] = field(default_factory=dict)
    """The conversions to the value columns of `payload`, by column name. The mapping is empty if `is_decoded` is false.
    """
    further: dict[str, ColumnProjection] = field(default_factory=dict)
    """The conversions to metadata columns that `convert` needs in addition to `projections`, by column name."""
    payloads: PayloadRows | None = None
    defaults: list[str] = field(default_factory=list)
    """The columns of the read that contain the default of a record's field. In rows of null values, these columns are
    null.
    """

    @property
    def sources(self) -> list[str]:
        """Return the names of the columns that must be read from the file."""
        all_of_them = [*self.projections.values(), *self.tiered.values(), *self.further.values()]
        return [one.source for one in all_of_them if one is not None and one.source is not None]

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = {name: one.convert(batch) for name, one in self.projections.items() if one is not None}
        if self.defaults:
            is_null = pc.equal(self.further[_SIZE].convert(batch), 0)
            for name in self.defaults if pc.any(is_null).as_py() else ():
                columns[name] = pc.if_else(is_null, pa.scalar(None, columns[name].type), columns[name])
        if IS_DECODED in self.projections:
            is_kept = pc.is_valid(columns[PAYLOAD_COLUMN])
            columns[IS_DECODED] = is_kept
            if self.is_decoded:
                columns[PAYLOAD_COLUMN] = self._encode_missing(batch, columns[PAYLOAD_COLUMN], is_kept)
                columns[IS_DECODED] = pa.repeat(pa.scalar(value=True), batch.num_rows)
        return pa.RecordBatch.from_arrays(
            [columns[name] for name in self.projections], names=list(self.projections)
        )

    def _encode_missing(self, batch: pa.RecordBatch, payloads: pa.Array, is_kept: pa.Array) -> pa.Array:
        """Return a payload for each row. If a row has no kept payload, its payload is encoded from its columns."""
        rest = pc.invert(is_kept)
        rows = batch.filter(rest)
        if self.payloads is None or not rows.num_rows:
            return payloads
        columns = {name: one.convert(rows) for name, one in self.tiered.items()}
        columns[_KEY] = self.further[_KEY].convert(rows)
        columns |= {
            name: pa.nulls(rows.num_rows, metadata_columns.FIELDS[name].type)
            for name in NEEDED_COLUMNS
            if name != _KEY
        }
        if self._is_record:
            # A message with size 0 and without a kept payload is a null value.
            columns[TOMBSTONE] = pc.equal(self.further[_SIZE].convert(rows), 0)
        table = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        made = self.payloads.decode_columns(table, self.payload).column(VALUE_COLUMN)
        return pc.replace_with_mask(payloads, rest, made)

    @property
    def _is_record(self) -> bool:
        pair = self.payload.pair
        if pair is None:
            return self.payload.value_type in _RECORDS
        return pair.separated and pair.value.value_type in _RECORDS


def _combine_rows(
    batch: pa.RecordBatch, tiered_by: pa.Array, rows: Mapping[int, _SchemaRows]
) -> pa.RecordBatch:
    """Convert a batch whose rows were written with several schemas. The rows keep their order."""
    parts, places = [], []
    for number, one in rows.items():
        chosen = pc.indices_nonzero(pc.equal(tiered_by, number))
        parts.append(one.convert(batch.take(chosen)))
        places.append(chosen)
    order = pc.sort_indices(pa.concat_arrays(places))
    (ordered,) = pa.Table.from_batches(parts).take(order).combine_chunks().to_batches() or parts[:1]
    return ordered
