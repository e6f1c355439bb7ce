"""A counter of rows in a topic's table, so that limits are exact. `BacklogCounter` counts all other messages.

Driver only. The ledgers of a table's rows may no longer exist, so these messages can be counted only in the table. The
counter reads only the columns with the positions, and only as many rows as the share allows. The stored bytes of a row
are computed as the bytes of its files divided by their number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pyarrow as pa

from pyspark_pulsar.codec.backlog import UNLIMITED, CountedRange
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.history.columnar.layout import IDENTITY
from pyspark_pulsar.history.columnar.reading.merge import position_at
from pyspark_pulsar.history.columnar.reading.request import RowRequest
from pyspark_pulsar.history.columnar.reading.row_groups import RowRange
from pyspark_pulsar.history.columnar.reading.rows import TableReader
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.read.microbatch.admission.allowance import MeasureRequest
from pyspark_pulsar.read.planning.tables.file_range import FileRange
from pyspark_pulsar.read.planning.tables.known_tables import KnownTables
from pyspark_pulsar.schema.metadata_columns import FIELDS
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.read_schema import ReadSchema

_POSITIONS: Final = ReadSchema(PayloadSchema("bytes"), pa.schema([FIELDS[IDENTITY]]), pa.schema([]))
_BATCH_ROWS: Final = 10_000


def count_rows(tables: KnownTables, request: MeasureRequest, published_from: int | None) -> CountedRange:
    """Return the longest part of the request that its share allows. The table must contain the whole request.

    Rows that were published before `published_from` (Unix milliseconds) are not counted.

    Raises:
        ColumnsUnavailable: The table's files cannot be read.

    """
    window = TimeWindow(published_from=published_from)
    records, size = request.share.records, float(request.share.size)
    taken, taken_size = 0, 0.0
    for part in tables.ranges(request.partition, request.start, request.end, window):
        row_bytes = _row_bytes(part)
        for batch in _positions(part, request, window):
            by_size = (
                UNLIMITED if size >= UNLIMITED else int(max(0.0, size - taken_size) / max(row_bytes, 1e-9))
            )
            room = min(records - taken, by_size)
            if request.at_least_one and taken == 0:
                room = max(room, 1)
            if room < batch.num_rows:
                end = position_at(batch, room)
                return CountedRange(end, taken + room, round(taken_size + room * row_bytes))
            taken, taken_size = taken + batch.num_rows, taken_size + batch.num_rows * row_bytes
    return CountedRange(request.end, taken, round(taken_size))


def _positions(part: FileRange, request: MeasureRequest, window: TimeWindow) -> Iterator[pa.RecordBatch]:
    location = part.location
    rows = RowRequest(_POSITIONS, RowFilter(window), "PERMISSIVE", _BATCH_ROWS)
    reader = TableReader(location.table, rows, request.partition)
    wanted = RowRange(request.partition.index, part.start, part.end)
    with closing(reader.rows(location.files, wanted)) as batches:
        for batch in batches:
            if batch.rows is not None:
                yield batch.rows


def _row_bytes(part: FileRange) -> float:
    files = part.location.files
    return sum(file.size for file in files) / max(1, sum(file.rows for file in files))
