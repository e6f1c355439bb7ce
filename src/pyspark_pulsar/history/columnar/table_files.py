"""What a table says of all its data files at once, for an engine that reads them itself. Driver only; no I/O.

Kept by column, as tables of 10,000 files are looked at for one query: a file is a number, its place in each list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.history.columnar.data_file import Bounds
from pyspark_pulsar.history.columnar.layout import IDENTITY

LEDGER: Final = f"{IDENTITY}.ledger"

Parts = dict[str, Any]
"""What a format has read of those parts of a table that never change, by their paths; the format's own."""

Bound = int | float | str
"""A number, or text; of a date the days, of a timestamp the microseconds since 1970, of a boolean 0 or 1."""


class NotScannable(Exception):
    """An engine that reads the data files itself would give other rows than the source does. Says why."""


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Of one column, for each file; None, in a list or instead of one, where nobody tells."""

    encoded_lower: Sequence[Any | None]
    encoded_upper: Sequence[Any | None] | None
    """None for floating point, of which nobody tells whether there is a NaN, which Spark has above all numbers."""
    nulls: Sequence[int | None]
    """How many rows have none."""
    decode: Callable[[Any], Bound | None]
    """From a bound as the table has it; most queries look at few columns."""

    @property
    def lower(self) -> list[Bound | None]:
        """Not above any value of the file."""
        return [None if bound is None else self.decode(bound) for bound in self.encoded_lower]

    @property
    def upper(self) -> list[Bound | None] | None:
        """Not below any value of the file."""
        if self.encoded_upper is None:
            return None
        return [None if bound is None else self.decode(bound) for bound in self.encoded_upper]


@dataclass(frozen=True, slots=True)
class TableFiles:
    """All data files of one state of a table; no row of them counts as deleted, and all are Parquet."""

    urls: Sequence[str]
    sizes: Sequence[int]
    """Bytes."""
    rows: Sequence[int]
    statistics: Mapping[str, ColumnStatistics]
    """By the paths of columns: `LEDGER`, `__partition`, and of those that were asked for the ones with simple types."""
    layouts: frozenset[tuple[Bounds | None, frozenset[int] | None]]
    """The ids of the schemas that tiered a file's rows, and the ids of the leaf columns that the file has, each pair
    once; None where the table does not tell."""
    least_size: int | None
    """The least `__messageSize` of a row, in bytes; None where the table does not tell."""
    may_have_payloads: bool
    """Whether there may be rows that keep the payload of their message (`layout.PAYLOAD_COLUMN`)."""
    unclear_names: frozenset[str]
    """Columns, in small letters, whose files may have values of another column, at any depth, under the same name: the
    names of fields have changed in the table."""
    changed_ms: int
    """When this state came to be, in Unix milliseconds."""

    @property
    def leaves(self) -> frozenset[frozenset[int] | None]:
        """The ids of leaf columns that files have, each set of them once."""
        return frozenset(leaves for _, leaves in self.layouts)

    def __len__(self) -> int:
        return len(self.urls)
