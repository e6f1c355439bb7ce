"""A stream over a scalable topic reads each message once, and each key in order, whatever is split and
merged.
"""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, strategies as st

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.model.topic_layout import TopicLayout, TopicSegment, topic_layout
from pyspark_pulsar.read.microbatch.admission.segment_order import check_missed, drained_by, held_back

TOPIC = TopicName.parse("topic://public/default/orders", scalable=True)
KEYS = 16
WIDTH = 0x10000 // KEYS


class Topic:
    """A controller and its segments: entries are `(key, number)`, and numbers grow for each key."""

    def __init__(self) -> None:
        self.segments = {0: TopicSegment(0, 0, 0xFFFF, is_sealed=False)}
        self.entries: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.written = 0
        self._next = 1

    @property
    def active(self) -> list[TopicSegment]:
        return sorted(
            (each for each in self.segments.values() if not each.is_sealed), key=lambda each: each.first_hash
        )

    def write(self, key: int) -> None:
        holder = next(each for each in self.active if each.first_hash <= key * WIDTH <= each.last_hash)
        self.entries[holder.id].append((key, self.written))
        self.written += 1

    def split(self, index: int) -> None:
        parent = self.active[index % len(self.active)]
        middle = (parent.first_hash + parent.last_hash) // 2
        if parent.last_hash - parent.first_hash >= WIDTH:
            self._seal(parent)
            self._add(parent.first_hash, middle, parent)
            self._add(middle + 1, parent.last_hash, parent)

    def merge(self, index: int) -> None:
        if len(self.active) > 1:
            left, right = self.active[index % (len(self.active) - 1) :][:2]
            self._seal(left)
            self._seal(right)
            self._add(left.first_hash, right.last_hash, left, right)

    def prune(self, index: int) -> None:
        """Remove a drained segment, and its edges with it."""
        sealed = [each.id for each in self.segments.values() if each.is_sealed]
        if sealed:
            gone = sealed[index % len(sealed)]
            del self.segments[gone]

    def _seal(self, segment: TopicSegment) -> None:
        self.segments[segment.id] = TopicSegment(
            segment.id, segment.first_hash, segment.last_hash, is_sealed=True, parents=segment.parents
        )

    def _add(self, first: int, last: int, *parents: TopicSegment) -> None:
        ids = tuple(parent.id for parent in parents)
        self.segments[self._next] = TopicSegment(self._next, first, last, is_sealed=False, parents=ids)
        self._next += 1

    @property
    def layout(self) -> TopicLayout:
        return topic_layout(TOPIC, self.segments.values(), "here")

    def ends(self) -> dict[TopicPartition, Position]:
        return {
            partition: Position(partition.index, count)
            if (count := len(self.entries[partition.index]))
            else EARLIEST
            for partition in self.layout.partitions
        }


class Query:
    """The offset that the reader keeps, and the tasks of its micro-batches."""

    def __init__(self) -> None:
        self.positions: dict[TopicPartition, Position] = {}
        self.drained: set[TopicPartition] = set()
        self.batches: list[list[list[tuple[int, int]]]] = []

    def trigger(self, topic: Topic, most: int) -> bool:
        """Run a micro-batch with `most` entries of each segment; return whether there was anything to read."""
        layout, ends = topic.layout, topic.ends()
        check_missed([layout], self.positions, fail=True)
        begin = {partition: self.positions.get(partition, EARLIEST) for partition in ends}
        reached = held_back([layout], begin, ends, ends, self.drained, lambda *_: False)
        tasks, positions = [], {}
        for partition, end in reached.items():
            first, last = (0 if each.is_earliest else each.entry for each in (begin[partition], end))
            last = min(last, first + most)
            tasks.append(topic.entries[partition.index][first:last])
            positions[partition] = Position(partition.index, last) if last else EARLIEST
        drained = drained_by([layout], positions, ends, self.drained)
        is_news = (positions, drained) != (self.positions, self.drained)
        self.batches.append([task for task in tasks if task])
        self.positions, self.drained = positions, drained
        return is_news


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, KEYS - 1)),
        st.tuples(st.sampled_from(["split", "merge"]), st.integers(0, 20)),
        st.tuples(st.just("trigger"), st.integers(1, 5)),
    ),
    max_size=80,
)


def run(events: list[tuple[str, int]]) -> tuple[Topic, Query]:
    topic, query = Topic(), Query()
    for what, number in events:
        if what == "trigger":
            query.trigger(topic, number)
        else:
            getattr(topic, what)(number)
    return topic, query


@given(EVENTS)
def test_all_messages_are_read_once_and_each_key_in_order(events: list[tuple[str, int]]) -> None:
    topic, query = run(events)
    triggers = 0
    while query.trigger(topic, 3):
        triggers += 1
        assert triggers <= topic.written + 2 * len(topic.segments), (
            "a trigger that is worth it brings something"
        )
    rows = [row for batch in query.batches for task in batch for row in task]
    assert sorted(number for _, number in rows) == list(range(topic.written))
    by_key: dict[int, list[int]] = defaultdict(list)
    for batch in query.batches:
        in_batch: dict[int, int] = defaultdict(int)
        for task in batch:
            for key in {key for key, _ in task}:
                in_batch[key] += 1
            for key, number in task:
                by_key[key].append(number)
        # Tasks run side by side: a key of two of them would have no order.
        assert max(in_batch.values(), default=1) == 1
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


@given(EVENTS, st.integers(0, 20))
def test_drained_segments_may_be_deleted(events: list[tuple[str, int]], index: int) -> None:
    """The layout loses it; nothing waits for it, nothing is read twice."""
    topic, query = run(events)
    while query.trigger(topic, 3):
        pass
    count = sum(len(task) for batch in query.batches for task in batch)
    topic.prune(index)
    while query.trigger(topic, 3):
        pass
    topic.write(0)
    while query.trigger(topic, 3):
        pass
    assert sum(len(task) for batch in query.batches for task in batch) == count + 1
