"""The statistics of a data file's columns, for the commit that adds the file to a table. Pure.

Engines use these statistics to skip files. If a bound excluded a value of the file, queries would lose rows. A column
has either both bounds or no bounds. A column has no bounds in these cases:

  * The column is inside a list or map.
  * A row group with values of the column has no bounds, for example because of texts of more than 4 kB.
  * The column is floating point and contains NaN. Some engines sort NaN after all numbers, and other engines sort NaN
    before all numbers.

The footer has no statistics of floating-point columns. The writer collects these statistics while it writes the values.
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
"""The name of a column, followed by the names of the nested struct members that lead to a leaf."""

_FIRST_SURROGATE: Final = 0xD800
_AFTER_SURROGATES: Final = 0xE000
_LARGEST_BYTE: Final = 0xFF


@dataclass(frozen=True, slots=True)
class Fractions:
    """The statistics of a floating-point leaf. Picklable."""

    nulls: int
    nans: int
    """The number of NaN values."""
    bounds: tuple[float, float] | None
    """The smallest and the largest number; None if the leaf contains no numbers.

    If the leaf contains NaN, a bound may be NaN.
    """

    def join(self, others: Fractions) -> Fractions:
        """Return the statistics of all values that this object or `others` describes."""
        nulls, nans = self.nulls + others.nulls, self.nans + others.nans
        if self.bounds is None or others.bounds is None:
            return Fractions(nulls, nans, self.bounds or others.bounds)
        (least, largest), (low, high) = self.bounds, others.bounds
        return Fractions(nulls, nans, (min(least, low), max(largest, high)))


@dataclass(frozen=True, slots=True)
class LeafStatistics:
    """The statistics of one leaf column of a file."""

    path: Path
    """The path to the leaf, without names inside lists and maps."""
    field: pa.Field
    is_repeated: bool
    """True if the leaf is inside a list or map."""
    size: int
    """The compressed size in bytes."""
    values: int
    """The number of values, including nulls."""
    nulls: int | None
    nans: int | None
    """The number of NaN values; None if the leaf is not floating point, or the writer did not record statistics."""
    bounds: tuple[Any, Any] | None
    """The smallest and the largest value, both inclusive; None if the column has no bounds.

    Dates and times are integers.
    """


def leaf_statistics(footer: pq.FileMetaData, fractions: Mapping[Path, Fractions]) -> Iterator[LeafStatistics]:
    """Yield the statistics of each leaf, in the order of the file's columns."""
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    for number, (path, field, is_repeated) in enumerate(_leaves((), list(footer.schema.to_arrow_schema()))):
        chunks = [group.column(number) for group in groups]
        statistics = [chunk.statistics if chunk.is_stats_set else None for chunk in chunks]
        nulls, nans, bounds = _nulls(statistics), None, None
        if types.is_floating(field.type):
            collected = None if is_repeated else fractions.get(path)
            if collected is not None:
                nulls, nans, bounds = (
                    collected.nulls,
                    collected.nans,
                    None if collected.nans else collected.bounds,
                )
        elif not is_repeated:
            bounds = _bounds(field.type, statistics)
        size = sum(chunk.total_compressed_size for chunk in chunks)
        values = sum(chunk.num_values for chunk in chunks)
        yield LeafStatistics(path, field, is_repeated, size, values, nulls, nans, bounds)


def fractions_of(rows: pa.Table) -> dict[Path, Fractions]:
    """Collect the statistics of each floating-point leaf outside lists and maps."""
    collected: dict[Path, Fractions] = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        _collect_fractions((name,), column, collected)
    return collected


def _collect_fractions(path: Path, values: pa.ChunkedArray, collected: dict[Path, Fractions]) -> None:
    if types.is_struct(values.type):
        for index, member in enumerate(values.type):
            _collect_fractions((*path, member.name), pc.struct_field(values, [index]), collected)
    elif types.is_floating(values.type):
        nans = pc.sum(pc.is_nan(values)).as_py() or 0
        least, largest = (pc.min_max(values)[side].as_py() for side in ("min", "max"))
        # Some engines sort -0.0 before 0.0, and other engines treat both as equal. So if a bound is a zero, the range
        # includes both zeros.
        bounds = None if least is None else (least or -0.0, largest or 0.0)
        collected[path] = Fractions(values.null_count, nans, bounds)


def _leaves(path: Path, fields: Sequence[pa.Field]) -> Iterator[tuple[Path, pa.Field, bool]]:
    """Yield, in the file's order, the path and field of each leaf, and whether the leaf is inside a list or map."""
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
    # Raw bounds are integers. Python cannot represent dates and times outside the years 1 to 9999.
    is_raw = types.is_temporal(kind)
    return (
        min(one.min_raw if is_raw else one.min for one in filled),
        max(one.max_raw if is_raw else one.max for one in filled),
    )


def largest_text(value: str, length: int | None) -> str | None:
    """Return an upper bound of a text in the order of UTF-8, for statistics that limit the length of bounds.

    Args:
        value: The text.
        length: The maximum length of the bound, in characters, or None if the length is unlimited.

    Returns:
        The bound. The result is None if the first `length` characters are all the last character of Unicode.

    """
    if length is None or len(value) <= length:
        return value
    head = value[:length].rstrip(chr(sys.maxunicode))
    if not head:
        return None
    following = ord(head[-1]) + 1
    return head[:-1] + chr(_AFTER_SURROGATES if following == _FIRST_SURROGATE else following)


def largest_bytes(value: bytes, count: int | None) -> bytes | None:
    """Return an upper bound of `value` with at most `count` bytes, or None if the first `count` bytes are all 255."""
    if count is None or len(value) <= count:
        return value
    head = value[:count].rstrip(bytes([_LARGEST_BYTE]))
    return None if not head else head[:-1] + bytes([head[-1] + 1])
