"""Option `limit`: the number of tasks and rows, and that the source of the rows is closed."""

from __future__ import annotations

from collections.abc import Generator

import pyarrow as pa
import pytest

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.limit import first_rows, options_for_limit, tasks_for_limit
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange

PARTITION = TopicPartition.parse("persistent://public/default/t")


def options(limit: int | None) -> ReadOptions:
    given = {"service.url": "pulsar://h:1", "topic": "t"}
    return parse_options(ReadOptions, given if limit is None else {**given, "limit": str(limit)})


def split(ledger: int) -> Split:
    start, end = Position(ledger, 0), Position(ledger, 5)
    return Split(PARTITION, start, end, (SplitRange(start, end, FromBroker()),))


@pytest.mark.parametrize(
    ("limit", "tasks"),
    [(None, [(1, 2), (3,)]), (10, [(1, 2, 3)]), (0, []), (10_001, [(1, 2), (3,)])],
)
def test_few_rows_are_read_by_one_task(limit: int | None, tasks: list[tuple[int, ...]]) -> None:
    planned = [(split(1), split(2)), (split(3),)]
    found = tasks_for_limit(planned, options(limit))
    assert [tuple(each.start.ledger for each in task) for task in found] == tasks


def test_few_messages_are_read_ahead_for_a_small_limit() -> None:
    assert options_for_limit(options(None)) == options(None)
    few = options_for_limit(options(3))
    assert (few.batch_rows, few.receiver_queue_size, few.consumers_per_split) == (3, 100, 1)
    many = options_for_limit(options(1_000_000))
    assert (many.batch_rows, many.receiver_queue_size) == (options(None).batch_rows, 50_000)


@pytest.mark.parametrize("limit", [1, 3, 4, 7, 8, 9])
def test_rows_end_at_the_limit_and_their_source_is_closed(limit: int) -> None:
    asked = []
    closed = []

    def batches() -> Generator[pa.RecordBatch, None, None]:
        try:
            for number in (0, 4):
                asked.append(number)
                yield pa.record_batch({"n": pa.array(range(number, number + 4))})
        finally:
            closed.append(True)

    given = [value for batch in first_rows(batches(), limit) for value in batch.column("n").to_pylist()]
    assert given == list(range(min(limit, 8)))
    assert closed == [True]
    assert len(asked) == (1 if limit <= 4 else 2)
