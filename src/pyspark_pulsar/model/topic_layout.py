"""Which segments a scalable topic has, and which follow which (PIP-460, PIP-468 of Pulsar 5).

A topic is split where it has much to do and merged where it has little: segments are sealed, and others take over their
hashes. So the segments are a graph without cycles:

    sealed segment     takes no more messages; its children hold what came later for the keys of its hashes
    active segment     has no children yet
    a child's id       is greater than the ids of its parents
    a child's messages all came after the last message of each of its parents

Hence the segments that have ever held one key form a chain with growing ids, and the messages of a key are in order by
(segment id, position). A segment whose time is over is taken out of the graph, with its edges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.model.topic import TopicName, TopicPartition

_MOST_HASH: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class TopicSegment:
    """One segment as a broker lists it."""

    id: int
    first_hash: int
    """Of the keys that it holds; inclusive, as is `last_hash`."""
    last_hash: int
    is_sealed: bool
    parents: tuple[int, ...] = ()
    """Ids; those of segments that are gone may be among them."""
    legacy: TopicPartition | None = None
    """The topic, or the partition, of before the topic was migrated, which holds the messages of this segment."""


@dataclass(frozen=True)
class TopicLayout:
    """The segments of one scalable topic at one time, sorted by id."""

    topic: TopicName
    segments: tuple[TopicSegment, ...]

    def partition(self, segment: TopicSegment) -> TopicPartition:
        """What a segment is read as."""
        if segment.legacy is not None:
            return segment.legacy
        return TopicPartition(self.topic, segment.id, (segment.first_hash, segment.last_hash))

    @property
    def partitions(self) -> list[TopicPartition]:
        """Of all segments, sealed ones too, in the order of ids."""
        return [self.partition(segment) for segment in self.segments]

    @property
    def sealed(self) -> set[TopicPartition]:
        """Those that take no more messages."""
        return {self.partition(segment) for segment in self.segments if segment.is_sealed}

    @property
    def ancestors(self) -> Mapping[TopicPartition, frozenset[TopicPartition]]:
        """Of each segment all those that are there whose messages came before its own, for the same keys."""
        by_id = {segment.id: self.partition(segment) for segment in self.segments}
        found: dict[int, frozenset[TopicPartition]] = {}
        for segment in self.segments:
            parents = [parent for parent in segment.parents if parent in by_id]
            found[segment.id] = frozenset(by_id[parent] for parent in parents).union(
                *(found[parent] for parent in parents)
            )
        return {by_id[number]: ancestors for number, ancestors in found.items()}


def layout_of(topic: TopicName, segments: Iterable[TopicSegment], where: str) -> TopicLayout:
    """Raises `ProtocolError` for what is no such graph: `where` begins its text."""
    ordered = sorted(segments, key=lambda segment: segment.id)
    faults = [fault for segment in ordered for fault in _faults(segment)]
    if len({segment.id for segment in ordered}) < len(ordered):
        faults.append("an id twice")
    if faults:
        raise ProtocolError(f"{where}: expected the segments of a scalable topic, got {faults[0]}")
    return TopicLayout(topic, tuple(ordered))


def _faults(segment: TopicSegment) -> Iterable[str]:
    if not 0 <= segment.first_hash <= segment.last_hash <= _MOST_HASH:
        yield f"segment {segment.id} with the hashes {segment.first_hash} to {segment.last_hash}"
    if any(parent >= segment.id for parent in segment.parents):
        yield f"segment {segment.id} with parents {list(segment.parents)}, which are not before it"


def admitted(layout: TopicLayout, drained: Collection[TopicPartition]) -> set[TopicPartition]:
    """The segments that may be read so that each key keeps its order: those whose ancestors were all read to their end
    (`drained`), or are gone."""
    return {partition for partition, before in layout.ancestors.items() if before.issubset(drained)}
