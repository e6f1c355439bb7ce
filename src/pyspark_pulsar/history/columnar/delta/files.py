"""Conversion of a Delta table's add actions, as delta-rs lists them, to `DataFile`.

Each engine chooses the statistics that it records. So an add action that another engine wrote can lack any statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from pyspark_pulsar.history.columnar.data_file import Bounds, DataFile
from pyspark_pulsar.history.columnar.delta.partitions import constants
from pyspark_pulsar.history.columnar.delta.table_location import TableLocation
from pyspark_pulsar.history.columnar.layout import (
    IDENTITY,
    PARTITION,
    PAYLOAD_COLUMN,
    TIERED_BY,
    PartitionField,
)

if TYPE_CHECKING:
    from deltalake import DeltaTable

_PUBLISHED: Final = "__publishTime"
_HAPPENED: Final = "__eventTime"


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A data file that the table's log lists."""

    name: str
    """The path of the file in the store, relative to the table."""
    file: DataFile


def added_files(
    delta: DeltaTable, location: TableLocation, fields: Sequence[PartitionField], columns: pa.Schema
) -> list[AddedFile]:
    """Return all data files of a table in the loaded state. Raises the errors of delta-rs.

    Args:
        delta: The table, in the loaded state.
        location: The table's location.
        fields: The table's partition fields.
        columns: The table's columns.

    """
    actions = pa.table(delta.get_add_actions())
    paths = actions.column("path").to_pylist()
    sizes = actions.column("size_bytes").to_pylist()
    rows = _values(actions, "num_records") or [None] * len(paths)
    nulls = _values(actions, "null_count", PAYLOAD_COLUMN)
    partitions = _values(actions, "partition") or [None] * len(paths)
    bounds = {
        name: _bounds(actions, *name)
        for name in (
            (PARTITION,),
            (IDENTITY, "ledger"),
            (IDENTITY, "entry"),
            (_PUBLISHED,),
            (_HAPPENED,),
            (TIERED_BY,),
        )
    }
    has_payload_column = PAYLOAD_COLUMN in columns.names
    added = []
    for index, path in enumerate(paths):
        values = partitions[index] or {}
        name, own = location.name_of(path), constants(fields, values)
        ledgers, entries = bounds[IDENTITY, "ledger"][index], bounds[IDENTITY, "entry"][index]
        published, happened = bounds[_PUBLISHED,][index], bounds[_HAPPENED,][index]
        file = DataFile(
            url=location.url_of(name),
            size=sizes[index],
            rows=rows[index] or 0,
            partitions=_constant_bounds(own) or bounds[PARTITION,][index],
            ledgers=ledgers,
            entries=entries,
            published=None if published is None else (published[0] // 1000, -(-published[1] // 1000)),
            event_from=None if happened is None else happened[0] // 1000,
            has_payloads=_is_fewer(nulls[index] if nulls else None, rows[index])
            if has_payload_column
            else False,
            tiered_by=bounds[TIERED_BY,][index],
            key=tuple(values.get(field.column) for field in fields),
            constants=own,
        )
        added.append(AddedFile(name, file))
    return added


def _is_fewer(nulls: int | None, rows: int | None) -> bool | None:
    """Return whether a file has fewer nulls than rows, or None if one of the numbers is unknown."""
    return None if nulls is None or rows is None else nulls < rows


def _constant_bounds(own: Sequence[tuple[str, Any]]) -> Bounds | None:
    index = dict(own).get(PARTITION)
    return None if index is None else (index, index)


def _bounds(actions: pa.Table, *path: str) -> list[Bounds | None]:
    lows, highs = (_values(actions, side, *path) for side in ("min", "max"))
    if lows is None or highs is None:
        return [None] * actions.num_rows
    return [
        None if low is None or high is None else (low, high) for low, high in zip(lows, highs, strict=True)
    ]


def _values(actions: pa.Table, name: str, *path: str) -> list[Any] | None:
    """Return the values of a column or of a struct member, or None if the column does not exist.

    Timestamps are returned as microseconds.
    """
    if name not in actions.column_names:
        return None
    column = actions.column(name)
    for member in path:
        if not types.is_struct(column.type) or column.type.get_field_index(member) < 0:
            return None
        column = pc.struct_field(column, member)
    if types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values
