"""Where a stream ends by its options: `endingOffsets`, `endingTimestamp`, `endingEventTime` and the same for each
topic. Driver only.

The ends belong to a run of the query, not to its checkpoint: each start may name others. A topic partition that is
found when the ends are settled, and for which there is none, is not read.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.bounds.offsets import resolve_bound
from pyspark_pulsar.read.bounds.timestamps import (
    BY_EVENT_TIME,
    TimeBound,
    check_names,
    ending_event_time,
    ending_time,
)
from pyspark_pulsar.read.microbatch.event_time_end import EventTimeSearch
from pyspark_pulsar.topic import TopicPartition

Positions = Mapping[TopicPartition, Position]

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
        """Raises `OptionError`."""
        self._options = options
        self._clock = clock
        self.time: TimeBound | None = ending_time(options)
        self._event_time = ending_event_time(options)
        self._events = make_search(options, self._event_time) if self._event_time else None
        self._settled: dict[TopicPartition, Position] = {}
        self._began = False

    @property
    def is_given(self) -> bool:
        return self._options.ending_offsets is not None or self._bound is not None

    @property
    def searches(self) -> bool:
        """Whether messages must be looked at for the ends: see `search`."""
        return self._events is not None

    @property
    def _bound(self) -> TimeBound | None:
        """A query has one end."""
        return self.time or self._event_time

    def settle(self, ends: Positions) -> None:
        """Fix what can be fixed, given the present `ends`: at the first call positions and `latest`; a time when it
        has passed by `clockSlackMs`, so that what producers sent before it has come.

        Raises `OptionError` for JSON that does not name all topic partitions of the first call, or others.
        """
        partitions = sorted(ends)
        if not self._began and self._options.ending_offsets is not None:
            self._settled.update(
                resolve_bound("endingOffsets", self._options.ending_offsets, partitions, ends)
            )
        if not self._began:
            check_names("endingOffsetsByTimestamp", self.time, partitions)
            check_names(BY_EVENT_TIME, self._event_time, partitions)
        self._began = True
        if self.time is not None:
            now = self._clock() * _MILLISECONDS - self._options.clock_slack_ms
            for partition in partitions:
                until = self.time.of(partition)
                if until is not None and partition not in self._settled and now >= until:
                    self._tell_assumed()
                    self._settled[partition] = ends[partition]

    def search(self, starts: Positions, ends: Positions, published_from: TimeBound | None) -> None:
        """Look for the message at which an event time ends each topic partition: behind `starts`, up to the present
        `ends`, for some seconds at most. Raises what `EventTimeSearch.look` does."""
        if self._events is not None:
            self._events.look(starts, ends, published_from)
            self._settled |= self._events.found()

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

    def _end_of(self, partition: TopicPartition, position: Position) -> Position | None:
        """`position` where the end is not settled yet; None for a partition that is not to be read further."""
        if partition in self._settled:
            return self._settled[partition]
        if self._is_left_out(partition):
            return None
        return position if self._events is None else self._events.searched(partition)

    def _is_left_out(self, partition: TopicPartition) -> bool:
        if partition in self._settled:
            return False
        return self._bound is None or self._bound.of(partition) is None

    def close(self) -> None:
        if self._events is not None:
            self._events.close()


def has_ended(offset: str | None) -> bool:
    """Whether Spark's text of an offset of this source (of any, or none) says that its query has ended."""
    try:
        document = json.loads(offset or "")
    except ValueError:
        return False
    return isinstance(document, dict) and "positions" in document and "ended" in document
