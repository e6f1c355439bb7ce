"""Small splits of several topics share a task, in order; large splits and splits of unknown size do not."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.splits.tasks import (
    LEAST_OF_TINY,
    LEAST_TASKS,
    OPEN_BYTES,
    TASK_BYTES,
    tasks_of,
)
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange

OPTIONS = ReadOptions(service_url="pulsar://h:1", topic="t")
START, END = Position(5, 0), Position(5, 9)


def split(number: int, size: int | None, start: Position = START, first: Position | None = None) -> Split:
    """`first`: the start of the split's first range."""
    ranges = (SplitRange(first or start, END, FromBroker()),)
    return Split(TopicPartition.parse(f"t{number}"), start, END, ranges, size=size)


sizes = st.lists(st.one_of(st.none(), st.integers(1, 1 << 20), st.integers(1, 1 << 26)), max_size=300)


@example([1] * 32 + [9_306_112], None, 589_824, False)
@given(sizes, st.one_of(st.none(), st.integers(1, 100)), st.integers(1, 1 << 25), st.booleans())
def test_each_split_is_in_one_task_and_in_order(
    given_sizes: list[int | None], least: int | None, most: int, fewer: bool
) -> None:
    options = ReadOptions(
        service_url="pulsar://h:1", topic="t", min_partitions=least, max_bytes_per_partition=most
    )
    splits = [split(number, size) for number, size in enumerate(given_sizes)]
    tasks = tasks_of(options, splits, fewer_of_tiny=fewer)
    assert [of_task for task in tasks for of_task in task] == splits
    tiny = sum(size is not None and size < OPEN_BYTES for size in given_sizes)
    floor = LEAST_OF_TINY if fewer and len(splits) - tiny < LEAST_TASKS else LEAST_TASKS
    assert len(tasks) >= min(len(splits), max(floor, least or 1))
    for task in tasks:
        assert len(task) == 1 or sum(of_task.size or 0 for of_task in task) <= min(TASK_BYTES, most)


def test_three_thousand_small_topics_share_tasks() -> None:
    tasks = tasks_of(OPTIONS, [split(number, 2_000) for number in range(3_000)])
    assert 32 <= len(tasks) <= 60
    assert max(map(len, tasks)) <= TASK_BYTES // OPEN_BYTES


@pytest.mark.parametrize(
    ("count", "least", "most"), [(16, 16, 16), (40, 16, 20), (300, 19, 22), (3_000, 32, 60)]
)
def test_tiny_topics_of_a_batch_need_few_tasks(count: int, least: int, most: int) -> None:
    splits = [split(number, 2_000) for number in range(count)]
    assert least <= len(tasks_of(OPTIONS, splits, fewer_of_tiny=True)) <= most
    larger = [split(count + number, OPEN_BYTES) for number in range(LEAST_TASKS)]
    assert len(tasks_of(OPTIONS, splits + larger, fewer_of_tiny=True)) >= LEAST_TASKS, (
        "beside them nothing changes"
    )


def test_a_large_split_has_its_own_task() -> None:
    splits = [split(number, TASK_BYTES if number % 2 else 1) for number in range(100)]
    assert max(map(len, tasks_of(OPTIONS, splits))) == 1


def test_a_split_of_unknown_size_has_its_own_task() -> None:
    """A split of unknown size may be a whole backlog."""
    splits = [split(number, None, EARLIEST) for number in range(100)]
    assert max(map(len, tasks_of(OPTIONS, splits))) == 1
    known = [split(100 + number, None) for number in range(100)]
    assert len(tasks_of(OPTIONS, splits + known)) < 120


def test_a_split_from_earliest_shares_a_task_if_it_is_in_one_known_ledger() -> None:
    splits = [split(number, None, EARLIEST, START) for number in range(300)]
    assert len(tasks_of(OPTIONS, splits)) < 40


def test_each_split_is_a_task_if_options_limit_a_task() -> None:
    splits = [split(number, 1) for number in range(100)]
    for option in ({"max_records_per_partition": 1_000}, {"split_by": "key"}):
        options = ReadOptions(service_url="pulsar://h:1", topic="t", **option)  # type: ignore[arg-type]
        assert max(map(len, tasks_of(options, splits))) == 1
