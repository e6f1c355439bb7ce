"""Pushdown of filters on metadata columns to partitions, positions, times and keys. Driver only; no I/O.

Spark passes those conditions of `WHERE` that are joined by AND and that the filters of `pyspark.sql.datasource` can
express. Such a filter compares a column, or a field of a struct, with a constant. Spark passes filters only if
`spark.sql.python.filterPushdown.enabled` is true. Spark itself evaluates each filter that is returned to it. So a read
may return too many rows, but never too few.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.spark.filter_values import BeyondPython
from pyspark_pulsar.spark.shipped_objects import runs_in

_KEY: Final = ("__key",)
_TOPIC: Final = ("__topic",)
_PARTITION: Final = ("__partition",)
_PUBLISH_TIME: Final = ("__publishTime",)
_MESSAGE_ID: Final = ("__messageId",)
_LEDGER: Final = ("__messageId", "ledger")
_ENTRY: Final = ("__messageId", "entry")
_ID_PARTITION: Final = ("__messageId", "partition")
_NEVER_NULL: Final = (
    _TOPIC, _PARTITION, _PUBLISH_TIME, _MESSAGE_ID, _LEDGER, _ENTRY, ("__messageId", "batchIndex"), _ID_PARTITION,
)  # fmt: skip

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_LEAST: Final = -(1 << 63)
_MOST: Final = 1 << 63
_PUSHING_WORKER: Final = "pyspark.sql.worker.data_source_pushdown_filters"

Compare = Callable[[Any, Any], bool]
_COMPARISONS: Final[Mapping[type[Filter], Compare]] = {
    EqualTo: lambda left, right: left == right,
    EqualNullSafe: lambda left, right: left == right,
    GreaterThan: lambda left, right: left > right,
    GreaterThanOrEqual: lambda left, right: left >= right,
    LessThan: lambda left, right: left < right,
    LessThanOrEqual: lambda left, right: left <= right,
    StringStartsWith: lambda left, right: left.startswith(right),
    StringEndsWith: lambda left, right: left.endswith(right),
    StringContains: lambda left, right: right in left,
}


@dataclass(frozen=True, slots=True)
class _Span:
    """The whole numbers from `low` to `high` (both inclusive)."""

    low: int = _LEAST
    high: int = _MOST

    def both(self, other: _Span) -> _Span:
        return _Span(max(self.low, other.low), min(self.high, other.high))

    def covers(self, values: Iterable[int]) -> bool:
        """Return whether the span contains exactly `values`."""
        return self.high - self.low + 1 == len(set(values))


@dataclass(frozen=True, slots=True)
class PushedFilters:
    """The part of a read that remains after filters.

    The part contains all rows of the query, and by default it is the whole read.
    """

    partition_filters: tuple[Filter, ...] = ()
    """Filters on columns that have the same value in all rows of a topic partition."""
    ledgers: _Span = _Span()
    entries: _Span = _Span()
    start: Position | None = None
    end: Position | None = None
    published_us: _Span = _Span()
    """The publish times to read, in Unix microseconds."""
    keys: frozenset[bytes] | None = None

    def narrow(self, requests: Sequence[RangeRequest]) -> list[RangeRequest]:
        """Return the part of `requests` that remains after the filters.

        Partitions without a row for the query are removed.
        """
        if self.keys is not None and not self.keys:
            return []
        start, end = self._positions()
        window = self._window()
        return [
            replace(
                request,
                start=request.start if start is None else max(request.start, start),
                end=request.end if end is None else min(request.end, end),
                window=request.window.narrowed(window),
                keys=self.keys,
                skips_from_earliest=request.from_earliest,
            )
            for request in requests
            if all(_holds(condition, _value_in(request, condition)) for condition in self.partition_filters)
        ]

    def _positions(self) -> tuple[Position | None, Position | None]:
        """Return the start (inclusive) and the end (exclusive) of the positions of all messages for the query."""
        low, high = self.ledgers.low, self.ledgers.high
        starts = [self.start] if self.start is not None else []
        ends = [self.end] if self.end is not None else []
        is_one = low == high
        # The ids of ledgers are never negative. In a position, a negative ledger id means `earliest`.
        if low > 0:
            starts.append(Position(low, min(max(0, self.entries.low), _MOST - 1) if is_one else 0))
        if high < _MOST - 1:
            last_is_known = is_one and self.entries.high < _MOST - 1
            ends.append(Position(high, self.entries.high + 1) if last_is_known else Position(high + 1, 0))
        return max(starts, default=None), min(ends, default=None)

    def _window(self) -> TimeWindow:
        """Return the window of publish times. The window is exact, because publish times are whole milliseconds."""
        low, high = self.published_us.low, self.published_us.high
        return TimeWindow(
            None if low == _LEAST else -(-low // 1000),
            None if high == _MOST else high // 1000 + 1,
        )


def push_filters(filters: Iterable[Filter]) -> tuple[PushedFilters, list[Filter]]:
    """Return the part of a read that the filters leave, and the filters that Spark must evaluate on each row."""
    pushed = PushedFilters()
    rest = []
    for condition in filters:
        exact = False
        if not _is_beyond_python(condition):
            pushed, exact = _push(pushed, condition)
        if not exact:
            rest.append(condition)
    if pushed.keys is None:
        return pushed, rest
    # A filter on keys excludes rows without a key.
    return pushed, [condition for condition in rest if condition != IsNotNull(_KEY)]


def may_push_filters() -> bool:
    """Return whether Spark started this process to push filters down.

    Spark plans reads with pushdown in a separate worker program. In the other worker program, a reader that can push
    filters causes an error. Only the name of the program distinguishes the two programs.
    """
    return runs_in(_PUSHING_WORKER)


def _is_beyond_python(condition: Filter) -> bool:
    """Return whether Python has no value for the filter's constant (`spark.filter_values`)."""
    inner = condition.child if isinstance(condition, Not) else condition
    return isinstance(getattr(inner, "value", None), BeyondPython)


