"""In which order a stream reads the segments of scalable topics. Driver only; no I/O.

Splits and merges move keys from segments to their children. So that the messages of a key come in order, micro-batch
for micro-batch, a segment waits until its ancestors are done:

    state      the query                                               becomes
    held       has its start as its position, and reads nothing        admitted, when all ancestors are drained or gone
    admitted   reads it like a topic partition                         drained, when it is sealed and read to its end
    drained    has read all that it will ever hold                     gone, when the topic no longer has it
    gone       has no position of it                                   -

- A micro-batch admits by what was drained where it *begins*. So a segment and its child are never read by the same one,
  whose tasks run side by side. Each generation of segments takes one micro-batch.
- A segment is drained only where the layout says that it is sealed, and its end was asked for after that. Such an end
  does not move: it is behind the last entry, whose transaction may still be open (`read.log_end`), and a task ends when
  each entry before the end has come or is aborted.
- Held segments have a position, so one that is gone before it was read is noticed like any other (`without_deleted`).
  So is one that has come and gone between two triggers, by its id (`missed`).
- A stream with an end reads no more of a segment that stands at that end, so its children need not wait either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.model.topic_layout import TopicLayout, admitted
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.loss_report import report_loss

HasEnded = Callable[[TopicPartition, Position], bool]
"""Whether a query that stands there will read no more of a topic partition."""


def held_back(
    layouts: Sequence[TopicLayout],
    begin: Positions,
    reached: Positions,
    ends: Positions,
    former_drained: Iterable[TopicPartition],
    has_ended: HasEnded,
) -> dict[TopicPartition, Position]:
    """`reached`, but the positions in `begin` of the segments that must wait.

    `begin`: where the micro-batch begins, in all of `reached`. `ends`: asked for after `layouts`. `former_drained`:
    what was drained there already.
    """
    held = dict(reached)
    for layout in layouts:
        done = drained_by([layout], begin, ends, former_drained)
        done |= {
            partition
            for partition in layout.partitions
            if partition not in begin or has_ended(partition, begin[partition])
        }
        for partition in reached.keys() & (set(layout.partitions) - admitted(layout, done)):
            held[partition] = begin[partition]
    return held


def drained_by(
    layouts: Sequence[TopicLayout], positions: Positions, ends: Positions, former: Iterable[TopicPartition]
) -> set[TopicPartition]:
    """The segments that are drained for a query that stands at `positions`; those that are gone are not among them."""
    known = set(former)
    return {
        partition
        for layout in layouts
        for partition in layout.partitions
        if partition in known
        or (
            partition in layout.sealed
            and partition in ends
            and positions.get(partition, EARLIEST) >= ends[partition]
        )
    }


def check_missed(
    layouts: Sequence[TopicLayout], former: Mapping[TopicPartition, Position], *, fail: bool
) -> None:
    """Raises `DataLossError` for segments that came and were gone again since the query stood at `former`; with `fail`
    false it is logged."""
    for layout in layouts:
        known = [partition.index for partition in former if partition.topic == layout.topic]
        there = {segment.id for segment in layout.segments}
        missed = sorted(set(range(max(known) + 1, max(there) + 1)) - there) if known and there else []
        if missed:
            text = (
                f"{layout.topic}: expected the segments that have come since the query last looked, but "
                f"{', '.join(map(str, missed))} are removed already, and whatever they held"
            )
            advice = (
                "Set the namespace's retention longer than queries stand still. To go on with what is left, set "
                "failOnDataLoss=false"
            )
            report_loss(text, advice, fail=fail)
