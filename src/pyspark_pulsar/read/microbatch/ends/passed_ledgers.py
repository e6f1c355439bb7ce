"""The ledgers that a stream has completely read, for its offset (`StreamOffset.passed`). Driver only.

Retention may remove such a ledger. A restarted driver must know that the removed ledger had no unread messages, so the
offset contains that fact. Each trigger examines the topic partitions whose positions its micro-batch does not move:

    source                       proof that nothing remains in the ledger of the position
    `ReadableEnds.skip_unseen`   a broker reads on into a later ledger without finding a message
    `LogEnds.proved`             a broker has moved the query's cursor to a later ledger
    `LogEnds.first_left`         for a topic without visible messages: the first existing ledger is a later ledger
    `skip_closed`                once in a run of `Trigger.AvailableNow`: the ledger is closed, and a broker reads to
                                 its end without finding a message; such a run ends too early to observe the removal
"""

from __future__ import annotations

import logging
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.microbatch.ends.readable_ends import ReadableEnds
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.read.unseen_entries import pass_unseen

_PASS_SECONDS: Final = 1.0

_log: Final = logging.getLogger(__name__)


class PassedLedgers:
    """A search for the passed ledgers of one query. Used by one thread."""

    def __init__(
        self,
        options: ReadOptions,
        client: BrokerClient,
        log_ends: LogEnds,
        readable_ends: ReadableEnds,
        planner: SplitPlanner,
    ) -> None:
        """Store the parts of one query. The query closes them itself."""
        self._options = options
        self._client = client
        self._log_ends = log_ends
        self._readable_ends = readable_ends
        self._planner = planner
        self._has_checked_closed = False

    def find_passed(
        self, former: StreamOffset, reached: StreamOffset, ends: Positions, *, is_available_now: bool
    ) -> dict[TopicPartition, Position]:
        """Return the value of `StreamOffset.passed` for a micro-batch, and store it for the next micro-batches.

        Args:
            former: The offset at which the micro-batch begins.
            reached: The offset at which the micro-batch ends.
            ends: The present ends. With `Trigger.AvailableNow`, the ends at the begin of the run.
            is_available_now: Whether the query runs with `Trigger.AvailableNow`.

        """
        unmoved = {
            partition: position
            for partition, position in reached.positions.items()
            if former.positions.get(partition) == position and partition not in reached.starts
        }
        starts = self._readable_ends.skip_unseen(unmoved, former)
        starts |= self._log_ends.proved(starts)
        if self._options.read_compacted:
            return {}
        in_ledger = {
            partition: start
            for partition, start in starts.items()
            if start.ledger == unmoved[partition].ledger and not (start.is_earliest or partition.is_segment)
        }
        if not is_available_now:
            starts |= self._log_ends.first_left(
                {
                    partition: start
                    for partition, start in in_ledger.items()
                    if ends.get(partition, start).is_earliest
                }
            )
        elif not self._has_checked_closed:
            self._has_checked_closed = True
            starts |= skip_closed(self._client, self._planner, in_ledger)
        passed = {
            partition: start
            for partition, start in starts.items()
            if start.ledger > unmoved[partition].ledger
        }
        self._readable_ends.recall(unmoved, passed)
        return passed


def skip_closed(
    client: BrokerClient, planner: SplitPlanner, starts: Positions
) -> dict[TopicPartition, Position]:
    """Return the start of the next ledger, for each start whose ledger is closed and contains no later message.

    No error is raised. If a lookup fails, the result is empty, and a later run may report a loss that did not happen.
    """
    try:
        closed = planner.ledgers.closed(starts)
        spans = {
            partition: (starts[partition], end)
            for partition, (end, _) in closed.items()
            if starts[partition] < end
        }
        passed = pass_unseen(client, spans, _PASS_SECONDS)
    except PulsarError as fault:
        _log.info("could not determine which ledgers were fully read: %s", fault)
        return {}
    return {
        partition: following
        for partition, (end, following) in closed.items()
        if passed.get(partition, starts[partition]) >= end
    }
