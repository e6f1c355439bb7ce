"""What a data file's footer says of its columns, for the statistics that a table's commit holds. Pure.

Engines skip files by these statistics, so a bound that leaves out one value loses rows. A column has both bounds or
none. It has none in these cases:

  * It is inside a list or map.
  * A row group that has values of the column does not tell both, as for texts of more than 4 kB.
  * It has fractions of which one is NaN, or of which nobody counted the NaN: footers leave NaN out of bounds, and some
    engines sort it after all numbers.
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
    """None for other than fractions, and where the writer did not count."""
    bounds: tuple[Any, Any] | None
    """The least and the largest value, both inclusive; dates and times as integers."""


def leaf_statistics(footer: pq.FileMetaData, nans: Mapping[Path, int]) -> Iterator[LeafStatistics]:
    """Yield statistics of each leaf, in the file's order. `nans`: the number of NaN in each leaf of fractions."""
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    for number, (path, field, is_repeated) in enumerate(_leaves((), list(footer.schema.to_arrow_schema()))):
        chunks = [group.column(number) for group in groups]
        statistics = [chunk.statistics if chunk.is_stats_set else None for chunk in chunks]
        counted = None if is_repeated else nans.get(path)
        has_bounds = not is_repeated and not (types.is_floating(field.type) and counted != 0)
        yield LeafStatistics(
            path,
            field,
            is_repeated,
            sum(chunk.total_compressed_size for chunk in chunks),
            sum(chunk.num_values for chunk in chunks),
            _nulls(statistics),
            counted,
            _bounds(field.type, statistics) if has_bounds else None,
        )


def nan_counts(rows: pa.Table) -> dict[Path, int]:
    """Count NaN in each leaf of fractions that is in no list and no map."""
    counts: dict[Path, int] = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        _count_nans((name,), column, counts)
    return counts


def _count_nans(path: Path, values: pa.ChunkedArray, counts: dict[Path, int]) -> None:
    if types.is_struct(values.type):
        for index, member in enumerate(values.type):
            _count_nans((*path, member.name), pc.struct_field(values, [index]), counts)
    elif types.is_floating(values.type):
        counts[path] = pc.sum(pc.is_nan(values)).as_py() or 0


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
