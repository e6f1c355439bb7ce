"""The segments of a scalable topic and their order (PIP-460, PIP-468 of Pulsar 5).

Pulsar splits a busy segment into new segments, and merges idle segments into a new segment. The old segments are
sealed, and the new segments receive the messages for the same hashes. The segments form a graph without cycles:

    sealed segment     accepts no more messages; its children contain the later messages for the keys of its hashes
    active segment     has no children yet
    a child's id       is greater than the ids of its parents
    a child's messages are all later than the last message of each of its parents

Therefore all segments that have ever contained a key form a chain with growing ids. The order of a key's messages is
the order of the pairs (segment id, position). When the retention of a segment ends, Pulsar removes the segment and its
edges from the graph.
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
    """A segment in a broker's list of a topic's segments.

    Attributes:
        first_hash: The first hash of the keys in the segment, inclusive.
        last_hash: The last hash of the keys in the segment, inclusive.
        parents: The ids of the parents, including parents that Pulsar has removed.
        legacy: The earlier topic or partition that contains this segment's messages, if the scalable topic was migrated
            from an earlier topic. Otherwise None.

    """

    id: int
    first_hash: int
    last_hash: int
    is_sealed: bool
    parents: tuple[int, ...] = ()
    legacy: TopicPartition | None = None


@dataclass(frozen=True)
class TopicLayout:
    """The segments of one scalable topic at one time, sorted by id."""

    topic: TopicName
    segments: tuple[TopicSegment, ...]

    def partition(self, segment: TopicSegment) -> TopicPartition:
        """Return the topic partition from which a segment is read."""
        if segment.legacy is not None:
            return segment.legacy
        return TopicPartition(self.topic, segment.id, (segment.first_hash, segment.last_hash))

    @property
    def partitions(self) -> list[TopicPartition]:
        """Return the topic partitions of all segments, including sealed segments, in the order of ids."""
        return [self.partition(segment) for segment in self.segments]

    @property
    def sealed(self) -> set[TopicPartition]:
        """Return the segments that accept no more messages."""
        return {self.partition(segment) for segment in self.segments if segment.is_sealed}

    @property
    def ancestors(self) -> Mapping[TopicPartition, frozenset[TopicPartition]]:
        """Return a mapping from each segment to the existing segments with earlier messages of the same keys."""
        by_id = {segment.id: self.partition(segment) for segment in self.segments}
        found: dict[int, frozenset[TopicPartition]] = {}
        for segment in self.segments:
            parents = [parent for parent in segment.parents if parent in by_id]
            found[segment.id] = frozenset(by_id[parent] for parent in parents).union(
                *(found[parent] for parent in parents)
            )
        return {by_id[number]: ancestors for number, ancestors in found.items()}


def topic_layout(topic: TopicName, segments: Iterable[TopicSegment], where: str) -> TopicLayout:
    """Return the layout of a topic's segments.

    Args:
        topic: The scalable topic.
        segments: The segments in any order.
        where: The beginning of the error message.

    Raises:
        ProtocolError: The segments do not form a graph of a scalable topic.

    """
    ordered = sorted(segments, key=lambda segment: segment.id)
    faults = [fault for segment in ordered for fault in _faults(segment)]
    if len({segment.id for segment in ordered}) < len(ordered):
        faults.append("a duplicate id")
    if faults:
        raise ProtocolError(
            f"{where}: expected the segments of a scalable topic, got {faults[0]}; report this as a bug"
        )
    return TopicLayout(topic, tuple(ordered))


def _faults(segment: TopicSegment) -> Iterable[str]:
    if not 0 <= segment.first_hash <= segment.last_hash <= _MOST_HASH:
        yield f"segment {segment.id} with the hashes {segment.first_hash} to {segment.last_hash}"
    if any(parent >= segment.id for parent in segment.parents):
        yield f"segment {segment.id} with the parents {list(segment.parents)}, which must have smaller ids"


def readable_segments(layout: TopicLayout, drained: Collection[TopicPartition]) -> set[TopicPartition]:
    """Return the segments that a query can read now without breaking the order of any key's messages.

    `drained` contains the segments that the query has read to the end. A segment is in the result if all its existing
    ancestors are in `drained`.
    """
    return {partition for partition, before in layout.ancestors.items() if before.issubset(drained)}
