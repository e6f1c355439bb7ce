"""What a planner remembers of the ledgers of topic partitions from one plan to the next. Driver only.

Two things are kept of each topic partition:

  * the ledgers as they were when they were last asked for. That is enough for a small range inside the ledger that is
    written to: it comes from the broker in one split whatever the others are. So a stream that keeps up does not list
    the ledgers of each topic partition at each trigger;
  * the ledgers that were ever seen in an unbroken run. When retention removes the ledger at whose end a stream stands,
    only who saw that ledger closed knows that nothing was lost (`data_loss`). So a stream that waits for messages looks
    at them now and then. No trigger waits for such a look: it is begun at one and taken at a later one, unless the
    ledgers were listed meanwhile.

Ledgers can be asked for ahead of the plan, so that they come while brokers tell where topics end. Such an answer may be
older than these ends. It serves all the same: ledgers may be closed, offloaded or removed before a task runs in any
case, and tasks see to that (`task.fallback`). It serves no more where the topic ends in a ledger that it does not have,
and where somebody has seen since that messages are gone (`forget`).
"""

from __future__ import annotations

import heapq
import logging
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import DeadlineExceeded, PulsarError
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ahead import Ahead
from pyspark_pulsar.read.planning.ledgers.data_loss import remember
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import (
    TopicLedgers,
    fetch_ledgers,
    fetch_one,
    fetch_striped,
)

_log: Final = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS: Final = 600.0
"""Shorter than any retention that is meant to keep something."""
_LOOKS_AT_A_TIME: Final = 16
"""Of thousands of topics, the longest not looked at come first."""


class KnownLedgers:
    """Kept by a planner. Used by one thread."""

    def __init__(self, admin: AdminClient, split_bytes: int, *, with_created: bool = True) -> None:
        """`split_bytes`: how large a range may be that needs no fresh list. `with_created`: as `fetch_ledgers`. The
        caller closes `admin`."""
        self._admin = admin
        self._fetch = partial(fetch_ledgers, admin, with_created=with_created)
        self._fetch_one = partial(fetch_one, admin, with_created=with_created)
        self._ahead: dict[TopicPartition, Ahead[TopicLedgers]] = {}
        self._split_bytes = split_bytes
        self._present: dict[TopicPartition, TopicLedgers] = {}
        self._seen: dict[TopicPartition, dict[int, Ledger]] = {}
        self._looked: dict[TopicPartition, float] = {}
        """When, by `time.monotonic`."""
        self._looks: dict[TopicPartition, Future[TopicLedgers]] = {}
        """Begun, and not taken yet."""

    def of(self, partition: TopicPartition) -> TopicLedgers | None:
        """As they were when they were last asked for."""
        return self._present.get(partition)

    def seen(self, partition: TopicPartition) -> Mapping[int, Ledger]:
        """By id, also those that are gone; see `data_loss.check_loss`."""
        return self._seen.get(partition, {})

    def fetch(self, requests: Sequence[RangeRequest]) -> dict[TopicPartition, TopicLedgers]:
        """As they are now, or as they were where that is enough. Raises the errors of `AdminClient`."""
        stale = {request.partition: request for request in requests if not self.is_enough(request)}
        ahead = self.asked_ahead(stale)
        fresh = {
            partition: ledgers
            for partition, ledgers in ahead.items()
            if ledgers.ledgers and stale[partition].end.ledger <= ledgers.ledgers[-1].id
        }
        self._learn_now([partition for partition in stale if partition not in fresh])
        return {request.partition: self._present[request.partition] for request in requests}

    def look(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, TopicLedgers]:
        """Return the ledgers as they are now. Raises the errors of `AdminClient`."""
        listed = list(partitions)
        self._learn_now(listed)
        return {partition: self._present[partition] for partition in listed}

    def ask_ahead(self, partitions: Iterable[TopicPartition], *, with_striping: bool = False) -> None:
        """Begin to list the ledgers of a few, for a plan that is made in a moment. `with_striping`: where they lie too,
        for which a broker opens them."""
        fetch = partial(fetch_striped, self._admin) if with_striping else self._fetch_one
        for partition in partitions:
            if not self._is_ahead(partition):
                self._ahead[partition] = Ahead(self._admin.begin(fetch, partition))

    def asked_ahead(
        self, partitions: Collection[TopicPartition], seconds: float | None = None
    ) -> dict[TopicPartition, TopicLedgers]:
        """What `ask_ahead` has asked for of these. Waits for it, at most `seconds`; raises `DeadlineExceeded` then, and
        the errors of `AdminClient`, once."""
        deadline = None if seconds is None else time.monotonic() + seconds
        answers: dict[TopicPartition, TopicLedgers] = {}
        for partition in partitions:
            if not self._is_ahead(partition):
                continue
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                answers[partition] = self._ahead[partition].answer.result(left)
            except TimeoutError:
                raise DeadlineExceeded(
                    f"the ledgers of {partition}: expected the admin REST API to list them in time"
                ) from None
            except PulsarError:
                self.forget([partition])
                raise
        self._learn(answers)
        return answers

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """What was asked for ahead serves no plan any more."""
        for partition in partitions:
            self._ahead.pop(partition, None)

    def _is_ahead(self, partition: TopicPartition) -> bool:
        ahead = self._ahead.get(partition)
        return ahead is not None and ahead.is_recent

    def update(self, ledgers: Mapping[TopicPartition, TopicLedgers]) -> None:
        """More became known of the same ledgers."""
        self._present.update(ledgers)

    def keep_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Look at ledgers that were not looked at for long, a few at a time. Waits for nothing, and raises nothing
        where the admin REST API does not answer."""
        self._take_looks()
        free = _LOOKS_AT_A_TIME - len(self._looks)
        if free <= 0:
            return
        now = time.monotonic()

        def looked(partition: TopicPartition) -> float:
            return self._looked.get(partition, -math.inf)

        waiting = (partition for partition in partitions if now - looked(partition) > _LOOK_AGAIN_SECONDS)
        for partition in heapq.nsmallest(free, waiting, key=looked):
            # One that does not answer is not asked again at the next trigger.
            self._looked[partition] = now
            self._looks[partition] = self._admin.begin(self._fetch_one, partition)

    def _take_looks(self) -> None:
        answered = [partition for partition, look in self._looks.items() if look.done()]
        for partition in answered:
            look = self._looks.pop(partition)
            try:
                self._learn({partition: look.result()})
                self.forget([partition])
            except PulsarError as fault:
                _log.info("the ledgers of %s were not looked at: %s", partition, fault)

    def _learn_now(self, partitions: Sequence[TopicPartition]) -> None:
        self._learn(self._fetch(partitions))
        self.forget(partitions)

    def _learn(self, fresh: Mapping[TopicPartition, TopicLedgers]) -> None:
        for partition, ledgers in fresh.items():
            self._seen[partition] = remember(self._seen.get(partition, {}), ledgers)
            self._looked[partition] = time.monotonic()
            # It is older than this.
            self._looks.pop(partition, None)
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
