"""The ends of a stream that its options set: `endingOffsets`, `endingTimestamp` or `endingEventTime`.

Driver only. An option sets one end for all topics, or an end per topic. The ends belong to a run of the query, not to
its checkpoint: each start may set other ends. A query has at most one of the three kinds of end. Each topic partition
is in one of these states:

    state      the query reads                            next state
    left out   nothing, or nothing more                   none
    pending    up to `limited`, see below                 settled
    settled    up to its end, and never past it           none
    (reached)  settled, and the query is at the end       the query has ended if all are reached or left out

    kind of end                   settled                                   limit while it is pending
    endingOffsets, positions      at the first trigger: at these positions  -
    endingOffsets, `latest`       at the first trigger: at the log end      -
    endingTimestamp(ByTopic)      `clockSlackMs` after that time: at the    the log end; splits leave out messages
                                  log end                                   published at that time or later
    endingEventTime(ByTopic)      when the search has found the first       the progress of the search
                                  message at or after that time: at that
                                  message

Partitions without an end are left out. With an end by position, these are the partitions that appear after the first
trigger. With JSON of times, these are the partitions that the JSON does not contain. At the first trigger, the JSON
must contain all partitions. With one time for all partitions, no partition is left out.

A query stops at the right message for these reasons:

- A settled end never moves. So the messages that are read do not depend on the times of triggers.
- A message may be stored some time after its publish time. So an end by publish time is settled only after
  `clockSlackMs`. Messages that are stored by then are before the end. Tasks filter out messages that were published at
  that time or later.
- Event times have no order. So the end is the first message at or after the time. The query never reads past the part
  that was searched, so it has not read past that message when the search finds it.
- `limited` never moves back before the part that the query has read. A restarted query with an earlier end reads
  nothing.

When all ends are reached, the offset contains that fact (`StreamOffset.ended`). `pyspark_pulsar.stop_at_end` reads this
fact and stops the query, because a source in Python cannot stop its query.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.bounds.offsets import resolve_bound
from pyspark_pulsar.read.bounds.timestamps import ENDING_EVENT_TIMES, ENDING_TIMES, check_names
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.microbatch.ends.event_time_end import EventTimeSearch
from pyspark_pulsar.runtime import time
from pyspark_pulsar.spark.progress_offset import offset_document

_MILLISECONDS: Final = 1000

_log: Final = logging.getLogger(__name__)


class StreamEnd:
    """The ends of one query. One thread calls `settle`, `search`, then `limited` and `is_reached` at each trigger."""

    def __init__(
        self,
        options: ReadOptions,
        clock: Callable[[], float] = time.time,
        make_search: Callable[[ReadOptions, TimeBound], EventTimeSearch] = EventTimeSearch,
    ) -> None:
        """Store the arguments. `clock` returns Unix seconds."""
        self._options = options
        self._clock = clock
        self.published_before: TimeBound | None = options.published_before
        self._event_before = options.event_before
        self._search = make_search(options, self._event_before) if self._event_before else None
        self._settled: dict[TopicPartition, Position] = {}
        self._began = False

    @property
    def is_given(self) -> bool:
        return self._options.ending_offsets is not None or self._bound is not None

    @property
    def searches(self) -> bool:
        """True if the ends depend on the content of messages, so that `search` is needed."""
        return self._search is not None

    @property
    def _bound(self) -> TimeBound | None:
        """The query's end by publish time or event time; None without such an end.

        A query has at most one of the two.
        """
        return self.published_before or self._event_before

    def settle(self, ends: Positions) -> None:
        """Settle the ends that can be settled, given the present `ends`.

        The first call settles positions and `latest`. An end by publish time is settled `clockSlackMs` after that time.

        Raises:
            OptionError: The JSON in an option does not contain the same topic partitions as the first call.

        """
        partitions = sorted(ends)
        if not self._began:
            self._begin(partitions, ends)
        if self.published_before is not None:
            now = self._clock() * _MILLISECONDS - self._options.clock_slack_ms
            for partition in partitions:
                until = self.published_before.time_of(partition)
                if until is not None and partition not in self._settled and now >= until:
                    self._warn_of_assumption()
                    self._settled[partition] = ends[partition]

    def _begin(self, partitions: list[TopicPartition], ends: Positions) -> None:
        if self._options.ending_offsets is not None:
            self._settled.update(
                resolve_bound("endingOffsets", self._options.ending_offsets, partitions, ends)
            )
        check_names(ENDING_TIMES, self.published_before, partitions)
        check_names(ENDING_EVENT_TIMES, self._event_before, partitions)
        self._began = True

    def search(self, starts: Positions, ends: Positions, published_from: TimeBound | None) -> None:
        """Search each topic partition for the message that is its end by event time.

        A call searches from `starts` to the present `ends`, for a few seconds at most.

        Raises:
            PulsarError: For the same reasons as `EventTimeSearch.continue_search`.

        """
        if self._search is not None:
            self._search.continue_search(starts, ends, published_from)
            self._settled |= self._search.ends()

    def _warn_of_assumption(self) -> None:
        """Log the assumption about stored messages once, when the first end by publish time is settled."""
        if not self._settled:
            _log.warning(
                "the query ends at a time that passed more than %d ms ago (clockSlackMs). All messages published "
                "before that time are assumed to be stored. A message that is stored later is not read; set "
                "clockSlackMs to the longest time between publishing and storing a message",
                self._options.clock_slack_ms,
            )

    def limited(self, positions: Positions, reached: Positions) -> dict[TopicPartition, Position]:
        """Return `positions`, but no position past its end or past the progress of the search.

        No returned position is before the position in `reached`, which the query has already read up to.
        """
        if not self.is_given:
            return dict(positions)
        limited = {}
        for partition, position in positions.items():
            end = self._end_of(partition, position)
            least = reached.get(partition)
            if end is not None:
                limited[partition] = min(position, end) if least is None else max(least, min(position, end))
            elif least is not None:
                limited[partition] = least
        return limited

    def is_reached(self, positions: Positions) -> bool:
        """Return whether a query at `positions` has nothing more to read in this run."""
        if not self.is_given or not self._began:
            return False
        return all(
            partition in self._settled and position >= self._settled[partition]
            for partition, position in positions.items()
            if not self._is_left_out(partition)
        )

    def has_ended(self, partition: TopicPartition, position: Position) -> bool:
        """Return whether a query at `position` reads no more of the topic partition in this run."""
        return self.is_given and partition in self._settled and position >= self._settled[partition]

    def _end_of(self, partition: TopicPartition, position: Position) -> Position | None:
        """Return the end of a partition, or None if the partition is left out.

        If the end is pending, return the progress of the search, or `position` without a search.
        """
        if partition in self._settled:
            return self._settled[partition]
        if self._is_left_out(partition):
            return None
        return position if self._search is None else self._search.searched(partition)

    def _is_left_out(self, partition: TopicPartition) -> bool:
        if partition in self._settled:
            return False
        return self._bound is None or self._bound.time_of(partition) is None

    def close(self) -> None:
        if self._search is not None:
            self._search.close()


def has_ended(offset: str | None) -> bool:
    """Return whether an offset, as the text that Spark stores, states that its query has ended.

    The offset may belong to any source. None means that there is no offset.
    """
    document = offset_document(offset)
    return isinstance(document, dict) and "positions" in document and "ended" in document
