"""A reader of the rows of a range from data files. Executor only.

The reader returns the same rows as a read of the range from a broker.

A row group that is completely in the range and overlaps no other row group is read alone, with only the query's
columns. All other row groups are merged by position (module `merge`). Rows are converted to the reader's schema
(`tiered_rows`), and filtered by the same rules as messages in the kernel. Payloads that the table keeps are decoded
with the reader's schema (`kept_payloads`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar.codec.payload_rows import BAD_COLUMN
from pyspark_pulsar.codec.row_filter import SLOT_COLUMNS, within_slots
from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.layout import IDENTITY, PARTITION, PAYLOAD_COLUMN
from pyspark_pulsar.history.columnar.reading.kept_payloads import PAYLOAD_FIELDS, KeptPayloads
from pyspark_pulsar.history.columnar.reading.merge import merge_groups
from pyspark_pulsar.history.columnar.reading.request import RowRequest, TableRows
from pyspark_pulsar.history.columnar.reading.row_groups import (
    OpenFile,
    RowGroup,
    RowRange,
    group_overlapping,
    row_groups,
)
from pyspark_pulsar.history.columnar.reading.tiered_rows import TieredRows
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.schema import metadata_columns

_PUBLISHED: Final = "__publishTime"
_HAPPENED: Final = "__eventTime"
_KEY: Final = "__key"


@dataclass(frozen=True, slots=True)
class RowBatch:
    """A batch of rows of a range, or a report of the position that the read has reached."""

    rows: pa.RecordBatch | None
    """The rows in the query's output schema, at least one; None if the batch only reports `reached`."""
    reached: Position | None
    """The position at which the next rows begin; None if this position is unknown."""


