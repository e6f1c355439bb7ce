"""A stream's progress past the last visible message of its topic partitions. Driver only.

If a transaction wrote the last message, its commit marker follows in the same ledger. Messages of an aborted
transaction may follow, too. A stream that has read every visible message is at position S, after the last message. When
retention then removes the ledger, it removes entries that the stream has not read. Neither brokers nor lists of ledgers
distinguish markers from messages, so the removal would be reported as data loss. This would happen to each topic that
an exactly-once sink writes, if no message arrives for longer than the topic's retention.

So if a stream has been at S for `REST_SECONDS`, the query makes its broker read on from S. R is the position that the
broker reaches without finding a message (`read.unseen_entries`). From then on, the query treats R as its position.

    state      event at a trigger                                next state
    RESTING    S was the end for `REST_SECONDS`; R is requested  REQUESTED
               S is no longer the end                            KNOWN, R is S
    REQUESTED  the broker answers with R                         KNOWN
               the request fails                                 RESTING; the next request waits `_LATER_SECONDS`
    KNOWN      none                                              KNOWN
    any        the stream has another position                   RESTING there

No message is lost: no entry between S and R is or will be visible to consumers, because entries are only appended.

If a cursor was at the end of a ledger before the ledger was removed, nothing unread was removed. There is no other
proof. But a restarted driver has new cursors. So the stream's offset contains R, or the position that a cursor has
proved (`LogEnds.proved`), if this position is in a later ledger than S. The module `microbatch.ends.passed_ledgers`
finds these positions. The next driver begins at the stored position (`recall`). An offset keeps S as the position,
because R may be after the end that brokers report.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Mapping
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
from pyspark_pulsar.runtime import Future, ThreadPoolExecutor, time

REST_SECONDS: Final = 30.0
"""Time without a new message before R is requested, so that active topics cause no request.

This time is shorter than any retention, because a retention is at least one minute."""
_AT_ONCE: Final = 100
"""Maximum number of topic partitions per request. Later requests contain the remaining partitions."""
_PASS_SECONDS: Final = 1.0
_LATER_SECONDS: Final = 600.0
"""Seconds until the next request, after a request failed."""

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _State:
    """The state of one topic partition, as described in the module's docstring."""

    position: Position
    since: float
    readable: Position | None = None
    """The position R, which is set only in state KNOWN."""
    is_requested: bool = False
    """True in state REQUESTED: R is requested but not yet answered."""


class ReadableEnds:
    """The positions R of a running query. No method waits for a broker. Used by one thread."""

    def __init__(self, options: ReadOptions) -> None:
        """Store the options. The first request opens the connections. No request is sent for compacted views."""
        self._options = options
        self._is_enabled = not options.read_compacted
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pulsar-rest")
        self._answer: Future[Positions] | None = None
        self._states: dict[TopicPartition, _State] = {}
        self._not_before = -math.inf

    def recall(self, positions: Positions, passed: Positions) -> None:
        """Store `passed`, which contains the position R for some of the `positions` of an offset."""
        for partition, readable in passed.items():
            if (position := positions.get(partition)) is not None:
                known = self._readable(partition, position)
                self._states[partition] = _State(position, time.monotonic(), max(known, readable))

    def skip_unseen(
        self, positions: Positions, former: StreamOffset | None = None
    ) -> dict[TopicPartition, Position]:
        """Return the positions, but with R instead of S for each topic partition whose R is known.

        The method first stores the positions R in `former`, the offset at which the micro-batch begins.
        """
        if former is not None:
            self.recall(former.positions, former.passed)
        return {partition: self._readable(partition, position) for partition, position in positions.items()}

    def _readable(self, partition: TopicPartition, position: Position) -> Position:
        state = self._states.get(partition)
        return position if state is None or state.position != position else state.readable or position

    def observe(self, positions: Positions, ends: Mapping[TopicPartition, Position]) -> None:
        """Update the states at a trigger, from the stream's positions and the ends that brokers have just reported."""
        if not self._is_enabled:
            return
        now = time.monotonic()
        self._states = {
            partition: self._next_state(partition, position, ends[partition], now)
            for partition, position in positions.items()
            if partition in ends and not partition.is_segment
        }
        if self._answer is not None and self._answer.done():
            self._store_answer(self._answer, now)
        if self._answer is not None or now < self._not_before:
            return
        due = (
            partition
            for partition, state in self._states.items()
            if state.readable is None and now - state.since >= REST_SECONDS
        )
        requested = {
            partition: self._states[partition].position for partition in itertools.islice(due, _AT_ONCE)
        }
        if requested:
            for partition in requested:
                self._states[partition].is_requested = True
            self._answer = self._thread.submit(self._request, requested)

    def _next_state(self, partition: TopicPartition, position: Position, end: Position, now: float) -> _State:
        state = self._states.get(partition)
        if state is None or state.position != position:
            return _State(position, now)
        if end != position and not end.is_earliest and state.readable is None and not state.is_requested:
            state.readable = position
        return state

    def _store_answer(self, answer: Future[Positions], now: float) -> None:
        self._answer, answered = None, dict[TopicPartition, Position]()
        try:
            answered = dict(answer.result())
        except PulsarError as fault:
            self._not_before = now + _LATER_SECONDS
            _log.info("looking up the positions after the last visible messages failed: %s", fault)
        for partition, state in self._states.items():
            # The answer may be for an earlier position of the stream.
            if state.is_requested and partition in answered:
                state.readable = max(state.position, answered[partition])
            state.is_requested = False

    def _request(self, positions: Positions) -> Positions:
        with pooled_client(self._options) as client:
            return readable_ends(client, positions)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def readable_ends(client: BrokerClient, positions: Positions) -> dict[TopicPartition, Position]:
    """Return R for each S in `positions`. R equals S if a message or an open transaction follows S.

    Raises:
        ConnectionFailed, PermissionDenied, TopicNotFoundError: A broker did not answer, or refused the request.

    """
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
