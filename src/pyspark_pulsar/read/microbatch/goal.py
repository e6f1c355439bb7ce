"""The goal of a stream at a trigger: the part from its last offset to the present ends, before limits. Driver only.

    step       a query that begins                       a query that continues
    settle     the ends in the options become positions (`microbatch.ends.stream_end`)
    start      `startingOffsets`, the subscription       its last offset, without abandoned and deleted topics
    end        the present end of each topic partition   the same; but for an empty topic the query's position,
                                                         and for a topic that was created again, its new end,
                                                         read from `earliest`
    search     if an end is an event time, the next messages are searched for that end
    limit      to the ends in the options, but never before the query's position
    order      a segment of a scalable topic waits for its ancestors (`microbatch.admission.segment_order`)

If a topic was deleted or created again, or if its messages were removed unread, `DataLossError` is raised. With
`failOnDataLoss=false`, a warning is logged instead.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_LATEST
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.bounds.offsets import check_reachable
from pyspark_pulsar.read.bounds.request import whole_ranges
from pyspark_pulsar.read.bounds.starts import QueryStarts
from pyspark_pulsar.read.bounds.timestamps import STARTING_TIMES, check_names
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.microbatch.admission.segment_order import check_missed, held_back
from pyspark_pulsar.read.microbatch.ends.stream_end import StreamEnd
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.topic_ends import PresentEnds
from pyspark_pulsar.read.microbatch.topics.checkpoint_topics import CheckpointTopics
from pyspark_pulsar.read.planning.ledgers.data_loss import advance_positions
from pyspark_pulsar.read.planning.planner import SplitPlanner


class StreamGoal:
    """The steps that find the goal of each trigger of one query. Used by one thread."""

    def __init__(
        self,
        options: ReadOptions,
        starts: QueryStarts,
        checkpoint_topics: CheckpointTopics,
        end: StreamEnd,
        log_ends: LogEnds,
        planner: SplitPlanner,
    ) -> None:
        """Store the parts of one query. The query closes them itself."""
        self._options = options
        self._starts = starts
        self._checkpoint_topics = checkpoint_topics
        self._log_ends = log_ends
        self._planner = planner
        self._end = end

    def find_goal(self, former: StreamOffset, present: PresentEnds) -> StreamOffset:
        """Return the offset at which a micro-batch without limits would end. The micro-batch begins at `former`.

        Raises:
            DataLossError: A topic was deleted, or ends before the position that the query has reached.
            OptionError: The bounds in the options do not fit the topics.
            PulsarError: For the same reasons as `QueryStarts.find_starts` and `StreamEnd.search`.

        """
        self._end.settle(present.positions)
        positions, starts = (
            self._first(former, present) if former.start is not None else self._next(former, present)
        )
        goal = StreamOffset(
            positions,
            starts,
            published_from=former.published_from,
            published_before=self._end.published_before,
        )
        if not present.layouts:
            return goal
        begin = goal.starts_from(former)
        held = held_back(
            present.layouts, begin, goal.positions, present.positions, former.drained, self._end.has_ended
        )
        return replace(goal, positions=held)

    def _first(self, former: StreamOffset, present: PresentEnds) -> tuple[Positions, Positions]:
        """Return the positions and starts of the goal for a query that begins."""
        ends, partitions = present.positions, sorted(present.positions)
        check_names(STARTING_TIMES, former.published_from, partitions)
        starts = self._starts.find_starts(former.start or FROM_LATEST, partitions, ends)
        if self._options.starting_subscription is None:
            check_reachable("startingOffsets", starts, self._log_ends.reachable(ends))
        self._search(starts, ends, former.published_from)
        positions = self._end.limited(ends, starts)
        starts = {partition: start for partition, start in starts.items() if partition in positions}
        return positions, starts

    def _next(self, former: StreamOffset, present: PresentEnds) -> tuple[Positions, Positions]:
        """Return the positions and starts of the goal for a query that continues."""
        ends, fail = present.positions, self._options.fail_on_data_loss
        if self._options.read_compacted:
            # Compaction may have removed the last messages that the query has read.
            ends = {
                partition: max(end, former.positions.get(partition, end)) for partition, end in ends.items()
            }
        self._planner.ledgers.keep_up(ends)
        if present.layouts and not self._end.is_given:
            # A query that ends at positions never reads a segment that appears later.
            check_missed(present.layouts, former.positions, fail=fail)
        reached = self._checkpoint_topics.still_read(former.positions, ends, drained=former.drained)
        positions, starts = advance_positions(reached, ends, fail=fail)
        reached = {partition: position for partition, position in reached.items() if partition not in starts}
        self._search(reached, positions, former.published_from)
        return self._end.limited(positions, reached), starts

    def _search(self, starts: Positions, ends: Positions, published_from: TimeBound | None) -> None:
        """Search for ends by event time, beginning at the first messages that the query's start time includes."""
        if not self._end.searches:
            return
        if published_from is not None:
            in_time = self._planner.first_in_time(whole_ranges(published_from, starts, ends))
            starts = {**starts, **in_time}
        self._end.search(starts, ends, published_from)
