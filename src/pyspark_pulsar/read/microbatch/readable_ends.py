"""How far topic partitions can be read behind the last message that consumers see. Driver only.

Where a transaction wrote the last message, its commit marker lies behind that, in the same ledger, and perhaps what
another transaction has aborted. A stream that has read all stands at S, behind the last message. When retention then
removes the ledger, entries go that the stream has not read. Neither brokers nor lists of ledgers tell markers from
messages, so that would count as loss. It would be so of each topic that an exactly-once sink writes and that is quiet
for longer than its retention.

So once a stream has stood in a topic partition for `REST_SECONDS`, its broker is asked up to where it can be read: R
(`transaction_buffer.readable_end`). From then on the stream stands at R.

    state        what happens at a trigger                               next state
    RESTING      S is the end, and was for `REST_SECONDS`; R is asked    ASKED
    ASKED        the broker tells R, behind S                            TOLD
                 it does not tell, or R is S                             MOVED
    TOLD         S is the end, which was asked for since                 KNOWN
    ASKED, TOLD  S is not the end any more                               MOVED
    KNOWN, MOVED nothing                                                 the same
    any          the stream stands elsewhere                             RESTING there

Why nothing is lost: all before R is decided, as no open transaction has written before R. The end that consumers see
was asked for when R was there, a trigger later, and it is still S. So nothing between S and R is a message that a
consumer sees or will ever see, as entries are only appended. Offsets keep S: after a restart the stream rests and asks
anew.
"""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.transaction_buffer import readable_end
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.log_end import Positions
from pyspark_pulsar.topic import TopicPartition

REST_SECONDS: Final = 30.0
"""A topic that is written to is not asked for. Less than any retention: brokers know minutes."""
_AT_ONCE: Final = 16
"""Questions on their way; thousands of topic partitions come one after the other."""
_BRIEF_MS: Final = 2_000
_LATER_SECONDS: Final = 600.0
"""Nothing is asked for so long after a failure: brokers without transactions answer as if they were not ready."""

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Stand:
    """One topic partition, in one of the states above; RESTING at first."""

    position: Position
    since: float
    answer: Future[Position | None] | None = None
    """On its way (ASKED)."""
    told: Position | None = None
    """R, when the end was asked for before it came (TOLD)."""
    readable: Position | None = None
    """R (KNOWN)."""
    is_over: bool = False
    """KNOWN or MOVED."""

    @property
    def is_resting(self) -> bool:
        return self.answer is None and self.told is None and not self.is_over

    def settle(self, readable: Position | None) -> None:
        self.readable, self.is_over, self.answer, self.told = readable, True, None, None


class ReadableEnds:
    """Kept while the query runs; used by one thread, which never waits here."""

    def __init__(self, options: ReadOptions) -> None:
        """Without `admin.url`, and of compacted views, nothing is known. Connects when it first asks."""
        asks = options.admin_url is not None and not options.read_compacted
        self._admin = AdminClient(options, patience_ms=_BRIEF_MS, threads=2) if asks else None
        self._stands: dict[TopicPartition, _Stand] = {}
        self._not_before = -math.inf

    def behind(self, positions: Positions) -> dict[TopicPartition, Position]:
        """The same positions; R for S where that is known."""
        return {partition: self._behind(partition, position) for partition, position in positions.items()}

    def _behind(self, partition: TopicPartition, position: Position) -> Position:
        stand = self._stands.get(partition)
        return position if stand is None or stand.position != position else stand.readable or position

    def look(self, positions: Positions, ends: Mapping[TopicPartition, Position]) -> None:
        """At each trigger. `positions`: where the stream stands. `ends`: what brokers have just told."""
        if self._admin is None:
            return
        now = time.monotonic()
        self._stands = {
            partition: self._seen(partition, position, ends[partition], now)
            for partition, position in positions.items()
            if partition in ends and not partition.is_segment
        }
        if now < self._not_before:
            return
        free = _AT_ONCE - sum(stand.answer is not None for stand in self._stands.values())
        due = (
            pair
            for pair in self._stands.items()
            if pair[1].is_resting and now - pair[1].since >= REST_SECONDS
        )
        for partition, stand in itertools.islice(due, max(0, free)):
            stand.answer = self._admin.begin(readable_end, self._admin, partition)

    def _seen(self, partition: TopicPartition, position: Position, end: Position, now: float) -> _Stand:
        stand = self._stands.get(partition)
        if stand is None or stand.position != position:
            return _Stand(position, now)
        if end != position:
            # What is known of it already is so still.
            stand.settle(stand.readable)
        elif stand.told is not None:
            stand.settle(stand.told)
        elif stand.answer is not None and stand.answer.done():
            self._take(stand, stand.answer, now)
        return stand

    def _take(self, stand: _Stand, answer: Future[Position | None], now: float) -> None:
        stand.answer = None
        try:
            readable = answer.result()
        except PulsarError as fault:
            self._not_before = now + _LATER_SECONDS
            _log.info("up to where topics can be read is not known: %s", fault)
            return
        if readable is None or readable <= stand.position:
            stand.settle(None)
        else:
            stand.told = readable

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
