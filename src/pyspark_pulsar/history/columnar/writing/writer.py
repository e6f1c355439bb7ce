"""Rows of a split to data files, in the process that reads the split. Executor only.

A file holds rows of one topic partition and of one value of the table's partition, such as one day. Rows are in the
order of positions, but within a row group by the sort columns where the table has some.

A file either holds whole ledgers of its split, or a part of one ledger. So the least and the largest ledger and
entry, which are all that a table's statistics say of positions, tell exactly where one file ends and the next begins.

A name tells which rows are inside: `{partition}-{ledger}-{entry}-{uuid}.parquet`, the position being that of the
first row. A task that fails leaves files behind that no commit names; one that runs again, or beside another attempt,
writes other files. Nothing is ever overwritten.
"""

from __future__ import annotations

import uuid
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

_MOST_OPEN: Final = 8
"""Partition keys that are written at once. Publish times hardly go back, so there is mostly one day."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that is there, and that no commit names yet. Picklable."""

    url: str
    partition: TopicPartition
    key: PartitionKey
    """The table's partition of all its rows."""
    size: int
    """Bytes."""
    footer: pq.FileMetaData
    fractions: Mapping[Path, Fractions] = field(default_factory=dict)
    """Of each leaf of fractions outside lists and maps: the footer tells nothing of them."""

    @property
    def rows(self) -> int:
        return int(self.footer.num_rows)


@dataclass(slots=True)
class _OpenFile:
    url: str
    sink: Any
    writer: pq.ParquetWriter
    footers: list[pq.FileMetaData]
    """Empty until the writer is closed."""
    ledgers: set[int]
    is_part: bool
    """Of a ledger of which other files hold the rest."""
    held: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    fractions: dict[Path, Fractions] = field(default_factory=dict)


class DataFileWriter:
    """Of one split. Used by one task."""

    def __init__(self, layout: FileLayout, storage: TableStorage, partition: TopicPartition) -> None:
        self._layout = layout
        self._storage = storage
        self._partition = partition
        self._encodings: Encodings | None = None
        self._projections: list[ColumnProjection] | None = None
        self._open: dict[PartitionKey, _OpenFile] = {}
        self._begun: list[str] = []
        self._ledger = -1
        self._cut: set[PartitionKey] = set()
        """Of the present ledger, the keys of which a file has been closed."""

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[WrittenFile]:
        """The files, when they are complete; all are when the batches end. Raises `ColumnsUnavailable` for a file that
        cannot be written, and `SchemaError` for a value that the table's columns cannot hold."""
        with ExitStack() as broken:
            broken.callback(self._abandon)
            for batch in map(self._labelled, batches):
                for ledger, rows in by_ledger(batch):
                    yield from self._begin_ledger(ledger)
                    yield from self._take(ledger, rows)
            for key in list(self._open):
                yield self._close(key)
            broken.pop_all()

    def _labelled(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with the column that names the schema of its rows."""
        number = self._layout.tiered_by
        if number is None:
            return batch
        return batch.append_column(TIERED_BY, pa.repeat(pa.scalar(number, pa.int64()), batch.num_rows))

    def _begin_ledger(self, ledger: int) -> Iterator[WrittenFile]:
        """Files that hold a part of the ledger before, or enough, end with it."""
        if ledger == self._ledger:
            return
        for key, file in list(self._open.items()):
            if file.is_part or self._is_full(file):
                yield self._close(key)
        self._ledger, self._cut = ledger, set()

    def _take(self, ledger: int, batch: pa.RecordBatch) -> Iterator[WrittenFile]:
        for key, rows in by_key(batch, self._layout.partition_fields):
            if key not in self._open and len(self._open) == _MOST_OPEN:
                yield self._close(next(iter(self._open)))
            file = self._open.pop(key, None) or self._begin(key, rows)
            self._open[key] = file  # The last of the dictionary: the first is the one not used for longest.
            file.ledgers.add(ledger)
            file.held.append(rows)
            file.rows += rows.num_rows
            if file.rows >= ROW_GROUP_ROWS:
                self._flush(file)
            if self._is_full(file) and file.ledgers == {ledger}:
                yield self._close(key)

    def _is_full(self, file: _OpenFile) -> bool:
        return bool(file.sink.tell() >= self._layout.file_bytes)

    def _begin(self, key: PartitionKey, rows: pa.RecordBatch) -> _OpenFile:
        if self._encodings is None:
            self._encodings = encodings_of(self._stored(rows))
        first = position_of(rows, 0)
        name = f"{self._partition.index}-{first.ledger}-{first.entry}-{uuid.uuid4().hex}.parquet"
        url = f"{self._layout.folder_of(key)}/{name}"
        footers: list[pq.FileMetaData] = []
        arguments = self._encodings.writer_arguments()
        schema = self._layout.schema
        if not self._layout.sort_columns:
            schema = schema.with_metadata({**(schema.metadata or {}), ORDER_KEY: BY_POSITION})
        self._begun.append(url)
        with self._storing(url):
            sink = self._storage.open_output(url)
            writer = pq.ParquetWriter(sink, schema, metadata_collector=footers, **arguments)
        return _OpenFile(url, sink, writer, footers, set(), key in self._cut)

    def _flush(self, file: _OpenFile) -> None:
        if not file.held:
            return
        rows = pa.Table.from_batches([self._stored(batch) for batch in file.held])
        sorted_by = [name for name in self._layout.sort_columns if name in rows.column_names]
        if sorted_by:
            rows = rows.sort_by([(name, "ascending") for name in sorted_by])
        for path, told in fractions_of(rows).items():
            file.fractions[path] = file.fractions[path].joined(told) if path in file.fractions else told
        with self._storing(file.url):
            file.writer.write_table(rows, row_group_size=ROW_GROUP_ROWS)
        file.held.clear()
        file.rows = 0

    def _stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns as the table has them. Raises `SchemaError`."""
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
                f"{self._partition}: expected values that the table's columns can hold, got others ({fault}); leave "
                f"the topic out of tiering"
            ) from None

    def _close(self, key: PartitionKey) -> WrittenFile:
        file = self._open[key]
        self._cut.add(key)
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
                f"{self._partition}: expected to write data file {url}, got {one_line(fault, secrets)}; nothing of "
                f"this round is in the table, and the next run begins with it again"
            ) from None

    def _abandon(self) -> None:
        """Delete what was written: nobody knows these files, and each round that fails would leave more of them."""
        for file in self._open.values():
            with suppress(OSError, pa.ArrowException, RuntimeError):
                file.writer.close()
            file.writer.is_open = False  # Or it is closed once more when it is collected, and complains.
            with suppress(OSError):
                file.sink.close()
        for url in self._begun:
            with suppress(OSError):
                system, path = self._storage.located(url)
                system.delete_file(path)


def by_ledger(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each ledger, in their order, which is that of positions."""
    if batch.num_rows == 0:
        return
    ledgers = batch.column(IDENTITY).field("ledger")
    start = 0
    for run in pc.run_end_encode(ledgers, run_end_type=pa.int32()).values.to_pylist():
        count = pc.sum(pc.equal(ledgers.slice(start), run)).as_py()
        yield run, batch.slice(start, count)
        start += count


def position_of(batch: pa.RecordBatch, row: int) -> Position:
    """Of the message in that row."""
    identity = batch.column(IDENTITY)[row].as_py()
    return Position(identity["ledger"], identity["entry"], max(identity["batchIndex"], 0))
