"""Positions as transaction identifiers: written positions are read back, and incomplete positions are
ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from pyspark_pulsar.history.columnar.delta.positions import (
    PositionsIncomplete,
    canonical,
    created_ms,
    document_in,
    numbers_of,
    positions_of,
)
from pyspark_pulsar.history.columnar.positions import TieredPartition, TieredPositions
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition

TOPIC = TopicName.parse("persistent://public/default/t")
LARGEST = 2**62

entries = st.builds(Position, st.integers(0, LARGEST), st.integers(0, LARGEST))
moments = st.none() | st.integers(0, LARGEST)
created = st.none() | st.datetimes().map(
    lambda moment: f"{moment:%Y}-01-31T08:00:00.{moment.microsecond // 1000:03}Z"
)
tiered = st.builds(
    TieredPartition,
    entries,
    created,
    moments,
    moments,
    moments,
    st.lists(st.tuples(entries | st.just(EARLIEST), entries), max_size=3).map(tuple),
)
positions = st.dictionaries(st.integers(-1, 12), tiered, max_size=5).map(
    lambda partitions: TieredPositions(
        {TopicPartition(TOPIC, index): tiered for index, tiered in partitions.items()}
    )
)


def requested(numbers: Mapping[str, int], names: Sequence[str]) -> list[int | None]:
    return [numbers.get(name) for name in names]


@given(positions)
def test_positions_are_read_back(given: TieredPositions) -> None:
    kept = canonical(given)
    numbers = numbers_of(kept)
    assert all(-1 <= number < 2**63 for number in numbers.values())
    assert positions_of(TOPIC, lambda names: requested(numbers, names)) == kept


@given(positions, positions)
def test_numbers_of_partitions_that_are_moved_replace_those_before(
    first: TieredPositions, then: TieredPositions
) -> None:
    kept = canonical(first.with_partitions(then.partitions))
    table = {**numbers_of(canonical(first)), **numbers_of(kept)}
    assert positions_of(TOPIC, lambda names: requested(table, names)) == kept


@given(positions, st.data())
def test_a_missing_number_is_noticed(given: TieredPositions, data: st.DataObject) -> None:
    numbers = numbers_of(canonical(given))
    gone = data.draw(st.sampled_from(sorted(numbers)))
    left = {name: number for name, number in numbers.items() if name != gone}
    with pytest.raises(PositionsIncomplete):
        positions_of(TOPIC, lambda names: requested(left, names))


def test_a_number_of_an_older_commit_is_missed() -> None:
    partition = TopicPartition(TOPIC, 3)
    older = TieredPartition(Position(7, 0))
    newer = replace(older, end=Position(9, 0))
    numbers = numbers_of(TieredPositions({partition: newer}))
    numbers["pulsar.positions/3/end.ledger"] = 7
    with pytest.raises(PositionsIncomplete, match="of another commit"):
        positions_of(TOPIC, lambda names: requested(numbers, names))


def test_a_table_that_is_no_tier_has_none() -> None:
    with pytest.raises(PositionsIncomplete, match="no numbers exist"):
        positions_of(TOPIC, lambda names: [None] * len(names))


def test_a_position_inside_an_entry_is_none_of_a_table() -> None:
    inside = TieredPositions({TopicPartition(TOPIC, -1): TieredPartition(Position(7, 3, 2))})
    with pytest.raises(ValueError, match="between entries, got 7:3:2"):
        numbers_of(inside)


@pytest.mark.parametrize(
    ("created", "milliseconds"),
    [
        ("2026-01-31T08:00:00.000Z", 1_769_846_400_000),
        ("1970-01-01T00:00:00.001Z", 1),
        ("2026-01-31T08:00:00Z", None),
        ("2026-01-31T10:00:00.000+02:00", None),
        ("1969-12-31T23:59:59.999Z", None),
        ("soon", None),
        (None, None),
    ],
)
def test_times_of_creation_that_numbers_can_hold(created: str | None, milliseconds: int | None) -> None:
    assert created_ms(created) == milliseconds


def test_the_document_is_in_commits_of_ours() -> None:
    assert document_in({"operation": "WRITE", "pulsar.commits": 2, "pulsar.positions": "{}"}) == (2, "{}")
    assert document_in({"operation": "OPTIMIZE"}) is None
    assert document_in({"pulsar.commits": "2", "pulsar.positions": {}}) is None
