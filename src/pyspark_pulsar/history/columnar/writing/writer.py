"""A writer for the rows of a split. The writer runs in the process that reads the split.

This process is an executor, or a process of tiering without Spark.

All rows of a file have the same topic partition and the same partition key of the table, such as one day. If the table
has no sort columns, the rows are in the order of positions. With sort columns, the rows of each row group are sorted by
the sort columns.

A file contains either complete ledgers of its split, or a part of one ledger. The table's statistics record only the
smallest and the largest ledger and entry of a file. Because a file never contains several incomplete ledgers, these
statistics show exactly where one file ends and the next file begins.

The name of a file is `{partition}-{ledger}-{entry}-{uuid}.parquet`, with the position of the first row. A failed task
can leave files that no commit names. Each attempt of a task writes files with different names, so no file is ever
overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyspark_pulsar.errors import ColumnsUnavailable, SchemaError
from pyspark_pulsar.history.columnar.columns.projection import ColumnProjection, FieldIndex
from pyspark_pulsar.history.columnar.layout import (
    BY_POSITION,
    IDENTITY,
    ORDER_KEY,
    TIERED_BY,
    FileLayout,
    PartitionKey,
    by_key,
)
from pyspark_pulsar.history.columnar.redaction import one_line, secret_values
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.history.columnar.writing.encoding import ROW_GROUP_ROWS, Encodings, encodings_of
from pyspark_pulsar.history.columnar.writing.footer import Fractions, Path, fractions_of
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.runtime import uuid

_MOST_OPEN_FILES: Final = 8
"""The maximum number of open files. Each partition key has at most one open file.

Usually only one file is open, because publish times rarely decrease.
"""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A complete file that no commit names yet. Picklable."""

    url: str
    partition: TopicPartition
    key: PartitionKey
    """The partition key of all rows of the file."""
    size: int
    """The size of the file in bytes."""
    footer: pq.FileMetaData
    fractions: Mapping[Path, Fractions] = field(default_factory=dict)
    """The statistics of floating-point leaves outside lists and maps. The footer does not contain these statistics."""

    @property
    def rows(self) -> int:
        return int(self.footer.num_rows)


@dataclass(slots=True)
class _OpenFile:
    url: str
    sink: Any
    writer: pq.ParquetWriter
    footers: list[pq.FileMetaData]
    """The footer of the file. The list is empty until the writer is closed."""
    ledgers: set[int]
    is_part: bool
    """True if the file contains a part of one ledger, and other files contain the rest of the ledger."""
    pending: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    fractions: dict[Path, Fractions] = field(default_factory=dict)


