"""The data files of an Iceberg table, read from the table's manifests, in the form of `TableFiles`. Driver only.

The manifests of 10,000 files contain a million small values. Manifests are read one after the other, and unneeded
values are released immediately. During the reading, the garbage collector is paused, because the collector would
examine all values in memory repeatedly. A manifest never changes, so its values are valid for all states of the table
that contain the manifest. A commit adds one or two manifests.

Format: the Iceberg table specification, version 2: manifests, and "Binary single-value serialization" of bounds.
"""

from __future__ import annotations

import gc
import math
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyspark_pulsar.history.columnar.data_file import Bounds
from pyspark_pulsar.history.columnar.layout import PARTITION, PAYLOAD_COLUMN, TIERED_BY
from pyspark_pulsar.history.columnar.table_files import (
    LEDGER,
    Bound,
    ColumnStatistics,
    NotScannable,
    Parts,
    TableFiles,
)

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile as IcebergFile, ManifestFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

_FLOATS: Final = {4: struct.Struct("<f"), 8: struct.Struct("<d")}
_MESSAGE_SIZE: Final = "__messageSize"
Decode = Callable[[bytes], Bound | None]


def table_files(table: Table, columns: Collection[str], known: Parts) -> TableFiles:
    """Return the files of the table's present snapshot.

    Errors of the catalog and the storage are also raised, without a conversion.

    Args:
        table: The table.
        columns: The top-level columns whose statistics are returned. Columns without statistics are ignored.
        known: The values of manifests from earlier calls, by path. The call replaces the contents of this dictionary
            with the values of the present snapshot's manifests.

    Raises:
        NotScannable: An engine that reads the files itself would return wrong rows.

    """
    from pyiceberg.manifest import ManifestContent

    snapshot, schema = table.current_snapshot(), table.schema()
    check_history(table.metadata.schemas)
    manifests = [] if snapshot is None else snapshot.manifests(table.io)
    if any(manifest.content is ManifestContent.DELETES for manifest in manifests):
        raise NotScannable("the table has files with deleted rows")
    collected = _Collected.for_columns(schema, columns)
    parts: dict[str, _Collected] = {}
    with _pause_garbage_collector():
        for manifest in manifests:
            part = known.get(manifest.manifest_path)
            if part is None or not part.covers(collected):
                part = _read(table, manifest, _Collected.for_columns(schema, columns))
            parts[manifest.manifest_path] = part
            collected.join(part)
    known.clear()
    known.update(parts)
    return TableFiles(
        urls=collected.urls,
        sizes=collected.sizes,
        rows=collected.rows,
        statistics={path: column.statistics for path, column in collected.columns.items()},
        layouts=frozenset(collected.layouts),
        least_size=collected.least_size,
        may_have_payloads=collected.may_have_payloads,
        unclear_names=unclear_names(schema, table.metadata.schemas),
        changed_ms=0 if snapshot is None else snapshot.timestamp_ms,
    )


def _read(table: Table, manifest: ManifestFile, part: _Collected) -> _Collected:
    """Add the files of a manifest to `part`, and return `part`."""
    from pyiceberg.manifest import FileFormat

    entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    files = [entry.data_file for entry in entries]
    if not all(file.file_format is FileFormat.PARQUET for file in files):
        raise NotScannable("the table has files that are not Parquet")
    part.add(files)
    return part


@dataclass(slots=True)
class _Column:
    """The statistics of one column, as lists with an element for each file."""

    number: int
    decode: Decode
    has_upper: bool
    lower: list[bytes | None] = field(default_factory=list)
    upper: list[bytes | None] = field(default_factory=list)
    nulls: list[int | None] = field(default_factory=list)

    @property
    def statistics(self) -> ColumnStatistics:
        return ColumnStatistics(self.lower, self.upper if self.has_upper else None, self.nulls, self.decode)


