"""What a planner remembers of the ledgers of topic partitions from one plan to the next. Driver only.

Two things are kept of each topic partition:

  * the ledgers as they were when they were last asked for. That is enough for a small range inside the ledger that is
    written to: it comes from the broker in one split whatever the others are. So a stream that keeps up does not list
    the ledgers of each topic partition at each trigger;
  * the ledgers that were ever seen in an unbroken run. When retention removes the ledger at whose end a stream stands,
    only who saw that ledger closed knows that nothing was lost (`data_loss`). So a stream that waits for messages looks
    at them now and then.
"""

from __future__ import annotations

import heapq
import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ledgers.data_loss import remember
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_ledgers
from pyspark_pulsar.topic import TopicPartition

_log: Final = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS: Final = 600.0
"""Shorter than any retention that is meant to keep something."""
_LOOKS_AT_A_TIME: Final = 16
"""No trigger waits for thousands of topics; the longest not looked at come first."""


class KnownLedgers:
    """Kept by a planner. Used by one thread."""

    def __init__(self, admin: AdminClient, split_bytes: int, *, with_created: bool = True) -> None:
        """`split_bytes`: how large a range may be that needs no fresh list. `with_created`: as `fetch_ledgers`. The
        caller closes `admin`."""
        self._fetch = partial(fetch_ledgers, admin, with_created=with_created)
        self._split_bytes = split_bytes
        self._present: dict[TopicPartition, TopicLedgers] = {}
        self._seen: dict[TopicPartition, dict[int, Ledger]] = {}
        self._looked: dict[TopicPartition, float] = {}
        """When, by `time.monotonic`."""

    def of(self, partition: TopicPartition) -> TopicLedgers | None:
        """As they were when they were last asked for."""
        return self._present.get(partition)

    def seen(self, partition: TopicPartition) -> Mapping[int, Ledger]:
        """By id, also those that are gone; see `data_loss.check_loss`."""
        return self._seen.get(partition, {})

    def fetch(self, requests: Sequence[RangeRequest]) -> dict[TopicPartition, TopicLedgers]:
        """As they are now, or as they were where that is enough. Raises the errors of `AdminClient`."""
        stale = [request.partition for request in requests if not self.is_enough(request)]
        self._learn(self._fetch(stale))
        return {request.partition: self._present[request.partition] for request in requests}

    def update(self, ledgers: Mapping[TopicPartition, TopicLedgers]) -> None:
        """More became known of the same ledgers."""
        self._present.update(ledgers)

    def keep_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Look at ledgers that were not looked at for long. Raises nothing where the admin REST API does not answer."""
        now = time.monotonic()

        def looked(partition: TopicPartition) -> float:
            return self._looked.get(partition, -math.inf)

        waiting = (partition for partition in partitions if now - looked(partition) > _LOOK_AGAIN_SECONDS)
        stale = heapq.nsmallest(_LOOKS_AT_A_TIME, waiting, key=looked)
        if not stale:
            return
        # One that does not answer is not asked again at the next trigger.
        self._looked.update(dict.fromkeys(stale, now))
        try:
            self._learn(self._fetch(stale))
        except PulsarError as fault:
            _log.info("the ledgers of %d topic partitions were not looked at: %s", len(stale), fault)

    def _learn(self, fresh: Mapping[TopicPartition, TopicLedgers]) -> None:
        for partition, ledgers in fresh.items():
            self._seen[partition] = remember(self._seen.get(partition, {}), ledgers)
            self._looked[partition] = time.monotonic()
        self._present.update(fresh)

    def is_enough(self, request: RangeRequest) -> bool:
        """Whether what is known serves: the range lies in the ledger that was being written to, which the broker reads
        in any case. Its end has just been asked for, so the ledger is there."""
        known = self._present.get(request.partition)
        if known is None or not known.ledgers:
            return False
        last = known.ledgers[-1]
        if not (last.is_open and request.start.ledger == request.end.ledger == last.id):
            return False
        ledger_range = LedgerRange(request.start, request.end, last)
        return 0 < ledger_range.entry_bytes * ledger_range.entries <= self._split_bytes
