"""The files of a table with their statistics, for an engine that reads the files itself. Driver only; no I/O.

One query examines tables of 10,000 files, so the facts are stored by column: a file is an index into each list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.history.columnar.data_file import Bounds
from pyspark_pulsar.history.columnar.layout import IDENTITY

LEDGER: Final = f"{IDENTITY}.ledger"

Parts = dict[str, Any]
"""The parts of a table that never change and have been read, by their paths. Each format has its own values."""

Bound = int | float | str
"""A number or text: a date in days, a timestamp in microseconds since 1970, a boolean as 0 or 1."""


class NotScannable(Exception):
    """An engine that reads the data files itself would return wrong rows. The message states the reason."""


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The statistics of one column, by file.

    None means that a statistic is unknown. None can replace an element or a whole list.
    """

    encoded_lower: Sequence[Any | None]
    encoded_upper: Sequence[Any | None] | None
    """The upper bounds, or None if the column is floating point.

    Spark sorts NaN above all numbers, and the table does not record whether a file has NaN.
    """
    nulls: Sequence[int | None]
    """The number of rows without a value."""
    decode: Callable[[Any], Bound | None]
    """Decodes a bound from the table's form, on demand, because most queries use few columns."""

    @property
    def lower(self) -> list[Bound | None]:
        """Return a bound that is less than or equal to each value of a file, by file."""
        return [None if bound is None else self.decode(bound) for bound in self.encoded_lower]

    @property
    def upper(self) -> list[Bound | None] | None:
        """Return a bound that is greater than or equal to each value of a file, by file."""
        if self.encoded_upper is None:
            return None
        return [None if bound is None else self.decode(bound) for bound in self.encoded_upper]


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The data files of one state of a table. All are Parquet files without deleted rows."""

    urls: Sequence[str]
    sizes: Sequence[int]
    """In bytes."""
    rows: Sequence[int]
    statistics: Mapping[str, ColumnStatistics]
    """Statistics by column path: `LEDGER`, `__partition`, and the requested columns with simple types."""
    layouts: frozenset[tuple[Bounds | None, frozenset[int] | None]]
    """The distinct pairs of a file's schema ids and leaf columns.

    The first member contains the bounds of the ids of the schemas that tiered the rows. The second contains the ids of
    the leaf columns that the file has. None means that the table does not record the value.
    """
    least_size: int | None
    """The smallest `__messageSize` of a row, in bytes; None if the table does not record it."""
    may_have_payloads: bool
    """True if some rows may contain the payload of their message (`layout.PAYLOAD_COLUMN`)."""
    unclear_names: frozenset[str]
    """Columns, in lowercase, whose files may contain values of another column under the same name.

    The names of fields, at any depth, have changed in the table.
    """
    changed_ms: int
    """The time of the commit that created this state, in Unix milliseconds."""

    @property
    def leaves(self) -> frozenset[frozenset[int] | None]:
        """Return the distinct sets of leaf column ids that files have."""
        return frozenset(leaves for _, leaves in self.layouts)

    def __len__(self) -> int:
        return len(self.urls)
