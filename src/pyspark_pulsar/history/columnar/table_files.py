"""The files of a table with their statistics, for an engine that reads the files itself. Driver only, without I/O.

A query can examine a table of 10,000 files. To keep such queries fast, each statistic is one list with an element for
each file. The index of a file is the same in all lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.history.columnar.data_file import Bounds
from pyspark_pulsar.history.columnar.layout import IDENTITY

LEDGER: Final = f"{IDENTITY}.ledger"

Parts = dict[str, Any]
"""The parts of a table's metadata that have been read, by the path of the metadata file. Parts never change. The type
of a part depends on the table's format.
"""

Bound = int | float | str
"""A number or text. A date is in days since 1970, a timestamp in microseconds since 1970, and a boolean is 0 or 1."""


class NotScannable(Exception):
    """An engine that reads the data files itself would return wrong rows. The error's text states the reason."""


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The statistics of one column, as lists with an element for each file.

    An element is None if the file's statistic is unknown.
    """

    encoded_lower: Sequence[Any | None]
    encoded_upper: Sequence[Any | None] | None
    """The encoded upper bounds, or None if the column is floating point.

    Floating-point columns have no upper bounds for two reasons. Spark sorts NaN above all numbers, and the table does
    not record whether a file contains NaN.
    """
    nulls: Sequence[int | None]
    """The number of rows without a value in each file."""
    decode: Callable[[Any], Bound | None]
    """Decodes a bound. Bounds are decoded only on demand, because most queries use few columns."""

    @property
    def lower(self) -> list[Bound | None]:
        """Return the lower bound of each file. No value in the file is smaller."""
        return [None if bound is None else self.decode(bound) for bound in self.encoded_lower]

    @property
    def upper(self) -> list[Bound | None] | None:
        """Return the upper bound of each file, or None if the column is floating point. No value is larger."""
        if self.encoded_upper is None:
            return None
        return [None if bound is None else self.decode(bound) for bound in self.encoded_upper]


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The data files of one state of a table. All files are Parquet files without deleted rows."""

    urls: Sequence[str]
    sizes: Sequence[int]
    """The size of each file in bytes."""
    rows: Sequence[int]
    statistics: Mapping[str, ColumnStatistics]
    """The statistics by column path, for `LEDGER`, `__partition` and the requested columns with simple types."""
    layouts: frozenset[tuple[Bounds | None, frozenset[int] | None]]
    """The distinct combinations of schemas and leaf columns in the files.

    The first member of a pair contains the smallest and the largest id of the schemas with which a file's rows were
    written. The second member contains the field ids of the file's leaf columns. A member is None if the table does not
    record the ids.
    """
    least_size: int | None
    """The smallest `__messageSize` of all rows, in bytes; None if the table does not record the size."""
    may_have_payloads: bool
    """True if some rows may contain the payload of their message (`layout.PAYLOAD_COLUMN`)."""
    unclear_names: frozenset[str]
    """The names, in lowercase, of columns that Spark cannot read reliably by name.

    Under such a name, a file may contain values of another field, because the name of a field has changed, at any
    depth.
    """
    changed_ms: int
    """The time of the commit that created this state, in Unix milliseconds."""

    @property
    def leaves(self) -> frozenset[frozenset[int] | None]:
        """Return the distinct sets of leaf columns that files have, as field ids."""
        return frozenset(leaves for _, leaves in self.layouts)

    def __len__(self) -> int:
        return len(self.urls)
