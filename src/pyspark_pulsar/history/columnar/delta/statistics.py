"""Statistics of a data file, as an add action has them: other engines, and our planner, skip files by them. Pure.

From the file's footer, so nothing is read again. Of each column, at any depth of structs, the number of nulls, and the
least and the largest value or neither (`writing.footer`). What is not exact is a bound:

  * moments are cut to milliseconds, the least down and the largest up, as other engines cut them;
  * texts of more than 32 letters are cut, and the last letter of the largest is replaced by the one after it.

Bytes have no bounds in the protocol. Neither have values that JSON or some engine cannot hold: infinite fractions, and
years outside 1 to 9999. Both bounds matter: the datasets of delta-rs 1.6 take a bound that a file lacks for null, and
find none of its rows by that column.

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

_LETTERS: Final = 32
_MOST_COLUMNS: Final = 256
"""Of which a commit tells, beside the metadata columns: it is read as a whole."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ALWAYS: Final = frozenset([PAYLOAD_COLUMN, TIERED_BY, *metadata_columns.FIELDS])


def file_statistics(footer: pq.FileMetaData, fractions: Mapping[Path, Fractions]) -> str:
    """Return JSON with the members `numRecords`, `minValues`, `maxValues`, `nullCount`.

    Args:
        footer: The file's.
        fractions: What is known of each leaf of fractions.

    """
    least: dict[Path, str] = {}
    largest: dict[Path, str] = {}
    nulls: dict[Path, str] = {}
    for leaf in _described(leaf_statistics(footer, fractions)):
        if leaf.nulls is None:
            continue
        nulls[leaf.path] = str(leaf.nulls)
        texts = None if leaf.bounds is None else _texts(leaf.field.type, *leaf.bounds)
        if texts is not None:
            least[leaf.path], largest[leaf.path] = texts
    members = {"minValues": _nested(least), "maxValues": _nested(largest), "nullCount": _nested(nulls)}
    return _json({"numRecords": str(footer.num_rows), **members})


def _described(leaves: Iterable[LeafStatistics]) -> Iterator[LeafStatistics]:
    """The leaves of which a commit tells."""
    others = 0
    for leaf in leaves:
        if leaf.is_repeated:
            continue
        others += leaf.path[0] not in _ALWAYS
        if leaf.path[0] in _ALWAYS or others <= _MOST_COLUMNS:
            yield leaf


def _texts(kind: pa.DataType, least: Any, largest: Any) -> tuple[str, str] | None:
    """Both bounds in JSON; None where one of them has no form that all engines read."""
    low, high = _text(kind, least, -1), _text(kind, largest, 1)
    return None if low is None or high is None else (low, high)


def _text(kind: pa.DataType, value: Any, direction: int) -> str | None:
    """A value that may be cut down (-1) or up (1), in JSON."""
    if types.is_binary(kind) or types.is_large_binary(kind):
        return None
    if types.is_boolean(kind):
        return json.dumps(value)
    if types.is_floating(kind):
        return json.dumps(value) if math.isfinite(value) else None
    if types.is_string(kind) or types.is_large_string(kind):
        cut = value[:_LETTERS] if direction < 0 else largest_text(value, _LETTERS)
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
            # The last millisecond of the year 9999.
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
    """Of leaves that are JSON already: numbers with more digits than Python's have stay as they are."""
    if isinstance(node, str):
        return node
    return "{" + ",".join(f"{json.dumps(name)}:{_json(inner)}" for name, inner in node.items()) + "}"
