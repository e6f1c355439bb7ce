"""What keeps a table quick to read and small: few large files, none that nobody names, no states that nobody reads.

    compact    neighbouring small files of a topic partition become one, in the order of positions
    sweep      files that no state of the table names are deleted, a day after they were written
    expire     states of the table that are older than some days are forgotten, with the files that only they had

None of it moves what is tiered (`columnar.positions`), and any process may do it at any time. Of two at once one
commits; the other leaves its files to the next sweep. A query that has been planned reads the files that there were
then: they stay until their state expires.

Only files whose rows one schema tiered go together, and only files that are in the order of positions, since the new
file says that it is: not files that another engine has rewritten.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.columns.projection import ColumnProjection, FieldIndex
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.layout import BY_POSITION, ORDER_KEY, FileLayout
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.writing.writer import DataFileWriter, WrittenFile
from pyspark_pulsar.model.topic import TopicName, TopicPartition

_log: Final = logging.getLogger(__name__)

SWEEP_AFTER_SECONDS: Final = 86_400.0
EXPIRE_AFTER_SECONDS: Final = 5 * 86_400.0
_BATCH_ROWS: Final = 10_000
_FEWEST: Final = 2
_OURS: Final = re.compile(r"-?\d+-\d+-\d+-[0-9a-f]{32}\.parquet")


@dataclass(frozen=True, slots=True)
class UpkeepResult:
    """What was done to one table."""

    table: str
    compacted: int = 0
    """Files that became ..."""
    made: int = 0
    """... these."""
    swept: int = 0
    """Files that no state named."""
    expired: int = 0
    """States that were forgotten."""


def keep_up(
    table: ColumnarTable,
    *,
    sweep_after: float = SWEEP_AFTER_SECONDS,
    expire_after: float = EXPIRE_AFTER_SECONDS,
) -> UpkeepResult:
    """All three. Ages are in seconds. Raises `ColumnsUnavailable`, `TableMoved`."""
    compacted, made = compact(table)
    expired = table.expire(int((time.time() - expire_after) * 1000))
    swept = sweep(table, sweep_after)
    return UpkeepResult(table.name, compacted, made, swept, expired)


def compact(table: ColumnarTable) -> tuple[int, int]:
    """How many files became how many. Raises `ColumnsUnavailable`, `TableMoved`."""
    storage = table.storage
    groups = [
        (group, layout)
        for neighbours in small_neighbours(table.files(), table.file_bytes)
        if (layout := _layout_of(neighbours[0], table)) is not None
        for group in _like_files(neighbours, layout, storage)
    ]
    if not groups:
        return 0, 0
    topic = TopicName.parse(table.topic or "")
    made = [file for group, layout in groups for file in _rewritten(group, layout, storage, topic)]
    table.commit(made, table.positions, replaced=[file for group, _ in groups for file in group])
    return sum(len(group) for group, _ in groups), len(made)


def small_neighbours(files: Sequence[DataFile], file_bytes: int) -> Iterator[list[DataFile]]:
    """Yield two or more files each, which together are about as large as one may get.

    They are of one topic partition, key and schema, one after the other by their positions, with the same columns as
    far as the table tells, and without deleted rows. No other file of that key is between them, whatever its size: the
    new file would overlap it, and each read of the range would merge both.
    """
    group: list[DataFile] = []
    for file in sorted(files, key=lambda file: (file.partitions or (-2, -2), repr(file.key), file.first)):
        fits = group and (
            _may_be_joined(file, file_bytes)
            and group[0].partitions == file.partitions
            and group[0].columns == file.columns
            and group[0].key == file.key
            and group[0].tiered_by == file.tiered_by
            and sum(member.size for member in group) + file.size <= file_bytes
            and _is_before(group[-1], file)
        )
        if not fits:
            if len(group) >= _FEWEST:
                yield group
            group = []
        if _may_be_joined(file, file_bytes):
            group.append(file)
    if len(group) >= _FEWEST:
        yield group


def _may_be_joined(file: DataFile, file_bytes: int) -> bool:
    return (
        file.size < file_bytes // 2
        and not file.deletes
        and file.last is not None
        and file.partitions is not None
        and file.partitions[0] == file.partitions[1]
        and file.tiered_by is not None
        and file.tiered_by[0] == file.tiered_by[1]
    )


def _is_before(file: DataFile, other: DataFile) -> bool:
    """Whether all of its rows have lesser positions."""
    return file.last is not None and file.last < other.first


def _layout_of(file: DataFile, table: ColumnarTable) -> FileLayout | None:
    """Return how files by the schema of a file's rows are written; None for a schema that the table has lost."""
    (number, _) = file.tiered_by or (None, None)
    text = None if number is None else table.schema_texts.get(number)
    return None if text is None else replace(table.layout(text), tiered_by=None)