def _push(pushed: PushedFilters, condition: Filter) -> tuple[PushedFilters, bool]:
    """Add a filter. Return the result, and whether the result contains only rows that pass the filter."""
    attribute = _attribute(condition)
    if isinstance(condition, IsNotNull):
        return pushed, attribute in _NEVER_NULL
    if attribute in (_TOPIC, _PARTITION, _ID_PARTITION):
        if not _fits(condition, str if attribute == _TOPIC else int):
            return pushed, False
        return replace(pushed, partition_filters=(*pushed.partition_filters, condition)), True
    if attribute == _KEY:
        return _push_keys(pushed, condition)
    if attribute == _MESSAGE_ID:
        return _push_message_id(pushed, condition), False
    if attribute == _PUBLISH_TIME:
        span, exact = _span(condition, _microseconds)
        return replace(pushed, published_us=pushed.published_us.both(span)), exact
    if attribute == _LEDGER:
        span, exact = _span(condition, _whole)
        return replace(pushed, ledgers=pushed.ledgers.both(span)), exact
    if attribute == _ENTRY:
        # Positions can express an entry only within one ledger.
        return replace(pushed, entries=pushed.entries.both(_span(condition, _whole)[0])), False
    return pushed, False


def _push_keys(pushed: PushedFilters, condition: Filter) -> tuple[PushedFilters, bool]:
    values = _alternatives(condition)
    if values is None or not all(isinstance(value, bytes | bytearray) for value in values):
        return pushed, False
    keys = frozenset(bytes(value) for value in values)
    return replace(pushed, keys=keys if pushed.keys is None else pushed.keys & keys), True