class DataFileWriter:
    """A writer for the rows of one split. Used by one task."""

    def __init__(self, layout: FileLayout, storage: TableStorage, partition: TopicPartition) -> None:
        self._layout = layout
        self._storage = storage
        self._partition = partition
        self._encodings: Encodings | None = None
        self._projections: list[ColumnProjection] | None = None
        self._open: dict[PartitionKey, _OpenFile] = {}
        self._created_urls: list[str] = []
        self._ledger = -1
        self._split_keys: set[PartitionKey] = set()
        """The partition keys of closed files that contain rows of the current ledger."""

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[WrittenFile]:
        """Write batches, and yield each file when it is complete. The last files are complete after the last batch.

        Raises:
            ColumnsUnavailable: A file cannot be written.
            SchemaError: A value does not fit into the table's columns.

        """
        with ExitStack() as cleanup:
            cleanup.callback(self._abandon)
            for batch in map(self._with_schema_id, batches):
                for ledger, rows in by_ledger(batch):
                    yield from self._close_before_ledger(ledger)
                    yield from self._add_rows(ledger, rows)
            for key in list(self._open):
                yield self._close(key)
            cleanup.pop_all()

    def _with_schema_id(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Append the column with the id of the schema with which the rows are written."""
        number = self._layout.tiered_by
        if number is None:
            return batch
        return batch.append_column(TIERED_BY, pa.repeat(pa.scalar(number, pa.int64()), batch.num_rows))

    def _close_before_ledger(self, ledger: int) -> Iterator[WrittenFile]:
        """Close, if `ledger` is a new ledger, the files with a part of the previous ledger, and all full files."""
        if ledger == self._ledger:
            return
        for key, file in list(self._open.items()):
            if file.is_part or self._is_full(file):
                yield self._close(key)
        self._ledger, self._split_keys = ledger, set()

    def _add_rows(self, ledger: int, batch: pa.RecordBatch) -> Iterator[WrittenFile]:
        for key, rows in by_key(batch, self._layout.partition_fields):
            if key not in self._open and len(self._open) == _MOST_OPEN_FILES:
                yield self._close(next(iter(self._open)))
            file = self._open.pop(key, None) or self._create_file(key, rows)
            self._open[key] = file  # Move the file to the end, so the first file is the least recently used.
            file.ledgers.add(ledger)
            file.pending.append(rows)
            file.rows += rows.num_rows
            if file.rows >= ROW_GROUP_ROWS:
                self._flush(file)
            if self._is_full(file) and file.ledgers == {ledger}:
                yield self._close(key)

    def _is_full(self, file: _OpenFile) -> bool:
        return bool(file.sink.tell() >= self._layout.file_bytes)

    def _create_file(self, key: PartitionKey, rows: pa.RecordBatch) -> _OpenFile:
        if self._encodings is None:
            self._encodings = encodings_of(self._convert_rows(rows))
        first = position_of(rows, 0)
        name = f"{self._partition.index}-{first.ledger}-{first.entry}-{uuid.uuid4().hex}.parquet"
        url = f"{self._layout.folder_of(key)}/{name}"
        footers: list[pq.FileMetaData] = []
        arguments = self._encodings.writer_arguments()
        schema = self._layout.schema
        if not self._layout.sort_columns:
            schema = schema.with_metadata({**(schema.metadata or {}), ORDER_KEY: BY_POSITION})
        self._created_urls.append(url)
        with self._storing(url):
            sink = self._storage.open_output(url)
            writer = pq.ParquetWriter(sink, schema, metadata_collector=footers, **arguments)
        return _OpenFile(url, sink, writer, footers, set(), key in self._split_keys)

    def _flush(self, file: _OpenFile) -> None:
        if not file.pending:
            return
        rows = pa.Table.from_batches([self._convert_rows(batch) for batch in file.pending])
        sorted_by = [name for name in self._layout.sort_columns if name in rows.column_names]
        if sorted_by:
            rows = rows.sort_by([(name, "ascending") for name in sorted_by])
        for path, collected in fractions_of(rows).items():
            file.fractions[path] = (
                file.fractions[path].join(collected) if path in file.fractions else collected
            )
        with self._storing(file.url):
            file.writer.write_table(rows, row_group_size=ROW_GROUP_ROWS)
        file.pending.clear()
        file.rows = 0

    def _convert_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert a batch to the table's columns. Raises `SchemaError`."""
        try:
            if self._projections is None:
                fields = FieldIndex(batch.schema)
                self._projections = [
                    ColumnProjection(column, batch.schema.field(column.name), fields)
                    for column in self._layout.schema
                ]
            columns = [projection.convert(batch) for projection in self._projections]
            return pa.RecordBatch.from_arrays(columns, schema=self._layout.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, KeyError) as fault:
            raise SchemaError(
                f"{self._partition}: expected values that fit into the table's columns, got others ({fault}); remove "
                f"the topic from tiering"
            ) from None

    def _close(self, key: PartitionKey) -> WrittenFile:
        file = self._open[key]
        self._split_keys.add(key)
        self._flush(file)
        with self._storing(file.url):
            file.writer.close()
            size = file.sink.tell()
            file.sink.close()
        del self._open[key]
        (footer,) = file.footers
        return WrittenFile(file.url, self._partition, key, size, footer, file.fractions)

    @contextmanager
    def _storing(self, url: str) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            secrets = secret_values(dict(self._storage.settings))
            raise ColumnsUnavailable(
                f"{self._partition}: expected to write data file {url}, got {one_line(fault, secrets)}. "
                f"The round is not committed; check the storage, and run tiering again"
            ) from None

    def _abandon(self) -> None:
        """Delete all files of a failed write, because files that no commit names would accumulate."""
        for file in self._open.values():
            with suppress(OSError, pa.ArrowException, RuntimeError):
                file.writer.close()
            # Without this line, the garbage collector would close the writer again, and the second close would fail.
            file.writer.is_open = False
            with suppress(OSError):
                file.sink.close()
        for url in self._created_urls:
            with suppress(OSError):
                system, path = self._storage.locate(url)
                system.delete_file(path)


def by_ledger(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield each ledger id with the rows of the ledger. The rows of the batch must be in the order of positions."""
    if batch.num_rows == 0:
        return
    ledgers = batch.column(IDENTITY).field("ledger")
    start = 0
    for run in pc.run_end_encode(ledgers, run_end_type=pa.int32()).values.to_pylist():
        count = pc.sum(pc.equal(ledgers.slice(start), run)).as_py()
        yield run, batch.slice(start, count)
        start += count


def position_of(batch: pa.RecordBatch, row: int) -> Position:
    """Return the position of the message in a row."""
    identity = batch.column(IDENTITY)[row].as_py()
    return Position(identity["ledger"], identity["entry"], max(identity["batchIndex"], 0))
