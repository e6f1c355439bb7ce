"""The order in which a stream reads the segments of scalable topics. Driver only; no I/O.

Splits and merges move keys from segments to their children. The messages of a key must be in order, micro-batch for
micro-batch. So a segment waits until the query is done with its ancestors:

    state      the query                                               next state
    held       stays at the segment's start and reads nothing          admitted, if all ancestors are drained or gone
    admitted   reads it like a topic partition                         drained, if it is sealed and read to its end
    drained    has read all messages that it will ever contain         gone, when the topic no longer has it
    gone       has no position in it                                   -

- A micro-batch admits segments by the segments that were drained at its *begin*. So no micro-batch reads both a segment
  and its child, because the tasks of a micro-batch run concurrently. Each generation of segments needs one micro-batch.
- A segment is drained only if the layout states that it is sealed, and its end was requested after that. Such an end
  does not move. It is after the last entry, whose transaction may still be open (`read.log_end`). A task ends when each
  entry before the end has arrived or is aborted.
- Held segments have a position. So one that disappears before it was read is found like any other partition
  (`without_deleted`). One that appears and disappears between two triggers is found by its id (`missed`).
- A stream with an end reads no more of a segment at that end, so its children do not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.model.topic_layout import TopicLayout, readable_segments
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.loss_report import report_loss

HasEnded = Callable[[TopicPartition, Position], bool]
"""A test whether a query at a position will read no more of a topic partition."""


def held_back(
    layouts: Sequence[TopicLayout],
    begin: Positions,
    reached: Positions,
    ends: Positions,
    former_drained: Iterable[TopicPartition],
    has_ended: HasEnded,
) -> dict[TopicPartition, Position]:
    """Return `reached`, with the positions of `begin` for all segments that must wait.

    Args:
        layouts: The layouts of the scalable topics.
        begin: The start of the micro-batch, for all partitions of `reached`.
        reached: The end of the micro-batch, before this limit.
        ends: The present ends, requested after `layouts`.
        former_drained: The segments that were already drained at `begin`.
        has_ended: Returns whether the query reads no more of a partition.

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
    """Return the segments that are drained for a query at `positions`, without the segments that are gone."""
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
    """Check that no segment appeared and disappeared since the offset with the positions `former`.

    Raises:
        DataLossError: There was such a segment. With `fail` false, the loss is logged.

    """
    for layout in layouts:
        known = [partition.index for partition in former if partition.topic == layout.topic]
        there = {segment.id for segment in layout.segments}
        missed = sorted(set(range(max(known) + 1, max(there) + 1)) - there) if known and there else []
        if missed:
            text = (
                f"{layout.topic}: expected all segments that appeared since the query's last trigger, but "
                f"{', '.join(map(str, missed))} are already removed with their messages"
            )
            advice = (
                "Set the namespace's retention longer than the query's pauses. To continue with the remaining "
                "messages, set failOnDataLoss=false"
            )
            report_loss(text, advice, fail=fail)
