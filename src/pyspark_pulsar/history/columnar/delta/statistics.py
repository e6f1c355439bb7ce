"""The statistics of a data file in an add action. Other engines and our planner skip files by these statistics. Pure.

The statistics are computed from the file's footer, so the file is not read again. For each column, at any depth of
structs, the statistics contain the number of nulls, and usually two bounds: the smallest and the largest value. A
column has either both bounds or no bounds (`writing.footer`). Some bounds are not exact:

  * The smallest timestamp is rounded down to milliseconds, and the largest timestamp is rounded up to milliseconds.
    Other engines round in the same way.
  * Texts of more than 32 characters are cut. In the cut form of the largest text, the last character is replaced with
    the next character of Unicode.

The protocol has no bounds for bytes. Infinite numbers and years outside 1 to 9999 have no bounds either, because JSON
or some engines cannot represent them. A column never has only one bound, because the datasets of delta-rs 1.6 treat a
missing bound as null. A filter on the column would then find no rows of the file.

Format: the Delta transaction log protocol, per-file statistics.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from pyspark_pulsar.history.columnar.layout import PAYLOAD_COLUMN, TIERED_BY
from pyspark_pulsar.history.columnar.writing.footer import (
    Fractions,
    LeafStatistics,
    Path,
    largest_text,
    leaf_statistics,
)
from pyspark_pulsar.schema import metadata_columns

_TEXT_LENGTH: Final = 32
_MOST_COLUMNS: Final = 256
"""The maximum number of value columns with statistics. A limit is needed because readers load each commit completely.
"""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ALWAYS: Final = frozenset([PAYLOAD_COLUMN, TIERED_BY, *metadata_columns.FIELDS])


def file_statistics(footer: pq.FileMetaData, fractions: Mapping[Path, Fractions]) -> str:
    """Return JSON with the members `numRecords`, `minValues`, `maxValues` and `nullCount`.

    Args:
        footer: The file's footer.
        fractions: The statistics of each floating-point leaf.

    """
    least: dict[Path, str] = {}
    largest: dict[Path, str] = {}
    nulls: dict[Path, str] = {}
    for leaf in _leaves_with_statistics(leaf_statistics(footer, fractions)):
        if leaf.nulls is None:
            continue
        nulls[leaf.path] = str(leaf.nulls)
        texts = None if leaf.bounds is None else _texts(leaf.field.type, *leaf.bounds)
        if texts is not None:
            least[leaf.path], largest[leaf.path] = texts
    members = {"minValues": _nested(least), "maxValues": _nested(largest), "nullCount": _nested(nulls)}
    return _json({"numRecords": str(footer.num_rows), **members})


def _leaves_with_statistics(leaves: Iterable[LeafStatistics]) -> Iterator[LeafStatistics]:
    """Yield the leaves whose statistics a commit contains.

    These are all leaves of metadata columns, and at most `_MOST_COLUMNS` leaves of value columns.
    """
    others = 0
    for leaf in leaves:
        if leaf.is_repeated:
            continue
        others += leaf.path[0] not in _ALWAYS
        if leaf.path[0] in _ALWAYS or others <= _MOST_COLUMNS:
            yield leaf


def _texts(kind: pa.DataType, least: Any, largest: Any) -> tuple[str, str] | None:
    """Return both bounds in JSON, or None if one of the bounds has no JSON form that all engines can read."""
    low, high = _text(kind, least, -1), _text(kind, largest, 1)
    return None if low is None or high is None else (low, high)


def _text(kind: pa.DataType, value: Any, direction: int) -> str | None:
    """Return a value in JSON. If JSON has no exact form, round down (`direction` is -1) or up (`direction` is 1)."""
    if types.is_binary(kind) or types.is_large_binary(kind):
        return None
    if types.is_boolean(kind):
        return json.dumps(value)
    if types.is_floating(kind):
        return json.dumps(value) if math.isfinite(value) else None
    if types.is_string(kind) or types.is_large_string(kind):
        cut = value[:_TEXT_LENGTH] if direction < 0 else largest_text(value, _TEXT_LENGTH)
        return None if cut is None else json.dumps(cut, ensure_ascii=False)
    if types.is_timestamp(kind):
        return (_moment if kind.tz else _local_moment)(value, direction)
    if types.is_date(kind):
        return _date(value)
    return f"{value:f}" if types.is_decimal(kind) else str(value)


def _moment(microseconds: int, direction: int) -> str | None:
    local = _local_moment(microseconds, direction)
    return None if local is None else f'{local[:-1]}Z"'


def _local_moment(microseconds: int, direction: int) -> str | None:
    milliseconds = microseconds // 1000 if direction < 0 else -(-microseconds // 1000)
    try:
        moment, timespec = _EPOCH + timedelta(milliseconds=milliseconds), "milliseconds"
    except OverflowError:
        try:
            # Rounding up overflows for a value in the last millisecond of the year 9999.
            moment, timespec = _EPOCH + timedelta(microseconds=microseconds), "microseconds"
        except OverflowError:
            return None
    return f'"{moment.replace(tzinfo=None).isoformat(timespec=timespec)}"'


def _date(days: int) -> str | None:
    try:
        return f'"{date.fromordinal(_EPOCH.toordinal() + days)}"'
    except (ValueError, OverflowError):
        return None


def _nested(texts: Mapping[Path, str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, text in texts.items():
        node = tree
        for name in path[:-1]:
            node = node.setdefault(name, {})
        node[path[-1]] = text
    return tree


def _json(node: Mapping[str, Any] | str) -> str:
    """Return the JSON text of nested objects whose leaves are JSON texts already.

    Numbers with more digits than Python's floats therefore stay unchanged.
    """
    if isinstance(node, str):
        return node
    return "{" + ",".join(f"{json.dumps(name)}:{_json(inner)}" for name, inner in node.items()) + "}"
