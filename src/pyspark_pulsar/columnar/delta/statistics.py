"""Statistics of a data file, as an add action has them: other engines, and our planner, skip files by them. Pure.

From the file's footer, so nothing is read again. Of each column, at any depth of structs, the least and the largest
value and the number of nulls; of columns in lists and maps nothing. What is not exact is a bound:

  * moments are cut to milliseconds, the least down and the largest up, as other engines cut them;
  * texts of more than 32 letters are cut, the largest with the last letter of all behind it;
  * of fractions only the least, since NaN is larger than all others, and a footer does not tell of it;
  * of bytes and booleans only the number of nulls, as the protocol has it.

Format: the Delta transaction log protocol, per-file statistics.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from pyspark_pulsar.columnar.layout import PAYLOAD_COLUMN
from pyspark_pulsar.schema import metadata_columns

Path = tuple[str, ...]

_LETTERS: Final = 32
_LAST_LETTER: Final = "\U0010ffff"
_MOST_COLUMNS: Final = 256
"""Of which a commit tells, beside the metadata columns: it is read as a whole."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ALWAYS: Final = frozenset([PAYLOAD_COLUMN, *metadata_columns.FIELDS])


def file_statistics(footer: pq.FileMetaData) -> str:
    """JSON, with the members `numRecords`, `minValues`, `maxValues`, `nullCount`."""
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    least: dict[Path, str] = {}
    largest: dict[Path, str] = {}
    nulls: dict[Path, str] = {}
    for number, path, kind in _described(footer.schema.to_arrow_schema()):
        statistics = [group.column(number).statistics for group in groups]
        if any(one is None or not one.has_null_count for one in statistics):
            continue
        nulls[path] = str(sum(one.null_count for one in statistics))
        filled = [one for one in statistics if one.num_values]
        if filled and all(one.has_min_max for one in filled):
            low, high = _bounds(kind, filled)
            if low is not None:
                least[path] = low
            if high is not None:
                largest[path] = high
    members = {"minValues": _nested(least), "maxValues": _nested(largest), "nullCount": _nested(nulls)}
    return _json({"numRecords": str(footer.num_rows), **members})


def _described(schema: pa.Schema) -> Iterator[tuple[int, Path, pa.DataType]]:
    """The columns of which a commit tells, by their number in the file."""
    others = 0
    for number, (path, kind) in enumerate(_leaves((), list(schema))):
        if kind is None:
            continue
        others += path[0] not in _ALWAYS
        if path[0] in _ALWAYS or others <= _MOST_COLUMNS:
            yield number, path, kind


def _leaves(path: Path, fields: Sequence[pa.Field]) -> Iterator[tuple[Path, pa.DataType | None]]:
    """In the file's order; None for those inside lists and maps."""
    for field in fields:
        kind, own = field.type, (*path, field.name)
        if types.is_struct(kind):
            yield from _leaves(own, list(kind))
        elif types.is_map(kind):
            yield from ((own, None) for _ in _leaves((), [kind.key_field, kind.item_field]))
        elif types.is_list(kind) or types.is_large_list(kind):
            yield from ((own, None) for _ in _leaves((), [kind.value_field]))
        else:
            yield own, kind


def _bounds(kind: pa.DataType, statistics: Sequence[Any]) -> tuple[str | None, str | None]:
    """The least and the largest value of all row groups, in JSON."""
    if types.is_boolean(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return None, None
    is_raw = types.is_temporal(kind)  # Years that Python does not have are there too.
    low = min(one.min_raw if is_raw else one.min for one in statistics)
    high = max(one.max_raw if is_raw else one.max for one in statistics)
    if types.is_floating(kind):
        return (json.dumps(low) if math.isfinite(low) else None), None
    if types.is_string(kind) or types.is_large_string(kind):
        return _text(low, ""), _text(high, _LAST_LETTER)
    write = _writer(kind)
    return write(low, -1), write(high, 1)


def _writer(kind: pa.DataType) -> Callable[[Any, int], str | None]:
    """Takes a value and, in which direction it may be cut, -1 or 1."""
    if types.is_timestamp(kind):
        return _moment if kind.tz else _local_moment
    if types.is_date(kind):
        return _date
    return lambda value, _: f"{value:f}" if types.is_decimal(kind) else str(value)


def _text(value: str, behind: str) -> str:
    return json.dumps(value if len(value) <= _LETTERS else value[:_LETTERS] + behind, ensure_ascii=False)


def _moment(microseconds: int, direction: int) -> str | None:
    local = _local_moment(microseconds, direction)
    return None if local is None else f'{local[:-1]}Z"'


def _local_moment(microseconds: int, direction: int) -> str | None:
    milliseconds = microseconds // 1000 if direction < 0 else -(-microseconds // 1000)
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
    return f'"{moment.replace(tzinfo=None).isoformat(timespec="milliseconds")}"'


def _date(days: int, _: int) -> str | None:
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
