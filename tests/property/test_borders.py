"""A time window leaves out no ledger with a message inside it, compared with a model that reads every
message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from hypothesis import given, settings, strategies as st

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.bounds.window_edges import WindowEdges, WindowedRange
from pyspark_pulsar.read.sources.peek import FirstEntry, PartitionPosition

A = TopicPartition.parse("persistent://public/default/a")
BEHIND = Position(1_000, 0)
MOST_HIDDEN = 3

thorough = settings(deadline=None, max_examples=300, print_blob=True)


@dataclass(frozen=True)
class Message:
    """An entry that holds one message; all times are in milliseconds, the storage time is by the broker's
    clock.
    """

    position: Position
    published: int
    stored: int
    is_visible: bool = True


@dataclass(frozen=True)
class Topic:
    """Messages in their order, and their ledgers."""

    messages: tuple[Message, ...]
    ledgers: tuple[Ledger, ...]
    tells: bool = True
    """True if requested entries are returned."""

    def first_entries(
        self, places: Sequence[PartitionPosition]
    ) -> dict[PartitionPosition, FirstEntry | None]:
        return {(partition, position): self._first(position) for partition, position in places}

    def _first(self, position: Position) -> FirstEntry | None:
        for message in self.messages:
            if self.tells and message.is_visible and message.position >= position:
                return FirstEntry(message.position, 1, 10, message.published)
        return None

    def check(
        self, window: TimeWindow, slack: int, start: Position = EARLIEST, end: Position = BEHIND
    ) -> None:
        """Check that a read with this window would fetch every message in it."""
        borders = WindowEdges(self.first_entries, slack)
        for _ in range(2):
            first, behind = borders.spans({A: WindowedRange(self.ledgers, start, end, window)})[A]
            for message in self.messages:
                inside = (window.published_from is None or message.published >= window.published_from) and (
                    window.published_before is None or message.published < window.published_before
                )
                if inside and message.is_visible and start <= message.position < end:
                    assert first is None or first <= message.position, message
                    assert behind is None or message.position < behind, message


def topic_of(
    published: Sequence[int], stored: Sequence[int], lengths: Sequence[int], hidden: Sequence[bool]
) -> Topic:
    """`lengths`: of ledgers, the last one open, repeated as needed. A ledger is closed when its last entry is stored,
    before the next one is."""
    messages: list[Message] = []
    ledgers: list[Ledger] = []
    rest = list(zip(published, stored, hidden, strict=True))
    number = 0
    while rest:
        length = lengths[number % len(lengths)]
        part, rest = rest[:length], rest[length:]
        messages += [
            Message(Position(number, entry), *times, is_visible=not is_hidden)
            for entry, (*times, is_hidden) in enumerate(part)
        ]
        opened = ledgers[-1].closed_ms if ledgers else None
        last = messages[-1].stored if messages else 1
        ledgers.append(Ledger(number, len(part), len(part), opened_ms=opened, closed_ms=last))
        number += 1
    open_one = ledgers[-1:] and [replace(ledgers[-1], closed_ms=None)]
    return Topic(tuple(messages), (*ledgers[:-1], *open_one))


def no_long_runs(hidden: list[bool]) -> list[bool]:
    """Cut runs of entries that consumers do not see, such as markers, to a maximum length."""
    runs = accumulate(
        hidden, lambda run, is_hidden: (run % (MOST_HIDDEN + 1)) + 1 if is_hidden else 0, initial=0
    )
    return [is_hidden and run <= MOST_HIDDEN for is_hidden, run in zip(hidden, list(runs)[1:], strict=True)]


times = st.lists(st.integers(1, 5_000), min_size=1, max_size=40)
lengths = st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any)
windows = st.builds(
    TimeWindow, st.none() | st.integers(0, 7_000), st.none() | st.integers(0, 7_000), st.none()
)


@thorough
@given(data=st.data(), gaps=times, lengths=lengths, window=windows, slack=st.integers(0, 2_000))
def test_messages_of_many_producers_that_are_under_way_no_longer_than_the_slack(
    data: st.DataObject, gaps: list[int], lengths: list[int], window: TimeWindow, slack: int
) -> None:
    stored = sorted(gaps)
    delays = data.draw(st.lists(st.integers(-slack, slack), min_size=len(stored), max_size=len(stored)))
    published = [time - delay for time, delay in zip(stored, delays, strict=True)]
    topic_of(published, stored, lengths, [False] * len(stored)).check(window, slack)


@thorough
@given(
    data=st.data(),
    gaps=times,
    lengths=lengths,
    window=windows,
    slack=st.integers(0, 200),
    tells=st.booleans(),
)
def test_messages_of_one_producer_whatever_the_slack(
    data: st.DataObject, gaps: list[int], lengths: list[int], window: TimeWindow, slack: int, tells: bool
) -> None:
    """Publish times grow. Its clock may be wrong by anything, and messages wait for long, as for a broker that is
    away; some entries are not for consumers."""
    published = sorted(gaps)
    drawn = [
        data.draw(st.lists(kind, min_size=len(gaps), max_size=len(gaps)))
        for kind in (st.integers(0, 3_000), st.booleans())
    ]
    wrong = data.draw(st.integers(-4_000, 4_000))
    waits, hidden = drawn
    stored = list(accumulate((time + wait for time, wait in zip(published, waits, strict=True)), max))
    clock = [time + wrong for time in published]
    made = topic_of(clock, stored, lengths, no_long_runs(hidden))
    replace(made, tells=tells).check(window, slack)
    places = [EARLIEST, *(message.position for message in made.messages), BEHIND]
    start, end = sorted(data.draw(st.lists(st.sampled_from(places), min_size=2, max_size=2)))
    made.check(window, slack, start, end)


@thorough
@given(gaps=times, lengths=lengths, window=windows)
def test_ledgers_far_outside_the_window_are_left_out(
    gaps: list[int], lengths: list[int], window: TimeWindow
) -> None:
    """No message beyond the slack is read."""
    stored = sorted(gaps)
    topic = topic_of(stored, stored, lengths, [False] * len(stored))
    first, behind = WindowEdges(topic.first_entries, 100).spans(
        {A: WindowedRange(topic.ledgers, EARLIEST, BEHIND, window)}
    )[A]
    for former, ledger in pairwise(topic.ledgers):
        if window.published_from is not None and (former.closed_ms or 0) + 100 < window.published_from:
            assert first is not None
            assert first > Position(former.id, 0)
        if window.published_before is not None and (former.closed_ms or 0) - 100 >= window.published_before:
            assert behind is not None
            assert behind <= Position(ledger.id, 0)
