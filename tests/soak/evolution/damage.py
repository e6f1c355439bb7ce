"""The controls: harm to the data files of a table, which the comparison must find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from soak.evolution.topics import Twins

_PAYLOAD = "__payload"


def swap_columns(twins: Twins) -> None:
    """Swap the values of every two neighbours that have the same type."""

    def swapped(table: pa.Table) -> pa.Table:
        arrays, place = table.columns, 0
        while place + 1 < len(arrays):
            if table.schema.types[place] == table.schema.types[place + 1]:
                arrays[place], arrays[place + 1] = arrays[place + 1], arrays[place]
                place += 1
            place += 1
        return pa.Table.from_arrays(arrays, schema=table.schema)

    _rewrite(twins, swapped)


def forget_payloads(twins: Twins) -> None:
    """Make the payloads null that the table keeps of some messages."""

    def forgotten(table: pa.Table) -> pa.Table:
        if _PAYLOAD not in table.column_names:
            return table
        place = table.schema.get_field_index(_PAYLOAD)
        arrays = table.columns
        arrays[place] = pa.chunked_array([pa.nulls(table.num_rows, table.schema.field(place).type)])
        return pa.Table.from_arrays(arrays, schema=table.schema)

    _rewrite(twins, forgotten)


def _rewrite(twins: Twins, changed: Callable[[pa.Table], pa.Table]) -> None:
    """Rewrite the files that no damage was done to."""
    for file in twins.data_files():
        if file not in twins.damaged:
            table = pq.ParquetFile(file).read()
            pq.write_table(changed(table), file)
            twins.damaged.add(file)


DAMAGES: Final[dict[str, Callable[[Twins], None]]] = {
    "swapped columns": swap_columns,
    "forgotten payloads": forget_payloads,
}
