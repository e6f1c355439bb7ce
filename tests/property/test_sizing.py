"""More load never needs less, and more machines never take longer, whatever the load and the costs are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings, strategies as st

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.read.planning.ledgers.ledger_range import ledger_ranges
from pyspark_pulsar.read.planning.splits.packing import Limits, PartitionRange, cut
from pyspark_pulsar.tools.sizing.costs import KINDS, Costs, default_costs
from pyspark_pulsar.tools.sizing.estimate import estimate
from pyspark_pulsar.tools.sizing.history import CatchUp
from pyspark_pulsar.tools.sizing.quantity import Quantity
from pyspark_pulsar.tools.sizing.workload import FORMATS, Workload

_NOISE = 1e-9


def _numbers(least: float, most: float) -> st.SearchStrategy[float]:
    return st.floats(least, most, allow_nan=False)


def _none_or(most: float) -> st.SearchStrategy[float]:
    return st.just(0.0) | _numbers(1e-6, most)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    in_object_storage = draw(_none_or(1))
    in_columns = draw(_none_or(1)) * (1 - in_object_storage)
    return Workload(
        topics=draw(st.integers(1, 100_000)),
        messages_a_day=draw(_none_or(1e12)),
        message_bytes=draw(_numbers(1, 1e6)),
        entry_messages=draw(_numbers(1, 1e4)),
        format=draw(st.sampled_from(FORMATS)),
        columns=draw(st.integers(1, 500)),
        days=draw(_none_or(4000)),
        in_object_storage=in_object_storage,
        in_columns=in_columns if in_columns >= 1e-6 else 0.0,
        written=draw(_none_or(2)),
        catch_up_hours=draw(_numbers(0.1, 10_000)),
        trigger_seconds=draw(_numbers(0.1, 86_400)),
        peak=draw(_numbers(1, 20)),
        executor_cores=draw(st.integers(1, 64)),
        executor_gigabits=draw(_numbers(0.1, 100)),
        utilization=draw(_numbers(0.05, 1)),
        ledger_hours=draw(_numbers(0.2, 100)),
        split_bytes=draw(_numbers(2**20, 2**40)),
        batch_tasks=draw(_numbers(100, 1e7)),
        admin_seconds=draw(_numbers(0, 1)),
        object_seconds=draw(_numbers(0, 1)),
    )


COSTS = st.fixed_dictionaries({key: _numbers(1e-10, 1e-4) for key in KINDS}).map(Costs)

# Which figures grow (1), fall (-1) when an input grows.
_DIRECTIONS = {
    "topics": {"executors to keep up": 1, "executors to catch up": 1, "memory of the driver's Python": 1,
               "most splits": 1, "checkpoint's offsets": 1, "admin requests a second": 1},
    "messages_a_day": {"executors to keep up": 1, "executors to catch up": 1, "from brokers at the peak": 1,
                       "most splits": 1, "ledgers": 1},
    "message_bytes": {"executors to keep up": 1, "executors to catch up": 1, "from bookies": 1,
                      "from object storage": 1},
    "entry_messages": {"executors to keep up": -1, "CPU of a message from entries": -1},
    "columns": {"executors to keep up": 1, "executors to catch up": 1},
    "days": {"executors to catch up": 1, "memory of the driver's Python": 1, "time to plan": 1,
             "admin answers to a plan": 1},
    "written": {"executors to keep up": 1, "executors to catch up": 1},
    "catch_up_hours": {"executors to catch up": -1, "from bookies": -1},
    "trigger_seconds": {"executors to keep up": -1, "admin requests a second": -1},
    "peak": {"executors to keep up": 1, "from brokers at the peak": 1},
    "executor_cores": {"executors to keep up": -1, "executors to catch up": -1},
    "executor_gigabits": {"executors to keep up": -1, "executors to catch up": -1},
    "utilization": {"executors to keep up": -1, "executors to catch up": -1},
    "ledger_hours": {"ledgers": -1, "memory of the driver's Python": -1, "time to plan": -1},
    "split_bytes": {"most splits": -1, "plans": -1, "executors to catch up": -1},
    "batch_tasks": {"plans": -1, "memory of the driver's Python": 1},
    "admin_seconds": {"time to plan": 1, "executors to catch up": 1},
    "object_seconds": {"time to plan": 1, "executors to catch up": 1},
}  # fmt: skip


def _figures(workload: Workload, costs: Costs) -> dict[str, Quantity] | None:
    try:
        return estimate(workload, costs).figures()
    except OptionError:
        return None


def _rounding(catch_up: CatchUp, utilization: float) -> float:
    """Return the relative error of the time that rounding a number of executors causes.

    A number just above a whole one counts as that whole one. The error grows as the new messages leave
    less of the executors.
    """
    of_cores = 1 - catch_up.new.value / (catch_up.cores.value * utilization)
    of_network = 1 - catch_up.from_brokers.value / catch_up.bytes_a_second.value
    return 1e-11 / max(1e-11, min(of_cores, of_network))


@given(workload=workloads(), costs=COSTS)
def test_no_figure_is_below_zero_and_no_executors_are_none(workload: Workload, costs: Costs) -> None:
    try:
        made = estimate(workload, costs)
    except OptionError:
        reject()
    figures = made.figures()
    assert not [name for name, figure in figures.items() if figure.value < 0]
    for name in ("executors to keep up", "executors to catch up"):
        if name in figures:
            assert figures[name].value >= 1
            assert figures[name].value == int(figures[name].value)
    if made.catch_up is not None:
        most = workload.catch_up_hours * 3600 * (1 + 1e-6 + _rounding(made.catch_up, workload.utilization))
        assert made.catch_up.time.value <= most
    assert figures["duration of a micro-batch"].value <= workload.trigger_seconds * (1 + 1e-6)


@pytest.mark.parametrize("field", _DIRECTIONS)
# The parameters share the model. A workload without an estimate shows nothing here. Hypothesis draws others,
# and must not stop for this reason.
@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
@given(workload=workloads(), costs=COSTS, factor=_numbers(1.01, 50))
def test_figures_go_one_way(field: str, workload: Workload, costs: Costs, factor: float) -> None:
    value = getattr(workload, field) or 1.0  # Nothing grows by no factor.
    workload = replace(workload, **{field: value})
    larger = min(1.0, value * factor) if field == "utilization" else value * factor
    if field == "topics":
        larger = float(round(larger))
    assume(larger > value)
    before, after = _figures(workload, costs), _figures(replace(workload, **{field: larger}), costs)
    assume(before is not None and after is not None)
    assert before is not None
    assert after is not None
    for name, direction in _DIRECTIONS[field].items():
        if name in before and name in after:
            grown = direction * (after[name].value - before[name].value)
            assert grown >= -_NOISE * max(1.0, abs(before[name].value)), name


@given(workload=workloads(), costs=COSTS)
def test_what_cannot_be_done_in_an_hour_can_be_done_in_more_or_never(
    workload: Workload, costs: Costs
) -> None:
    """A refusal names the time that would be enough."""
    try:
        estimate(workload, costs)
    except OptionError as fault:
        field = str(fault).partition(":")[0]
        assume(field == "catch_up_hours")
        named = float(str(fault).partition("than the ")[2].partition(" hours")[0])
        enough = replace(workload, catch_up_hours=named * 1.1 + 1)
        try:
            estimate(enough, costs)
        except OptionError as other:
            assert str(other).startswith("trigger_seconds")  # noqa: PT017 - a second refusal is of another kind


@given(
    ledgers=st.integers(1, 60),
    entries=st.integers(1000, 50_000),
    entry_bytes=st.integers(100, 5000),
    split_entries=st.integers(200, 500_000),
    topics=st.integers(1, 4),
)
def test_a_plan_has_no_more_splits_than_foretold(
    ledgers: int, entries: int, entry_bytes: int, split_entries: int, topics: int
) -> None:
    """The real cutter, on topics of equal ledgers."""
    limits = Limits(split_entries * entry_bytes)
    ranges = []
    for number in range(topics):
        known = [
            Ledger(k, entries, entries * entry_bytes, opened_ms=None, closed_ms=0) for k in range(ledgers)
        ]
        start, end = Position(0, 0), Position(ledgers - 1, entries)
        partition = TopicPartition(TopicName.parse(f"persistent://a/b/t{number}"), -1)
        ranges.append(PartitionRange(partition, start, end, tuple(ledger_ranges(known, start, end))))
    workload = Workload(
        topics=topics,
        messages_a_day=topics * ledgers * entries,
        message_bytes=entry_bytes,
        entry_messages=1,
        days=1,
        catch_up_hours=1e6,
        trigger_seconds=86_400,
        ledger_hours=max(1e-3, 24 / ledgers),
        ledger_bytes=1e18,
        ledger_entries=1e18,
        split_bytes=limits.max_bytes,
    )
    foretold = estimate(workload, default_costs()).figures()["most splits"].value
    made = len(cut(ranges, limits))
    assert made <= foretold * (1 + 1e-6)
    assert foretold <= 2 * made + 2 * topics