@dataclass(slots=True)
class _Collected:
    """The statistics of all files of one or more manifests."""

    columns: dict[str, _Column]
    payload: int | None
    """The field id of the column `PAYLOAD_COLUMN`; None if the table lacks the column."""
    tiered_by: int | None
    """The field id of the column `TIERED_BY`; None if the table lacks the column."""
    message_size: int | None
    """The field id of the column `__messageSize`; None if the table lacks the column."""
    urls: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    layouts: set[tuple[Bounds | None, frozenset[int] | None]] = field(default_factory=set)
    sizes_of_messages: set[int | None] = field(default_factory=set)
    """The smallest `__messageSize` of each file."""
    may_have_payloads: bool = False

    @classmethod
    def for_columns(cls, schema: Schema, names: Collection[str]) -> _Collected:
        columns = {LEDGER: _Column(schema.find_field(LEDGER).field_id, _whole, has_upper=True)}
        for column in schema.fields:
            decoder = _decoder(column.field_type) if column.name in (PARTITION, *names) else None
            if decoder is not None:
                columns[column.name] = _Column(column.field_id, *decoder)
        numbers = {column.name: column.field_id for column in schema.fields}
        return cls(columns, numbers.get(PAYLOAD_COLUMN), numbers.get(TIERED_BY), numbers.get(_MESSAGE_SIZE))

    @property
    def least_size(self) -> int | None:
        """Return the smallest `__messageSize` of all rows, or None if the size is unknown for some file."""
        known = [size for size in self.sizes_of_messages if size is not None]
        return None if len(known) < len(self.sizes_of_messages) else min(known, default=0)

    def covers(self, requested: _Collected) -> bool:
        """Return whether this object has statistics of all columns of `requested`."""
        numbers = {column.number for column in self.columns.values()}
        mine, others = ((one.payload, one.tiered_by, one.message_size) for one in (self, requested))
        return mine == others and all(column.number in numbers for column in requested.columns.values())

    def join(self, part: _Collected) -> None:
        """Add the files of another object. `part.covers(self)` must be true."""
        self.urls += part.urls
        self.sizes += part.sizes
        self.rows += part.rows
        self.layouts |= part.layouts
        self.sizes_of_messages |= part.sizes_of_messages
        self.may_have_payloads |= part.may_have_payloads
        by_number = {column.number: column for column in part.columns.values()}
        for column in self.columns.values():
            read = by_number[column.number]
            column.lower += read.lower
            column.upper += read.upper
            column.nulls += read.nulls

    def add(self, files: Sequence[IcebergFile]) -> None:
        self.urls += [file.file_path for file in files]
        self.sizes += [file.file_size_in_bytes for file in files]
        self.rows += [file.record_count for file in files]
        counts = [file.value_counts or {} for file in files]
        nulls = [file.null_value_counts or {} for file in files]
        lower = [file.lower_bounds or {} for file in files]
        upper = [file.upper_bounds or {} for file in files]
        for values, absent, least, largest in zip(counts, nulls, lower, upper, strict=True):
            bounds = self._tiered_by(absent, least, largest)
            self.layouts.add((bounds, frozenset(values) if values else None))
            size = least.get(self.message_size) if self.message_size is not None else None
            self.sizes_of_messages.add(None if size is None else _whole(size))
        for column in self.columns.values():
            number = column.number
            column.lower += [bounds.get(number) for bounds in lower]
            column.upper += [bounds.get(number) for bounds in upper]
            column.nulls += [absent.get(number) for absent in nulls]
        if self.payload is not None:
            self.may_have_payloads |= any(
                not values or not absent or values.get(self.payload, 0) > absent.get(self.payload, 0)
                for values, absent in zip(counts, nulls, strict=True)
            )

    def _tiered_by(
        self, nulls: Mapping[int, int], lower: Mapping[int, bytes], upper: Mapping[int, bytes]
    ) -> Bounds | None:
        """Return a file's bounds of the column `TIERED_BY`, or None if some row may lack a value."""
        number = self.tiered_by
        if number is None or nulls.get(number, 1) or number not in lower or number not in upper:
            return None
        return _whole(lower[number]), _whole(upper[number])


def _decoder(kind: Any) -> tuple[Decode, bool] | None:
    """Return a decoder for the bytes of bounds, and whether upper bounds are valid, or None if the type has no bounds.

    The decoder also accepts bytes of a narrower type. Files from before a column was widened have such bounds.
    """
    from pyiceberg import types

    if isinstance(kind, types.BooleanType):
        return _whole, True
    if isinstance(kind, (types.IntegerType, types.LongType, types.DateType)):
        return _whole, True
    if isinstance(kind, (types.TimestampType, types.TimestamptzType)):
        return _whole, True
    if isinstance(kind, (types.FloatType, types.DoubleType)):
        return _floating, False
    return (_text, True) if isinstance(kind, types.StringType) else None


def _whole(value: bytes) -> int:
    return int.from_bytes(value, "little", signed=True)


def _floating(value: bytes) -> float | None:
    number = float(_FLOATS[len(value)].unpack(value)[0])
    return number if math.isfinite(number) else None


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def check_history(history: Iterable[Schema]) -> None:
    """Raise `NotScannable` if the table no longer has all earlier schemas, so that some earlier names are unknown.

    Schema ids are consecutive and begin at 0, so a gap shows a removed schema.
    """
    numbers = sorted(version.schema_id for version in history)
    if numbers != list(range(len(numbers))):
        raise NotScannable(
            "earlier schemas were removed from the table, so the earlier meanings of names are unknown"
        )


def unclear_names(schema: Schema, history: Iterable[Schema]) -> frozenset[str]:
    """Return the names, in lowercase, of top-level columns that cannot be read reliably by name.

    The result includes each column that was removed, or in which a field was removed. A column is also in the result if
    one of these cases occurs in the column, at any depth:

      * Two fields, for example a removed and a new field, have had the same name.
      * A field was renamed.
      * Two names differ only in case.
    """
    from pyiceberg.schema import index_name_by_id

    by_path: dict[str, set[tuple[str, int]]] = {}
    by_number: dict[int, set[tuple[str, int]]] = {}
    present = {(path, number) for number, path in index_name_by_id(schema).items()}
    for version in (schema, *history):
        for number, path in index_name_by_id(version).items():
            by_path.setdefault(path.lower(), set()).add((path, number))
            by_number.setdefault(number, set()).add((path, number))
    unclear = [
        path
        for meanings in (*by_path.values(), *by_number.values())
        for path, number in meanings
        if len(meanings) > 1 or (path, number) not in present
    ]
    return frozenset(path.partition(".")[0].lower() for path in unclear)


@contextmanager
def _pause_garbage_collector() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
