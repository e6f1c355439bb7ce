"""Where a stream ends by its options: `endingOffsets`, `endingTimestamp`, `endingEventTime` and the same for each
topic. Driver only.

The ends belong to a run of the query, not to its checkpoint: each start may name others. A query has at most one of the
three kinds of end. Each topic partition is in one of these states:

    state      the query reads it                             becomes
    left out   not at all, or not further than it has         stays so
    pending    up to `limited`, see below                     settled
    settled    up to its end, and not behind it               stays so
    (reached)  settled, and the query stands at its end       the query has ended when all are reached or left out

    end given by                  becomes settled                           while pending it is limited to
    endingOffsets, positions      at the first trigger: as named            -
    endingOffsets, latest         at the first trigger: where the log ends  -
    endingTimestamp and the like  when that time has passed by              what is there; splits leave out messages
                                  `clockSlackMs`: where the log ends        published at that time or later
    endingEventTime and the like  when the search has found the first       where the search has come
                                  message at or past it: at that message

Left out are partitions for which there is no end: those that appear after the first trigger, where ends are positions,
and those that JSON of times does not name. (At the first trigger JSON must name all.) A time for all partitions leaves
none out.

Why a query stops at the right message:

- An end never moves, once it is settled, so what is read does not depend on when triggers come.
- A publish time says nothing about messages that are still under way, so its end waits for `clockSlackMs`. What is
  stored by then lies before the end, and what of it was published too late is filtered in the tasks.
- Event times are in no order. The end is the first message at or past the time, and the query never goes beyond where
  the search has looked, so it cannot have read further when the search finds that message.
- `limited` never goes back before what the query has read: a restart with an earlier end stays where it is.

When all ends are reached, the offset says so (`StreamOffset.ended`), for `pyspark_pulsar.stop_at_end`: a source in
Python cannot stop its query.
"""

from __future__ import annotations

import logging
import time
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
from pyspark_pulsar.spark.progress_offset import offset_document

_MILLISECONDS: Final = 1000

_log: Final = logging.getLogger(__name__)


class StreamEnd:
    """Used by one thread, at each trigger: `settle`, `search`, then `limited` and `is_reached`."""

    def __init__(
        self,
        options: ReadOptions,
        clock: Callable[[], float] = time.time,
        make_search: Callable[[ReadOptions, TimeBound], EventTimeSearch] = EventTimeSearch,
    ) -> None:
        """`clock`: Unix seconds."""
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
        """Whether messages must be looked at for the ends: see `search`."""
        return self._search is not None

    @property
    def _bound(self) -> TimeBound | None:
        """A query has one end."""
        return self.published_before or self._event_before

    def settle(self, ends: Positions) -> None:
        """Fix what can be fixed, given the present `ends`: at the first call positions and `latest`; a time when it
        has passed by `clockSlackMs`.

        Raises `OptionError` for JSON that does not name all topic partitions of the first call, or others.
        """
        partitions = sorted(ends)
        if not self._began:
            self._begin(partitions, ends)
        if self.published_before is not None:
            now = self._clock() * _MILLISECONDS - self._options.clock_slack_ms
            for partition in partitions:
                until = self.published_before.of(partition)
                if until is not None and partition not in self._settled and now >= until:
                    self._tell_assumed()
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
        """Look for the message at which an event time ends each topic partition: behind `starts`, up to the present
        `ends`, for some seconds at most. Raises what `EventTimeSearch.search_on` does."""
        if self._search is not None:
            self._search.search_on(starts, ends, published_from)
            self._settled |= self._search.ends()

    def _tell_assumed(self) -> None:
        """Once, when the first end is settled by a time."""
        if not self._settled:
            _log.warning(
                "the query ends at a time that has passed by more than %d ms (clockSlackMs): it is assumed that all "
                "messages published before it are stored by now. One that is stored later is not read; set "
                "clockSlackMs to the longest time that messages may be under way",
                self._options.clock_slack_ms,
            )

    def limited(self, positions: Positions, reached: Positions) -> dict[TopicPartition, Position]:
        """`positions`, but not behind the ends or where the search for them has come, nor before what the query has
        `reached`."""
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
        """Whether a query that has come to `positions` has nothing more to wait for."""
        if not self.is_given or not self._began:
            return False
        return all(
            partition in self._settled and position >= self._settled[partition]
            for partition, position in positions.items()
            if not self._is_left_out(partition)
        )

    def has_ended(self, partition: TopicPartition, position: Position) -> bool:
        """Whether a query that has come to `position` reads no more of the topic partition in this run."""
        return self.is_given and partition in self._settled and position >= self._settled[partition]

    def _end_of(self, partition: TopicPartition, position: Position) -> Position | None:
        """`position` where the end is not settled yet; None for a partition that is left out."""
        if partition in self._settled:
            return self._settled[partition]
        if self._is_left_out(partition):
            return None
        return position if self._search is None else self._search.searched(partition)

    def _is_left_out(self, partition: TopicPartition) -> bool:
        if partition in self._settled:
            return False
        return self._bound is None or self._bound.of(partition) is None

    def close(self) -> None:
        if self._search is not None:
            self._search.close()


def has_ended(offset: str | None) -> bool:
    """Whether Spark's text of an offset of this source (of any, or none) says that its query has ended."""
    document = offset_document(offset)
    return isinstance(document, dict) and "positions" in document and "ended" in document
