"""Conversion of manifest entries of data files to `DataFile`. Driver only; opens no data file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark_pulsar.history.columnar.data_file import Bounds, DataFile
from pyspark_pulsar.history.columnar.layout import (
    IDENTITY,
    PARTITION,
    PAYLOAD_COLUMN,
    TIERED_BY,
)

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table import Table

_PUBLISHED: Final = "__publishTime"
_HAPPENED: Final = "__eventTime"
COLUMNS_WITH_BOUNDS: Final = (f"{IDENTITY}.ledger", f"{IDENTITY}.entry", TIERED_BY)
"""The columns whose bounds are in each commit of this package, regardless of the table's properties."""


class FileDescription:
    """A converter of the manifest entries of one table to `DataFile`."""

    def __init__(self, table: Table) -> None:
        schema = table.schema()
        names = (*COLUMNS_WITH_BOUNDS, PARTITION, _PUBLISHED, _HAPPENED, PAYLOAD_COLUMN)
        self._fields = {name: field for name in names if (field := _field(schema, name)) is not None}

    def data_file(self, file: IcebergFile, deletes: tuple[str, ...]) -> DataFile:
        ledgers, entries, tiered_by = (self._bounds(file, name) for name in COLUMNS_WITH_BOUNDS)
        published, happened = (self._bounds(file, name) for name in (_PUBLISHED, _HAPPENED))
        return DataFile(
            url=file.file_path,
            size=file.file_size_in_bytes,
            rows=file.record_count,
            partitions=self._bounds(file, PARTITION),
            ledgers=ledgers,
            entries=entries,
            published=None if published is None else (published[0] // 1000, published[1] // 1000),
            event_from=None if happened is None else happened[0] // 1000,
            columns=frozenset(file.value_counts) if file.value_counts else None,
            has_payloads=self._has_values(file, PAYLOAD_COLUMN),
            tiered_by=tiered_by,
            key=tuple(file.partition[index] for index in range(len(file.partition))),
            deletes=deletes,
        )

    def _bounds(self, file: IcebergFile, name: str) -> Bounds | None:
        from pyiceberg.conversions import from_bytes

        field = self._fields.get(name)
        if field is None:
            return None
        lower, upper = (
            (bounds or {}).get(field.field_id) for bounds in (file.lower_bounds, file.upper_bounds)
        )
        if lower is None or upper is None:
            return None
        return int(from_bytes(field.field_type, lower)), int(from_bytes(field.field_type, upper))

    def _has_values(self, file: IcebergFile, name: str) -> bool | None:
        """Return whether some row has a value in the column, or None if the manifest contains no counts of values."""
        field = self._fields.get(name)
        if field is None:
            return False
        if not file.value_counts or not file.null_value_counts:
            return None
        return file.value_counts.get(field.field_id, 0) > file.null_value_counts.get(field.field_id, 0)


def _field(schema: Any, name: str) -> Any:
    try:
        return schema.find_field(name)
    except ValueError:
        return None