def _push_message_id(pushed: PushedFilters, condition: Filter) -> PushedFilters:
    """Add a filter on `__messageId`. Spark compares structs by field: ledger, entry, batch index, partition."""
    value = getattr(condition, "value", None)
    if not isinstance(value, Mapping):
        return pushed
    ledger, entry, index = (_whole(value.get(name)) for name in ("ledger", "entry", "batchIndex"))
    if ledger is None or entry is None or index is None:
        return pushed
    if isinstance(condition, EqualTo | EqualNullSafe | GreaterThan | GreaterThanOrEqual) and ledger >= 0:
        # The index of a message outside of a batch is -1 in the column, and 0 in a position.
        start = Position(ledger, entry, max(0, index)) if entry >= 0 else Position(ledger, 0)
        pushed = replace(pushed, start=start if pushed.start is None else max(pushed.start, start))
    if isinstance(condition, EqualTo | EqualNullSafe | LessThan | LessThanOrEqual):
        end = Position(ledger, min(entry + 1, _MOST - 1))
        pushed = replace(pushed, end=end if pushed.end is None else min(pushed.end, end))
    return pushed


def _span(condition: Filter, number: Callable[[Any], int | None]) -> tuple[_Span, bool]:
    """Return the span of the numbers that pass the filter, and whether all numbers of the span pass it."""
    values = _alternatives(condition)
    if values is not None:
        numbers = [number(value) for value in values]
        whole = [value for value in numbers if value is not None]
        if len(whole) < len(numbers):
            return _Span(), False
        span = _Span(min(whole, default=1), max(whole, default=0))
        return span, span.covers(whole)
    bound = number(getattr(condition, "value", None))
    if bound is None:
        return _Span(), False
    match condition:
        case GreaterThan():
            return _Span(low=bound + 1), True
        case GreaterThanOrEqual():
            return _Span(low=bound), True
        case LessThan():
            return _Span(high=bound - 1), True
        case LessThanOrEqual():
            return _Span(high=bound), True
    return _Span(), False


def _alternatives(condition: Filter) -> list[Any] | None:
    """Return the values that pass an equality filter, or None if the filter is of another kind.

    The values do not include null, because null passes no equality filter.
    """
    match condition:
        case EqualTo() | EqualNullSafe():
            return None if condition.value is None else [condition.value]
        case In():
            return [value for value in condition.value if value is not None]
    return None


def _holds(condition: Filter, value: str | int) -> bool | None:
    """Return SQL's result of the filter for a value that is not null. None means SQL's UNKNOWN."""
    match condition:
        case Not():
            holds = _holds(condition.child, value)
            return None if holds is None else not holds
        case IsNull():
            return False
        case In():
            is_among = value in [constant for constant in condition.value if constant is not None]
            return True if is_among else None if None in condition.value else False
    constant = getattr(condition, "value", None)
    if constant is None:
        return False if isinstance(condition, EqualNullSafe) else None
    return _COMPARISONS[type(condition)](value, constant)


def _value_in(request: RangeRequest, condition: Filter) -> str | int:
    if _attribute(condition) == _TOPIC:
        return str(request.partition.topic)
    return request.partition.index


def _fits(condition: Filter, kind: type) -> bool:
    """Return whether `_holds` can evaluate the filter. For constants of another type, Spark has its own rules."""
    match condition:
        case Not():
            return _fits(condition.child, kind)
        case IsNull():
            return True
        case In():
            return all(value is None or type(value) is kind for value in condition.value)
    value = getattr(condition, "value", None)
    return type(condition) in _COMPARISONS and (value is None or type(value) is kind)


def _attribute(condition: Filter) -> tuple[str, ...]:
    return (
        _attribute(condition.child)
        if isinstance(condition, Not)
        else tuple(getattr(condition, "attribute", ()))
    )


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None


def _microseconds(value: Any) -> int | None:
    if not isinstance(value, dt.datetime) or value.tzinfo is None:
        return None
    return (value - _EPOCH) // _MICROSECOND
