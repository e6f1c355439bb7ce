"""Filters that are pushed down and filters that Spark keeps return, together, the rows of the query's
filters.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings, strategies as st
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

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.batch.pushdown import push_filters
from pyspark_pulsar.read.bounds.request import RangeRequest

TOPICS = ["persistent://public/default/a", "persistent://public/default/b", "persistent://x/y/Zoë"]
KEYS = [None, b"", b"a", b"\xff"]
ZONES = [dt.UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("America/St_Johns")]
# Around the hour that Berlin has twice.
BASE = dt.datetime(2026, 10, 25, 0, 59, 59, 998_000, tzinfo=dt.UTC)
ID_FIELDS = ("ledger", "entry", "batchIndex", "partition")
EDGES = [-(1 << 63), -1, (1 << 63) - 1]


@dataclass(frozen=True)
class Row:
    topic: str
    partition: int
    ledger: int
    entry: int
    index: int
    millis: int
    key: bytes | None

    def cell(self, attribute: tuple[str, ...]) -> Any:
        id_ = dict(zip(ID_FIELDS, (self.ledger, self.entry, self.index, self.partition), strict=True))
        if attribute[0] == "__messageId":
            return tuple(id_.values()) if len(attribute) == 1 else id_[attribute[1]]
        return {
            "__topic": self.topic,
            "__partition": self.partition,
            "__publishTime": BASE + dt.timedelta(milliseconds=self.millis),
            "__key": self.key,
            "value": b"v",
        }[attribute[0]]

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition.parse(
            self.topic if self.partition < 0 else f"{self.topic}-partition-{self.partition}"
        )

    def is_in(self, asked: RangeRequest) -> bool:
        position = Position(self.ledger, self.entry, max(0, self.index))
        millis = (self.cell(("__publishTime",)) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(
            milliseconds=1
        )
        window = asked.window
        return (
            asked.partition == self.topic_partition
            and asked.start <= position < asked.end
            and (window.published_from is None or millis >= window.published_from)
            and (window.published_before is None or millis < window.published_before)
            and (asked.keys is None or self.key in asked.keys)
        )


rows = st.builds(
    Row,
    topic=st.sampled_from(TOPICS),
    partition=st.integers(-1, 2),
    ledger=st.integers(0, 4),
    entry=st.integers(0, 4),
    index=st.integers(-1, 3),
    millis=st.integers(-3, 3),
    key=st.sampled_from(KEYS),
)
instants = st.builds(
    lambda micros, zone: (BASE + dt.timedelta(microseconds=micros)).astimezone(zone),
    st.integers(-3500, 3500) | st.integers(-3, 3).map(lambda millis: millis * 1000),
    st.sampled_from(ZONES),
)
numbers = st.integers(-2, 5) | st.sampled_from(EDGES)
structs = st.fixed_dictionaries(dict.fromkeys(sorted(ID_FIELDS), numbers))
VALUES: dict[tuple[str, ...], st.SearchStrategy[Any]] = {
    ("__topic",): st.sampled_from([*TOPICS, "", "persistent://public", "b"]),
    ("__partition",): numbers,
    ("__publishTime",): instants,
    ("__key",): st.sampled_from([key for key in KEYS if key is not None]),
    ("__messageId",): structs,
    **{("__messageId", name): numbers for name in ID_FIELDS},
    ("value",): st.just(b"v"),
}
COMPARED: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}
SEARCHED: dict[type[Filter], Callable[[Any, Any], bool]] = {
    StringStartsWith: str.startswith,
    StringEndsWith: str.endswith,
    StringContains: operator.contains,
}
OPERATORS = COMPARED | SEARCHED


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    attribute = draw(st.sampled_from(list(VALUES)))
    values = VALUES[attribute]
    choices: list[st.SearchStrategy[Filter]] = [
        st.builds(kind, st.just(attribute), values)
        for kind in (*COMPARED, *(SEARCHED if attribute == ("__topic",) else ()))
    ]
    # Spark passes a list, though its documentation describes a tuple, and it passes the nulls that the user
    # wrote.
    choices.append(st.builds(In, st.just(attribute), st.lists(values | st.none(), max_size=4)))
    choices += [st.builds(kind, st.just(attribute)) for kind in (IsNull, IsNotNull)]
    found = draw(st.one_of(choices))
    return Not(found) if draw(st.booleans()) else found


def holds(one: Filter, row: Row) -> bool | None:
    """Return the result in SQL's logic of three values, written independently of the code under test."""
    if isinstance(one, Not):
        holds_not = holds(one.child, row)
        return None if holds_not is None else not holds_not
    cell = row.cell(one.attribute)  # type: ignore[attr-defined]
    if isinstance(one, IsNull | IsNotNull):
        return (cell is None) == isinstance(one, IsNull)
    value = one.value  # type: ignore[attr-defined]
    if isinstance(one, In):
        if cell is None:
            return None
        found = [comparable(each) == cell for each in value if each is not None]
        return True if any(found) else None if len(found) < len(value) else False
    if cell is None:
        return False if isinstance(one, EqualNullSafe) else None
    return bool(OPERATORS[type(one)](cell, comparable(value)))


def comparable(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        # Python takes times of two zones for unequal while one of them sets its clocks back, whatever they are in UTC.
        return value.astimezone(dt.UTC)
    return tuple(value[name] for name in ID_FIELDS) if isinstance(value, Mapping) else value


ALL = [
    RangeRequest(
        TopicPartition.parse(topic if index < 0 else f"{topic}-partition-{index}"), EARLIEST, Position(9, 0)
    )
    for topic in TOPICS
    for index in range(-1, 3)
]


@settings(deadline=None, max_examples=500, print_blob=True)
@given(given_filters=st.lists(filters(), max_size=4), found=st.lists(rows, min_size=1, max_size=20))
def test_what_is_pushed_and_what_is_kept_are_the_filters(
    given_filters: list[Filter], found: list[Row]
) -> None:
    pushed, rest = push_filters(given_filters)
    assert all(any(kept is each for each in given_filters) for kept in rest), (
        "Spark knows its own objects again"
    )
    narrowed = pushed.narrow(ALL)
    assert all(asked.from_earliest for asked in narrowed)
    for row in found:
        wanted = all(holds(each, row) is True for each in given_filters)
        read = [asked for asked in narrowed if row.is_in(asked)]
        assert len(read) <= 1
        assert (bool(read) and all(holds(each, row) is True for each in rest)) == wanted
