"""The order in which a stream reads the segments of scalable topics. Driver only; no I/O.

Splits and merges move keys from segments to their child segments. The messages of a key must stay in order across
micro-batches. So a query reads a segment only after it has read the segment's ancestors:

    state      the query                                               next state
    held       stays at the segment's start and reads nothing          admitted, if all ancestors are drained or gone
    admitted   reads the segment like a topic partition                drained, if it is sealed and read to its end
    drained    has read all messages that the segment will contain     gone, when the topic no longer has the segment
    gone       has no position in the segment                          -

- A micro-batch admits segments whose ancestors were drained at the *begin* of the micro-batch. So no micro-batch reads
  both a segment and its child, whose tasks would run concurrently. Each generation of segments needs one micro-batch.
- A segment is drained only if the layout states that it is sealed, and its end was requested after the layout. The end
  of a sealed segment does not move. The end is after the last entry, whose transaction may still be open
  (`read.log_end`). A task ends when each entry before the end has arrived or is aborted.
- Held segments have a position. So a held segment that disappears unread is detected like any other partition
  (`without_deleted`). A segment that appears and disappears between two triggers is detected by its id
  (`check_missed`).
- If the options of the stream set an end, the query reads no more of a segment after that end. So the child segments
  do not wait until that segment is drained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.model.topic_layout import TopicLayout, readable_segments
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.loss_report import report_loss

HasEnded = Callable[[TopicPartition, Position], bool]
"""A function that returns whether a query at a position will read no more of a topic partition."""


def held_back(
    layouts: Sequence[TopicLayout],
    begin: Positions,
    reached: Positions,
    ends: Positions,
    former_drained: Iterable[TopicPartition],
    has_ended: HasEnded,
) -> dict[TopicPartition, Position]:
    """Return `reached`, but with the positions of `begin` for all segments that must wait.

    Args:
        layouts: The layouts of the scalable topics.
        begin: The start of the micro-batch, for all partitions of `reached`.
        reached: The end of the micro-batch before segments are held back.
        ends: The present ends, requested after `layouts`.
        former_drained: The segments that were already drained at `begin`.
        has_ended: A function that returns whether the query reads no more of a partition.

    """
    held = dict(reached)
    for layout in layouts:
        done = drained_by([layout], begin, ends, former_drained)
        done |= {
            partition
            for partition in layout.partitions
            if partition not in begin or has_ended(partition, begin[partition])
        }
        for partition in reached.keys() & (set(layout.partitions) - readable_segments(layout, done)):
            held[partition] = begin[partition]
    return held


def drained_by(
    layouts: Sequence[TopicLayout], positions: Positions, ends: Positions, former: Iterable[TopicPartition]
) -> set[TopicPartition]:
    """Return the segments in `layouts` that a query at `positions` has drained."""
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
    """Check that no segment appeared and disappeared after the offset with the positions `former`.

    Raises:
        DataLossError: A segment appeared and disappeared. With `fail` false, the loss is logged instead.

    """
    for layout in layouts:
        known = [partition.index for partition in former if partition.topic == layout.topic]
        there = {segment.id for segment in layout.segments}
        missed = sorted(set(range(max(known) + 1, max(there) + 1)) - there) if known and there else []
        if missed:
            text = (
                f"{layout.topic}: expected all segments that appeared since the query's last trigger, but the "
                f"messages of {', '.join(map(str, missed))} were already removed"
            )
            advice = (
                "Set the namespace's retention to more than the query's longest pause. To continue with the remaining "
                "messages, set failOnDataLoss=false"
            )
            report_loss(text, advice, fail=fail)
