"""Pushdown of filters: exact ones, ones that only narrow a read, and ones that only Spark evaluates."""

from __future__ import annotations

import datetime as dt
import types
from typing import Any

import pytest
from pyspark.sql.datasource import (
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
    StringEndsWith,
)

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.batch.pushdown import may_push_filters, push_filters
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.spark.filter_values import BEYOND_PYTHON

PARTITIONS = [
    TopicPartition.parse(f"persistent://public/default/{topic}-partition-{i}")
    for topic in "ab"
    for i in (0, 1)
]
END = Position(9, 9)
TIME, KEY, ID = ("__publishTime",), ("__key",), "__messageId"


def instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def narrow(
    *filters: Filter, window: TimeWindow = ALL_TIMES, start: Position = EARLIEST
) -> list[RangeRequest]:
    return push_filters(filters)[0].narrow([RangeRequest(each, start, END, window) for each in PARTITIONS])


def kept(*filters: Filter) -> list[Filter]:
    return push_filters(filters)[1]


@pytest.mark.parametrize(
    ("one", "window"),
    [
        (GreaterThanOrEqual(TIME, instant("1970-01-01T00:00:01.001+00:00")), (1001, None)),
        (GreaterThanOrEqual(TIME, instant("1970-01-01T00:00:01.000001+00:00")), (1001, None)),
        (GreaterThan(TIME, instant("1970-01-01T00:00:01+00:00")), (1001, None)),
        (GreaterThan(TIME, instant("1970-01-01T00:00:00.999999+00:00")), (1000, None)),
        (LessThan(TIME, instant("1970-01-01T00:00:01+00:00")), (None, 1000)),
        (LessThan(TIME, instant("1970-01-01T00:00:01.000001+00:00")), (None, 1001)),
        (LessThanOrEqual(TIME, instant("1970-01-01T00:00:01.000999+00:00")), (None, 1001)),
        (LessThanOrEqual(TIME, instant("1970-01-01T01:00:01+01:00")), (None, 1001)),
        (EqualTo(TIME, instant("1970-01-01T00:00:01.001+00:00")), (1001, 1002)),
    ],
)
def test_times_are_rounded_exactly(one: Filter, window: tuple[int | None, int | None]) -> None:
    assert {asked.window for asked in narrow(one)} == {TimeWindow(*window)}
    assert kept(one) == []


def test_no_message_has_a_time_between_milliseconds() -> None:
    between = EqualTo(TIME, instant("1970-01-01T00:00:01.000001+00:00"))
    assert all(asked.is_empty for asked in narrow(between))


def test_the_windows_of_options_and_filters_are_both_kept() -> None:
    later = GreaterThanOrEqual(TIME, instant("1970-01-01T00:00:01+00:00"))
    assert narrow(later, window=TimeWindow(500, 2000))[0].window == TimeWindow(1000, 2000)
    assert narrow(later, window=TimeWindow(1500, None))[0].window == TimeWindow(1500, None)


def test_partitions_without_a_row_for_the_query_are_left_out() -> None:
    one = EqualTo(("__topic",), "persistent://public/default/b")
    assert [asked.partition for asked in narrow(one, Not(EqualTo(("__partition",), 0)))] == [PARTITIONS[3]]
    assert narrow(StringEndsWith(("__topic",), "/c")) == []
    assert narrow(IsNull(("__partition",))) == []
    assert [asked.partition for asked in narrow(In((ID, "partition"), [1, 7]))] == [
        PARTITIONS[1],
        PARTITIONS[3],
    ]
    assert kept(one, IsNotNull(("__topic",)), IsNull(("__partition",))) == []


def test_filters_on_keys_are_pushed() -> None:
    assert narrow(EqualTo(KEY, b"a"))[0].keys == {b"a"}
    assert narrow(In(KEY, [b"a", None, b"b"]), In(KEY, [b"b", b"c"]))[0].keys == {b"b"}
    assert narrow(EqualTo(KEY, b"a"), EqualTo(KEY, b"b")) == []
    assert kept(IsNotNull(KEY), EqualTo(KEY, b"a")) == []
    others: list[Filter] = [IsNotNull(KEY), GreaterThan(KEY, b"a"), Not(EqualTo(KEY, b"a")), IsNull(KEY)]
    assert kept(*others) == others