class TableReader:
    """A reader for ranges of one topic partition. Used by one task."""

    def __init__(self, table: TableRows, request: RowRequest, partition: TopicPartition) -> None:
        """Resolve the query's columns.

        Raises:
            SchemaError: The table's columns do not fit the query.

        """
        self._table = table
        self._request = request
        self._where = str(partition)
        output, row_filter = request.schema.output_schema, request.row_filter
        window = row_filter.window
        fields = {field.name: field for field in output if field.name != request.schema.corrupt_column}
        filters = {
            _PUBLISHED: window.bounds_publish_times,
            _HAPPENED: window.event_before is not None or row_filter.event_from is not None,
            _KEY: row_filter.keys is not None,
        }
        needed = [name for name, is_needed in filters.items() if is_needed]
        for name in [*needed, *(SLOT_COLUMNS if row_filter.slots is not None else ())]:
            fields.setdefault(name, metadata_columns.FIELDS[name])
        self._fields = fields
        self._rows = TieredRows(table, request, partition)
        self._payloads: KeptPayloads | None = None
        if fields.keys() & set(request.schema.value_columns.names):
            self._payloads = KeptPayloads(request, partition)

    def rows(self, files: Sequence[DataFile], wanted: RowRange) -> Generator[RowBatch, None, None]:
        """Yield all rows of the range that the query selects, in the order of positions.

        If option `mode` is `FAILFAST` and a message cannot be decoded, the method raises the errors of `EntryDecoder`.

        Args:
            files: The data files that may have rows of the range.
            wanted: The range.

        Raises:
            ColumnsUnavailable: A file cannot be read.
            SchemaError: The table's columns do not fit the query.

        """
        opening: DataFile | None = None
        try:
            with ExitStack() as opened:
                groups: list[RowGroup] = []
                for opening in files:
                    groups += row_groups(OpenFile.open(self._table.storage, opening, opened), wanted)
                opening = None
                clusters = group_overlapping(groups)
                for cluster, following in zip(clusters, [*clusters[1:], None], strict=True):
                    for batch in self._cluster(cluster, wanted):
                        yield from (RowBatch(rows, None) for rows in self._output(batch))
                    yield RowBatch(None, _next_position(cluster, following, wanted))
            if self._payloads is not None:
                self._payloads.log_bad_rows()
        except (OSError, pa.ArrowException) as fault:
            raise ColumnsUnavailable(
                f"{self._where}, from {wanted.start} up to {wanted.end}: expected to read "
                f"{'a data file' if opening is None else opening.url} of table {self._table.name}, got "
                f"{type(fault).__name__}: {_first_line(fault)}; check the storage, or restore "
                f"the file"
            ) from None

    def _cluster(self, cluster: Sequence[RowGroup], wanted: RowRange) -> Iterator[pa.RecordBatch]:
        only, fields = cluster[0], self._fields
        names = frozenset(fields)
        if self._payloads is not None and any(
            group.keeps_payloads or self._rows.decodes(group, names) for group in cluster
        ):
            fields = {**PAYLOAD_FIELDS, **fields}
        if len(cluster) == 1 and only.is_within and only.file.is_ordered:
            return self._rows.batches(only, fields)
        needed = {
            **fields,
            IDENTITY: metadata_columns.FIELDS[IDENTITY],
            PARTITION: metadata_columns.FIELDS[PARTITION],
        }
        return merge_groups(cluster, wanted, lambda group: self._rows.batches(group, needed))

    def _output(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Filter and decode rows, and yield them in the query's output schema, in batches of 1 to `batch_rows` rows."""
        kept = self._filter_rows(batch)
        if self._payloads is not None and PAYLOAD_COLUMN in kept.schema.names:
            kept = self._payloads.decode(kept)
        output = self._request.schema.output_schema
        columns = [self._column(kept, field) for field in output]
        rows = pa.RecordBatch.from_arrays(columns, schema=output) if columns else kept
        most = self._request.batch_rows
        yield from (rows.slice(start, most) for start in range(0, rows.num_rows, most))

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name != self._request.schema.corrupt_column:
            return batch.column(field.name)
        return (
            batch.column(BAD_COLUMN) if BAD_COLUMN in batch.schema.names else pa.nulls(len(batch), field.type)
        )

    def _filter_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        row_filter, window = self._request.row_filter, self._request.row_filter.window
        masks = []
        if window.published_from is not None:
            masks.append(pc.greater_equal(batch.column(_PUBLISHED), _instant(window.published_from)))
        if window.published_before is not None:
            masks.append(pc.less(batch.column(_PUBLISHED), _instant(window.published_before)))
        if window.event_before is not None:
            happened = batch.column(_HAPPENED)
            masks.append(pc.fill_null(pc.less(happened, _instant(window.event_before)), fill_value=True))
        if row_filter.event_from is not None:
            happened = batch.column(_HAPPENED)
            masks.append(
                pc.fill_null(pc.greater_equal(happened, _instant(row_filter.event_from)), fill_value=False)
            )
        if row_filter.keys is not None:
            masks.append(pc.is_in(batch.column(_KEY), value_set=pa.array(row_filter.keys, pa.binary())))
        if row_filter.slots is not None:
            masks.append(within_slots(batch, row_filter.slots))
        for mask in masks[1:]:
            masks[0] = pc.and_(masks[0], mask)
        return batch.filter(masks[0]) if masks else batch


def _next_position(
    cluster: Sequence[RowGroup], following: Sequence[RowGroup] | None, wanted: RowRange
) -> Position | None:
    """Return the earliest position of a row in the clusters after `cluster`, or None if this position is unknown."""
    if following is None:
        return wanted.end
    lasts = [group.last for group in cluster]
    if None in lasts:
        return None
    last = max(last for last in lasts if last is not None)
    next_entry = Position(last.ledger, last.entry + 1)
    return next_entry if next_entry <= following[0].first else None


def _instant(milliseconds: int) -> pa.Scalar:
    return pa.scalar(milliseconds * 1000, pa.timestamp("us", "UTC"))


def _first_line(fault: Exception) -> str:
    return str(fault).splitlines()[0] if str(fault) else "no reason given"
