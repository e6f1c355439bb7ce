"""Rounds over ledgers that are opened, fill, vanish when they are empty, and are removed from the front."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.history.columnar.positions import TieredPartition, TieredPositions
from pyspark_pulsar.history.tiering.ledgers.complete_ledgers import complete_part
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.ledgers.ledger_range import ledger_ranges
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers

PARTITION = TopicPartition.parse("persistent://t/n/x")
HOUR = 3_600_000
KEPT = 10 * HOUR


class Topic:
    """Ledgers of one topic partition, and its table. A message is (ledger, entry)."""

    def __init__(self) -> None:
        self.now = 1_000_000 * HOUR
        self.ledgers = [self.opened(1)]
        self.written: list[tuple[int, int]] = []
        self.tiered: TieredPartition | None = None
        self.rows: list[tuple[int, int]] = []
        self.removed: set[tuple[int, int]] = set()
        """Messages that were removed since tiering began."""
        self.first = 0
        """The number of messages that were removed before tiering began."""

    def opened(self, number: int) -> Ledger:
        return Ledger(number, 0, 0, opened_ms=self.now, closed_ms=None)

    def write(self, entries: int) -> None:
        last = self.ledgers[-1]
        self.written += [(last.id, entry) for entry in range(last.entries, last.entries + entries)]
        self.ledgers[-1] = replace(last, entries=last.entries + entries, size=100 * (last.entries + entries))

    def roll(self) -> None:
        """Close a full ledger, or load the topic again; an empty ledger is deleted."""
        last = self.ledgers.pop()
        if last.entries:
            self.ledgers.append(replace(last, closed_ms=self.now))
        self.ledgers.append(self.opened(last.id + 1))

    def retain(self) -> None:
        """Remove ledgers whose retention is over."""
        while len(self.ledgers) > 1 and self.now - (self.ledgers[0].closed_ms or 0) >= KEPT:
            gone = self.ledgers.pop(0)
            if self.tiered is not None:
                self.removed |= {message for message in self.written if message[0] == gone.id}
            else:
                self.first += gone.entries

    def tier(self, readable: int | None, *, fail: bool = True) -> None:
        """Run a round; `readable` is the number of messages before the first one of an open transaction."""
        present = TopicLedgers(tuple(self.ledgers), created="now")
        end = Position(10**9, 0)
        if readable is not None and self.written and readable < len(self.written):
            end = Position(*self.written[max(0, readable)])
        part = complete_part(
            PARTITION, present, self.tiered, end, self.now, max_bytes=1500, kept_ms=lambda: KEPT, fail=fail
        )
        if part is None:
            return
        assert self.tiered is None or part.tiered.end >= self.tiered.end
        for ledger_range in ledger_ranges(present.ledgers, part.start, part.tiered.end):
            assert ledger_range.ledger is not None
            assert not ledger_range.ledger.is_open
            number = ledger_range.start.ledger
            self.rows += [
                (number, entry) for entry in range(ledger_range.start.entry, ledger_range.end.entry)
            ]
        positions = TieredPositions().with_partitions({PARTITION: part.tiered})
        assert TieredPositions.from_json(positions.to_json(), "here") == positions
        self.tiered = part.tiered

    @property
    def is_exact(self) -> bool:
        """Return whether the rows are the messages from the first one on, each once and in order."""
        return self.rows == self.written[self.first : self.first + len(self.rows)]


STEPS = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 9)),
    st.tuples(st.just("roll"), st.just(0)),
    st.tuples(st.just("wait"), st.integers(1, 12)),
    st.tuples(st.just("tier"), st.integers(0, 12)),
)


@given(st.lists(STEPS, max_size=60))
@settings(max_examples=400, deadline=None)
def test_all_messages_are_tiered_in_order_and_a_loss_is_reported(
    steps: list[tuple[str, int]],
) -> None:
    topic = Topic()
    for kind, number in steps:
        if kind == "write":
            topic.write(number)
        elif kind == "roll":
            topic.roll()
        elif kind == "wait":
            topic.now += number * HOUR
            topic.retain()
        else:
            # Some of the latest messages are of an open transaction.
            readable = len(topic.written) - number if number > 6 else None
            try:
                topic.tier(readable)
            except DataLossError:
                # A message that was not tiered may be removed. If all messages are removed, a loss may be
                # reported needlessly.
                tiered = set(topic.rows)
                assert topic.removed - tiered or topic.tiered is None or topic.tiered.seen_at is not None
                return
        assert topic.is_exact
    # No tiered message is tiered twice, and every closed ledger is tiered in the end.
    try:
        for _ in range(60):
            topic.tier(None)
    except DataLossError:
        return
    closed = {ledger.id for ledger in topic.ledgers if not ledger.is_open}
    assert topic.is_exact
    assert all(message in topic.rows for message in topic.written if message[0] in closed)
    assert topic.removed <= set(topic.rows)


def test_lost_ledgers_are_remembered() -> None:
    topic = Topic()
    topic.write(3)
    topic.roll()
    topic.write(3)
    topic.tier(None)
    topic.roll()
    topic.write(3)
    topic.roll()
    topic.write(1)
    topic.now += KEPT
    topic.retain()
    with pytest.raises(DataLossError, match="the first ledger that is not tiered"):
        topic.tier(None)
    topic.write(1)
    topic.roll()
    topic.tier(None, fail=False)
    assert topic.tiered is not None
    assert topic.tiered.lost == ((Position(2, 0), Position(4, 0)),)
    assert topic.tiered.lost_in(Position(1, 0), Position(2, 1))
    assert not topic.tiered.lost_in(EARLIEST, Position(2, 0))
