"""Where a stream ends by its options: `endingOffsets`, `endingTimestamp` and the same for each topic. Driver only.

The ends belong to a run of the query, not to its checkpoint: each start may name others. A topic partition that is
found when the ends are settled, and for which there is none, is not read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Final

from pyspark_pulsar.message_id import Position
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds import resolve_bound
from pyspark_pulsar.read.times import TimeBound, check_names, ending_time
from pyspark_pulsar.topic import TopicPartition

Positions = Mapping[TopicPartition, Position]

_MILLISECONDS: Final = 1000


class StreamEnd:
    """Used by one thread, at each trigger: `settle`, then `limited` and `is_reached`."""

    def __init__(self, options: ReadOptions, clock: Callable[[], float] = time.time) -> None:
        """Raises `OptionError`."""
        self._options = options
        self._clock = clock
        self.time: TimeBound | None = ending_time(options)
        self._settled: dict[TopicPartition, Position] = {}
        self._began = False

    @property
    def is_given(self) -> bool:
        return self._options.ending_offsets is not None or self.time is not None

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
        self._began = True
        if self.time is not None:
            now = self._clock() * _MILLISECONDS - self._options.clock_slack_ms
            for partition in partitions:
                until = self.time.of(partition)
                if until is not None and partition not in self._settled and now >= until:
                    self._settled[partition] = ends[partition]

    def limited(self, positions: Positions, reached: Positions) -> dict[TopicPartition, Position]:
        """`positions`, but not behind the ends, nor before what the query has `reached`."""
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
        return None if self._is_left_out(partition) else position

    def _is_left_out(self, partition: TopicPartition) -> bool:
        if partition in self._settled:
            return False
        return self.time is None or self.time.of(partition) is None


def has_ended(offset: str | None) -> bool:
    """Whether Spark's text of an offset of this source (of any, or none) says that its query has ended."""
    try:
        document = json.loads(offset or "")
    except ValueError:
        return False
    return isinstance(document, dict) and "positions" in document and "ended" in document