def test_ledgers_and_entries_become_positions() -> None:
    def spans(*filters: Filter) -> set[tuple[Position, Position]]:
        return {(asked.start, asked.end) for asked in narrow(*filters)}

    ledger, entry = (ID, "ledger"), (ID, "entry")
    assert spans(GreaterThan(ledger, 4)) == {(Position(5, 0), END)}
    assert spans(LessThanOrEqual(ledger, 4)) == {(EARLIEST, Position(5, 0))}
    within = (EqualTo(ledger, 4), GreaterThanOrEqual(entry, 3), LessThan(entry, 7))
    assert spans(*within) == {(Position(4, 3), Position(4, 7))}
    assert spans(*within[1:]) == {(EARLIEST, END)}
    assert kept(*within) == list(within[1:])
    assert spans(In(ledger, [3, 5])) == {(Position(3, 0), Position(6, 0))}
    assert kept(In(ledger, [3, 5]), In(ledger, [3, 4, 5])) == [In(ledger, [3, 5])]


def test_message_ids_are_compared_as_structs() -> None:
    def id_(ledger: int, entry: int, index: int) -> dict[str, int]:
        return {"batchIndex": index, "entry": entry, "ledger": ledger, "partition": 1}

    from_ = GreaterThanOrEqual((ID,), id_(4, 3, 2))
    before = LessThan((ID,), id_(5, 1, -1))
    assert {(asked.start, asked.end) for asked in narrow(from_, before)} == {
        (Position(4, 3, 2), Position(5, 2))
    }
    assert kept(from_, before) == [from_, before]
    assert narrow(GreaterThan((ID,), id_(-1, 9, 9)))[0].start == EARLIEST


def test_a_filter_that_moves_the_start_ignores_removed_messages() -> None:
    later = GreaterThan((ID, "ledger"), 4)
    assert narrow(later)[0].from_earliest
    assert not narrow(later, start=Position(2, 0))[0].from_earliest


@pytest.mark.parametrize(
    "one",
    [
        EqualTo(("value",), 1),
        EqualTo(("other", "ledger"), 1),
        EqualTo(("__eventTime",), instant("1970-01-01T00:00:01+00:00")),
        EqualTo(KEY, "text"),
        EqualTo(("__topic",), b"bytes"),
        EqualTo(("__partition",), 1.0),
        EqualTo(("__partition",), True),
        In(("__partition",), [1, "1"]),
        GreaterThan((ID, "ledger"), 1.5),
        GreaterThan(TIME, dt.datetime(2026, 1, 1)),  # noqa: DTZ001 -- a timestamp without time zone
        GreaterThan(TIME, dt.date(2026, 1, 1)),
        GreaterThan((ID,), {"ledger": 1, "entry": None, "batchIndex": 0, "partition": 0}),
        EqualTo((ID, "batchIndex"), 0),
        Not(EqualTo(TIME, instant("1970-01-01T00:00:01+00:00"))),
    ],
)
def test_an_unsupported_filter_is_left_to_spark(one: Filter) -> None:
    assert kept(one) == [one]
    assert narrow(one) == narrow()


def called_from(module: str, spec: str | None) -> bool:
    """Return the answer in a process that runs that program."""
    scope: dict[str, Any] = {"__name__": module, "__spec__": spec and types.SimpleNamespace(name=spec)}
    scope["ask"] = may_push_filters
    exec("def run(): return ask()", scope)
    return bool(scope["run"]())


def test_filters_are_pushed_only_in_spark_s_pushdown_worker() -> None:
    pushing = "pyspark.sql.worker.data_source_pushdown_filters"
    assert called_from(pushing, None), "forked by Spark's daemon"
    assert called_from("__main__", pushing), "started on its own"
    assert not called_from("pyspark.sql.worker.plan_data_source_read", None)
    assert not may_push_filters()


def test_positions_have_64_bits() -> None:
    last = (1 << 63) - 1
    found = narrow(EqualTo((ID, "ledger"), 5), GreaterThan((ID, "entry"), last))
    assert {asked.start for asked in found} == {Position(5, last)}


def test_constants_that_python_cannot_hold_are_left_to_spark() -> None:
    now = instant("2026-01-31T08:00:00+00:00")
    beyond = [LessThan(TIME, BEYOND_PYTHON), Not(EqualTo(TIME, BEYOND_PYTHON)), In(TIME, BEYOND_PYTHON)]
    assert kept(*beyond, GreaterThan(TIME, now)) == beyond
    assert {request.window for request in narrow(*beyond)} == {ALL_TIMES}
