"""The upkeep of a table: three steps after which the table is smaller and faster to read.

    compact    merges adjacent small files of a topic partition into one file, in the order of positions
    sweep      deletes files that no state of the table lists, one day or more after they were written
    expire     removes old states of the table, and the files that only these states list

No step changes the positions (`columnar.positions`), and any process is allowed to run a step at any time. If two
processes compact a table at the same time, only one process can commit. Later, a sweep deletes the files of the other
process. A query reads the files of the table's state at the time of planning. These files exist until this state
expires.

Compaction merges only files whose rows were all written with the same schema. If the table has no sort columns, the
rows of these files must also be in the order of positions. The reason is that the metadata of the new file states this
order. So compaction skips files that another engine has rewritten.
"""

from __future__ import annotations

import logging
import re
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
from pyspark_pulsar.runtime import time

_log: Final = logging.getLogger(__name__)

SWEEP_AFTER_SECONDS: Final = 86_400.0
EXPIRE_AFTER_SECONDS: Final = 5 * 86_400.0
_BATCH_ROWS: Final = 10_000
_FEWEST: Final = 2
_OURS: Final = re.compile(r"-?\d+-\d+-\d+-[0-9a-f]{32}\.parquet")


@dataclass(frozen=True, slots=True)
class UpkeepResult:
    """The result of the upkeep of one table."""

    table: str
    compacted: int = 0
    """The number of files that compaction merged into new files."""
    made: int = 0
    """The number of files that compaction wrote."""
    swept: int = 0
    """The number of files that sweeping deleted."""
    expired: int = 0
    """The number of removed states of the table."""


def keep_up(
    table: ColumnarTable,
    *,
    sweep_after: float = SWEEP_AFTER_SECONDS,
    expire_after: float = EXPIRE_AFTER_SECONDS,
) -> UpkeepResult:
    """Compact, expire and sweep a table.

    Args:
        table: The table.
        sweep_after: The minimum age, in seconds, of files that sweep deletes.
        expire_after: The minimum age, in seconds, of states that expire.

    Raises:
        ColumnsUnavailable: The table or its files cannot be reached.
        TableMoved: Another process has committed since the table was loaded.

    """
    compacted, made = compact(table)
    expired = table.expire(int((time.time() - expire_after) * 1000))
    swept = sweep(table, sweep_after)
    return UpkeepResult(table.name, compacted, made, swept, expired)


def compact(table: ColumnarTable) -> tuple[int, int]:
    """Merge small files.

    Returns:
        The number of merged files, and the number of new files.

    Raises:
        ColumnsUnavailable: The table or its files cannot be reached.
        TableMoved: Another process has committed since the table was loaded.

    """
    storage = table.storage
    groups = [
        (group, layout)
        for neighbors in small_neighbors(table.files(), table.file_bytes)
        if (layout := _layout_of(neighbors[0], table)) is not None
        for group in _mergeable_files(neighbors, layout, storage)
    ]
    if not groups:
        return 0, 0
    topic = TopicName.parse(table.topic or "")
    made = [file for group, layout in groups for file in _rewrite_files(group, layout, storage, topic)]
    table.commit(made, table.positions, replaced=[file for group, _ in groups for file in group])
    return sum(len(group) for group, _ in groups), len(made)


def small_neighbors(files: Sequence[DataFile], file_bytes: int) -> Iterator[list[DataFile]]:
    """Yield groups of two or more small files that can be merged. The total size of a group is at most `file_bytes`.

    The files of a group have the same topic partition, partition key, schema and columns, and no deleted rows. The
    files are adjacent: no other file with the same partition and key, of any size, is between two files of the group.
    Such a file would overlap the new file, and each read of the range would merge both files.
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
    """Return whether all rows of a file have smaller positions than all rows of another file."""
    return file.last is not None and file.last < other.first


def _layout_of(file: DataFile, table: ColumnarTable) -> FileLayout | None:
    """Return the layout for rows of the file's schema, or None if the table no longer has this schema."""
    (number, _) = file.tiered_by or (None, None)
    text = None if number is None else table.schema_texts.get(number)
    return None if text is None else replace(table.layout(text), tiered_by=None)


