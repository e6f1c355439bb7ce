"""How far a stream has passed topic partitions behind the last message that consumers see. Driver only.

Where a transaction wrote the last message, its commit marker lies behind that, in the same ledger, and perhaps what
another transaction has aborted. A stream that has read all stands at S, behind the last message. When retention then
removes the ledger, entries go that the stream has not read. Neither brokers nor lists of ledgers tell markers from
messages, so that would count as loss. It would be so of each topic that an exactly-once sink writes and that is quiet
for longer than its retention.

So once a stream has stood in a topic partition for `REST_SECONDS`, its broker is asked how far it reads on from S
without a message (`read.unseen_entries`): R. From then on the stream stands at R.

    state    what happens at a trigger                               next state
    RESTING  S is the end, and was for `REST_SECONDS`; R is asked    ASKED
             S is not the end any more                               KNOWN, R is S
    ASKED    the broker tells R                                      KNOWN
             it fails                                                RESTING, and nothing is asked for a while
    KNOWN    nothing                                                 KNOWN
    any      the stream stands elsewhere                             RESTING there

Why nothing is lost: between S and R is nothing that a consumer sees or ever will see, as entries are only appended.

Only a cursor that stood at the end of a ledger before it was removed proves that nothing unread went with the ledger,
and a driver that is started again has new cursors. So when R, or what a cursor has proved (`LogEnds.proved`), lies in a
later ledger than S, the stream's offset holds R (`microbatch.ends.passed_ledgers`): the next driver begins there
(`recall`). An offset keeps S as the position, because R may be after the end that brokers report.
"""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.client_pool import pooled_client
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.cursor_requests import Positions, new_cursors
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.unseen_entries import pass_unseen

REST_SECONDS: Final = 30.0
"""A topic that is written to is not asked for. Less than any retention: brokers know minutes."""
_AT_ONCE: Final = 100
"""Topic partitions in one question; of thousands the others come later."""
_PASS_SECONDS: Final = 1.0
_LATER_SECONDS: Final = 600.0
"""Pause after a failure."""

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Stand:
    """One topic partition, in one of the states above."""

    position: Position
    since: float
    readable: Position | None = None
    """R (KNOWN)."""
    is_asked: bool = False
    """R is asked for, and was not told yet (ASKED)."""


class ReadableEnds:
    """Kept while the query runs; used by one thread, which never waits here."""

    def __init__(self, options: ReadOptions) -> None:
        """Of compacted views nothing is known. Connects when it first asks."""
        self._options = options
        self._asks = not options.read_compacted
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pulsar-rest")
        self._answer: Future[Positions] | None = None
        self._stands: dict[TopicPartition, _Stand] = {}
        self._not_before = -math.inf

    def recall(self, positions: Positions, passed: Positions) -> None:
        """Remember `passed`, which is R of some `positions` of an offset."""
        for partition, readable in passed.items():
            if (position := positions.get(partition)) is not None:
                known = self._readable(partition, position)
                self._stands[partition] = _Stand(position, time.monotonic(), max(known, readable))

    def skip_unseen(
        self, positions: Positions, former: StreamOffset | None = None
    ) -> dict[TopicPartition, Position]:
        """Return the positions, moved from S to R where R is known. Remembers R from `former` first, the offset at
        which the micro-batch begins."""
        if former is not None:
            self.recall(former.positions, former.passed)
        return {partition: self._readable(partition, position) for partition, position in positions.items()}

    def _readable(self, partition: TopicPartition, position: Position) -> Position:
        stand = self._stands.get(partition)
        return position if stand is None or stand.position != position else stand.readable or position

    def look(self, positions: Positions, ends: Mapping[TopicPartition, Position]) -> None:
        """At each trigger. `positions`: where the stream stands. `ends`: what brokers have just told."""
        if not self._asks:
            return
        now = time.monotonic()
        self._stands = {
            partition: self._seen(partition, position, ends[partition], now)
            for partition, position in positions.items()
            if partition in ends and not partition.is_segment
        }
        if self._answer is not None and self._answer.done():
            self._take(self._answer, now)
        if self._answer is not None or now < self._not_before:
            return
        due = (
            partition
            for partition, stand in self._stands.items()
            if stand.readable is None and now - stand.since >= REST_SECONDS
        )
        asked = {partition: self._stands[partition].position for partition in itertools.islice(due, _AT_ONCE)}
        if asked:
            for partition in asked:
                self._stands[partition].is_asked = True
            self._answer = self._thread.submit(self._ask, asked)

    def _seen(self, partition: TopicPartition, position: Position, end: Position, now: float) -> _Stand:
        stand = self._stands.get(partition)
        if stand is None or stand.position != position:
            return _Stand(position, now)
        if end != position and not end.is_earliest and stand.readable is None and not stand.is_asked:
            stand.readable = position
        return stand

    def _take(self, answer: Future[Positions], now: float) -> None:
        self._answer, told = None, dict[TopicPartition, Position]()
        try:
            told = dict(answer.result())
        except PulsarError as fault:
            self._not_before = now + _LATER_SECONDS
            _log.info("up to where topics can be read is not known: %s", fault)
        for partition, stand in self._stands.items():
            # The answer may be of where the stream stood before.
            if stand.is_asked and partition in told:
                stand.readable = max(stand.position, told[partition])
            stand.is_asked = False

    def _ask(self, positions: Positions) -> Positions:
        with pooled_client(self._options) as client:
            return readable_ends(client, positions)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def readable_ends(client: BrokerClient, positions: Positions) -> dict[TopicPartition, Position]:
    """Return R for each S, S itself where a message or an open transaction follows. Raises `ConnectionFailed`,
    `PermissionDenied`, `TopicNotFoundError`."""
    ends = new_cursors(client, dict.fromkeys(positions))
    spans = {
        partition: (position, ends[partition])
        for partition, position in positions.items()
        if partition in ends and position < ends[partition]
    }
    passed = pass_unseen(client, spans, _PASS_SECONDS)
    return {
        partition: max(position, passed.get(partition, position)) for partition, position in positions.items()
    }