def _like_files(
    files: Sequence[DataFile], layout: FileLayout, storage: TableStorage
) -> Iterator[Sequence[DataFile]]:
    """Yield those neighbours, two or more each, whose rows may follow each other in one file, by their footers.

    Raises:
        ColumnsUnavailable: A file cannot be read.

    """
    for may_be_joined, alike in groupby(files, lambda file: _is_whole(file, layout, storage)):
        group = list(alike)
        if len(group) >= _FEWEST and may_be_joined:
            yield group


def _is_whole(file: DataFile, layout: FileLayout, storage: TableStorage) -> bool:
    """Return whether a file has all columns of its schema, and its rows in order. Other engines leave columns out."""
    try:
        with _open(storage, file) as opened:
            try:
                _projections(opened, layout.schema)
            except ValueError:
                return False
            is_ordered = (opened.metadata.metadata or {}).get(ORDER_KEY) == BY_POSITION
            return is_ordered or bool(layout.sort_columns)
    except (OSError, pa.ArrowException) as fault:
        raise ColumnsUnavailable(
            f"data file {file.url} cannot be read: {type(fault).__name__}: {fault}"
        ) from None


def _rewritten(
    group: Sequence[DataFile], layout: FileLayout, storage: TableStorage, topic: TopicName
) -> list[WrittenFile]:
    """Write the rows of the files to new ones. Raises `ColumnsUnavailable`."""
    (index, _) = group[0].partitions or (-1, -1)
    partition = TopicPartition(topic, index)
    try:
        with ExitStack() as opened:
            files = [opened.enter_context(_open(storage, file)) for file in group]
            writer = DataFileWriter(layout, storage, partition)
            return list(writer.write(_rows(files, layout, dict(group[0].constants))))
    except (OSError, pa.ArrowException) as fault:
        raise ColumnsUnavailable(
            f"{partition}: expected to read and write data files at {layout.folder}, got {type(fault).__name__}: "
            f"{fault}"
        ) from None


@contextmanager
def _open(storage: TableStorage, file: DataFile) -> Iterator[pq.ParquetFile]:
    with storage.open_input(file.url) as source, pq.ParquetFile(source) as opened:
        yield opened


def _projections(file: pq.ParquetFile, columns: pa.Schema) -> list[ColumnProjection]:
    """Raises ValueError for a column that the file lacks."""
    index = FieldIndex(file.schema_arrow)
    return [ColumnProjection(column, column, index) for column in columns]


def _rows(
    files: Sequence[pq.ParquetFile], layout: FileLayout, constants: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in the order of the files, which is that of positions.

    Args:
        files: The files.
        layout: How they are rewritten.
        constants: The values of columns that the files do not hold. Rows are apart by them.

    """
    fields = {field.source: field.kind for field in layout.partition_fields}
    apart = {name: pa.scalar(value, fields[name]) for name, value in constants.items()}
    for file in files:
        projections = _projections(file, layout.schema)
        sources = [projection.source for projection in projections if projection.source is not None]
        for batch in file.iter_batches(_BATCH_ROWS, columns=sources, use_threads=False):
            arrays = [projection.convert(batch) for projection in projections]
            arrays += [pa.repeat(value, batch.num_rows) for value in apart.values()]
            yield pa.RecordBatch.from_arrays(arrays, names=[*layout.schema.names, *apart])


def sweep(table: ColumnarTable, older_than: float = SWEEP_AFTER_SECONDS) -> int:
    """Delete files of ours that no state of the table names, and that are older (seconds). How many. Raises
    `ColumnsUnavailable`."""
    storage, folder = table.storage, table.folder
    try:
        system, path = storage.located(folder)
        listed = system.get_file_info(fs.FileSelector(path, allow_not_found=True, recursive=True))
        before = time.time() - older_than
        ours = [
            info
            for info in listed
            if info.is_file and _OURS.fullmatch(info.base_name) and info.mtime.timestamp() < before
        ]
        # Listed before the table is asked: a file that is committed in between is older than a day, or known.
        known = {url.rpartition("/")[2] for url in table.known_urls()} if ours else set()
        orphans = [info.path for info in ours if info.base_name not in known]
        for orphan in orphans:
            system.delete_file(orphan)
    except (OSError, pa.ArrowException) as fault:
        raise ColumnsUnavailable(
            f"table {table.name}: expected to list and delete files at {folder}, got {type(fault).__name__}: {fault}"
        ) from None
    if orphans:
        _log.info("table %s: %d files that no commit names are deleted", table.name, len(orphans))
    return len(orphans)