def _mergeable_files(
    files: Sequence[DataFile], layout: FileLayout, storage: TableStorage
) -> Iterator[Sequence[DataFile]]:
    """Read the footers of adjacent files, and yield groups of two or more adjacent files that can be merged.

    Raises:
        ColumnsUnavailable: A file cannot be read.

    """
    for may_be_joined, alike in groupby(files, lambda file: _is_whole(file, layout, storage)):
        group = list(alike)
        if len(group) >= _FEWEST and may_be_joined:
            yield group


def _is_whole(file: DataFile, layout: FileLayout, storage: TableStorage) -> bool:
    """Return whether a file has all columns of its schema, and has rows in the order of positions.

    Files that other engines wrote can lack columns. If the table has sort columns, any order of rows is accepted.
    """
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
            f"data file {file.url} cannot be read: {type(fault).__name__}: {fault}; restore the file"
        ) from None


def _rewrite_files(
    group: Sequence[DataFile], layout: FileLayout, storage: TableStorage, topic: TopicName
) -> list[WrittenFile]:
    """Write the rows of the files to new files. Raises `ColumnsUnavailable`."""
    (index, _) = group[0].partitions or (-1, -1)
    partition = TopicPartition(topic, index)
    try:
        with ExitStack() as opened:
            files = [opened.enter_context(_open(storage, file)) for file in group]
            writer = DataFileWriter(layout, storage, partition)
            return list(writer.write(_rows(files, layout, dict(group[0].constants))))
    except (OSError, pa.ArrowException) as fault:
        raise ColumnsUnavailable(
            f"{partition}: expected to read and write data files in {layout.folder}, got {type(fault).__name__}: "
            f"{fault}; check the storage, and run upkeep again"
        ) from None


@contextmanager
def _open(storage: TableStorage, file: DataFile) -> Iterator[pq.ParquetFile]:
    with storage.open_input(file.url) as source, pq.ParquetFile(source) as opened:
        yield opened


def _projections(file: pq.ParquetFile, columns: pa.Schema) -> list[ColumnProjection]:
    """Return the conversions of the file's columns. Raises `ValueError` if the file lacks a column."""
    index = FieldIndex(file.schema_arrow)
    return [ColumnProjection(column, column, index) for column in columns]


def _rows(
    files: Sequence[pq.ParquetFile], layout: FileLayout, constants: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the files, file by file, in the order in which each file stores the rows.

    Args:
        files: The files.
        layout: The layout of the new files.
        constants: The values of the partition columns that the files omit, by column name.

    """
    fields = {field.source: field.kind for field in layout.partition_fields}
    partition_values = {name: pa.scalar(value, fields[name]) for name, value in constants.items()}
    for file in files:
        projections = _projections(file, layout.schema)
        sources = [projection.source for projection in projections if projection.source is not None]
        for batch in file.iter_batches(_BATCH_ROWS, columns=sources, use_threads=False):
            arrays = [projection.convert(batch) for projection in projections]
            arrays += [pa.repeat(value, batch.num_rows) for value in partition_values.values()]
            yield pa.RecordBatch.from_arrays(arrays, names=[*layout.schema.names, *partition_values])


def sweep(table: ColumnarTable, older_than: float = SWEEP_AFTER_SECONDS) -> int:
    """Delete files that this package wrote, and that no state of the table lists.

    Args:
        table: The table.
        older_than: The minimum age, in seconds, of the files that are deleted.

    Returns:
        The number of deleted files.

    Raises:
        ColumnsUnavailable: The table or its files cannot be reached.

    """
    storage, folder = table.storage, table.folder
    try:
        system, path = storage.locate(folder)
        listed = system.get_file_info(fs.FileSelector(path, allow_not_found=True, recursive=True))
        before = time.time() - older_than
        ours = [
            info
            for info in listed
            if info.is_file and _OURS.fullmatch(info.base_name) and info.mtime.timestamp() < before
        ]
        # The files are listed before the states of the table are read. If another process commits an old file in the
        # meantime, a state lists the file, and sweep does not delete the file.
        known = {url.rpartition("/")[2] for url in table.known_urls()} if ours else set()
        orphans = [info.path for info in ours if info.base_name not in known]
        for orphan in orphans:
            system.delete_file(orphan)
    except (OSError, pa.ArrowException) as fault:
        raise ColumnsUnavailable(
            f"table {table.name}: expected to list and delete files in {folder}, got {type(fault).__name__}: {fault}; "
            f"check the storage, and run upkeep again"
        ) from None
    if orphans:
        _log.info("Deleted %d files that no commit contains: table %s", len(orphans), table.name)
    return len(orphans)
