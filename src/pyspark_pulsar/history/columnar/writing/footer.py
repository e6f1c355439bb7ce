"""What is known of a data file's columns, for the statistics that a table's commit holds. Pure.

Engines skip files by these statistics, so a bound that leaves out one value loses rows. A column has both bounds or
none. It has none in these cases:

  * It is inside a list or map.
  * A row group that has values of the column does not tell both, as for texts of more than 4 kB.
  * It has fractions of which one is NaN: some engines sort it after all numbers, and some before.

The footer tells all but what fractions there are, which is seen when they are written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

Path = tuple[str, ...]
"""Names of a column and of members of structs, from the top."""

_FIRST_SURROGATE: Final = 0xD800
_BEHIND_SURROGATES: Final = 0xE000
_LARGEST_BYTE: Final = 0xFF


@dataclass(frozen=True, slots=True)
class Fractions:
    """What is known of a leaf of fractions. Picklable."""

    nulls: int
    nans: int
    """The number of NaN."""
    bounds: tuple[float, float] | None
    """The least and the largest of the others; None where there are none. NaN where there is NaN, in some cases."""

    def joined(self, others: Fractions) -> Fractions:
        """What is known of both together."""
        nulls, nans = self.nulls + others.nulls, self.nans + others.nans
        if self.bounds is None or others.bounds is None:
            return Fractions(nulls, nans, self.bounds or others.bounds)
        (least, largest), (low, high) = self.bounds, others.bounds
        return Fractions(nulls, nans, (min(least, low), max(largest, high)))


@dataclass(frozen=True, slots=True)
class LeafStatistics:
    """Statistics of one leaf column of a file."""

    path: Path
    """Without what is inside lists and maps."""
    field: pa.Field
    is_repeated: bool
    """Whether the leaf is inside a list or map."""
    size: int
    """Compressed bytes."""
    values: int
    """Nulls included."""
    nulls: int | None
    nans: int | None
    """None for other than fractions, and where the writer did not tell."""
    bounds: tuple[Any, Any] | None
    """The least and the largest value, both inclusive; dates and times as integers."""


def leaf_statistics(footer: pq.FileMetaData, fractions: Mapping[Path, Fractions]) -> Iterator[LeafStatistics]:
    """Yield statistics of each leaf, in the file's order."""
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    for number, (path, field, is_repeated) in enumerate(_leaves((), list(footer.schema.to_arrow_schema()))):
        chunks = [group.column(number) for group in groups]
        statistics = [chunk.statistics if chunk.is_stats_set else None for chunk in chunks]
        nulls, nans, bounds = _nulls(statistics), None, None
        if types.is_floating(field.type):
            told = None if is_repeated else fractions.get(path)
            if told is not None:
                nulls, nans, bounds = told.nulls, told.nans, None if told.nans else told.bounds
        elif not is_repeated:
            bounds = _bounds(field.type, statistics)
        size = sum(chunk.total_compressed_size for chunk in chunks)
        values = sum(chunk.num_values for chunk in chunks)
        yield LeafStatistics(path, field, is_repeated, size, values, nulls, nans, bounds)


def fractions_of(rows: pa.Table) -> dict[Path, Fractions]:
    """Look at each leaf of fractions that is in no list and no map."""
    told: dict[Path, Fractions] = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        _look((name,), column, told)
    return told


def _look(path: Path, values: pa.ChunkedArray, told: dict[Path, Fractions]) -> None:
    if types.is_struct(values.type):
        for index, member in enumerate(values.type):
            _look((*path, member.name), pc.struct_field(values, [index]), told)
    elif types.is_floating(values.type):
        nans = pc.sum(pc.is_nan(values)).as_py() or 0
        least, largest = (pc.min_max(values)[side].as_py() for side in ("min", "max"))
        # Zero is both -0.0 and 0.0 to some engines and not to others.
        bounds = None if least is None else (least or -0.0, largest or 0.0)
        told[path] = Fractions(values.null_count, nans, bounds)


def _leaves(path: Path, fields: Sequence[pa.Field]) -> Iterator[tuple[Path, pa.Field, bool]]:
    """In the file's order, and whether each is inside a list or map."""
    for field in fields:
        kind, own = field.type, (*path, field.name)
        if types.is_struct(kind):
            yield from _leaves(own, list(kind))
        elif types.is_map(kind):
            yield from ((own, leaf, True) for _, leaf, _ in _leaves((), [kind.key_field, kind.item_field]))
        elif types.is_list(kind) or types.is_large_list(kind):
            yield from ((own, leaf, True) for _, leaf, _ in _leaves((), [kind.value_field]))
        else:
            yield own, field, False


def _nulls(statistics: Sequence[Any]) -> int | None:
    if any(one is None or not one.has_null_count for one in statistics):
        return None
    return sum(int(one.null_count) for one in statistics)


def _bounds(kind: pa.DataType, statistics: Sequence[Any]) -> tuple[Any, Any] | None:
    if any(one is None for one in statistics):
        return None
    filled = [one for one in statistics if one.num_values]
    if not filled or not all(one.has_min_max for one in filled):
        return None
    # Python has no dates and times outside the years 1 to 9999.
    is_raw = types.is_temporal(kind)
    return (
        min(one.min_raw if is_raw else one.min for one in filled),
        max(one.max_raw if is_raw else one.max for one in filled),
    )


def largest_text(value: str, letters: int | None) -> str | None:
    """Return a text of at most so many letters that no text which begins like `value` exceeds, in the order of UTF-8.

    Returns:
        None where there is none: all the letters are the last one of Unicode.

    """
    if letters is None or len(value) <= letters:
        return value
    head = value[:letters].rstrip(chr(sys.maxunicode))
    if not head:
        return None
    following = ord(head[-1]) + 1
    return head[:-1] + chr(_BEHIND_SURROGATES if following == _FIRST_SURROGATE else following)


def largest_bytes(value: bytes, count: int | None) -> bytes | None:
    """The same of bytes."""
    if count is None or len(value) <= count:
        return value
    head = value[:count].rstrip(bytes([_LARGEST_BYTE]))
    return None if not head else head[:-1] + bytes([head[-1] + 1])
