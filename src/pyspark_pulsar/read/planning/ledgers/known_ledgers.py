"""The ledgers that plans need, as far as they are listed for this role, from one plan to the next. Driver only.

No ledgers are listed without the admin REST API, nor for segments of scalable topics. A role that may not list them
does without, unless `readFrom` names a place that only they show. Small ranges need no list (`small_ranges`).

A planner keeps two facts about each topic partition:

  * the ledgers as they were last listed. They are enough for a small range inside the ledger that is written to: the
    broker serves this range in one split in any case. So a stream that keeps up does not list the ledgers at each
    trigger;
  * all ledgers that were ever listed in an unbroken run. Retention may remove the ledger at whose end a stream is. Then
    a planner knows that nothing was lost only if it saw that ledger closed (`data_loss`). So a stream without messages
    lists the ledgers now and then. No trigger waits for such a look: one trigger starts the look, and a later one reads
    the answer. A list that is made in between replaces it.

A list can be requested ahead of the plan, while brokers report where topics end. Such an answer may be older than these
ends. It is still good enough: ledgers may be closed, offloaded or removed before a task runs, and tasks handle that
(`task.fallback`). The answer is dropped if it lacks the ledger in which the topic ends, and after messages were found
to be gone (`forget_ahead`).
"""

from __future__ import annotations

import heapq
import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import pairwise
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import DeadlineExceeded, PermissionDenied, PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.read_from import AUTO, BROKER
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.early_request import EarlyRequest
from pyspark_pulsar.read.planning.ledgers.data_loss import remember
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.ledgers.small_ranges import FEW, small_ranges
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

    def __init__(
        self,
        options: ReadOptions,
        admin: AdminClient | None,
        report: Callable[[str], None],
        *,
        uses_tables: bool,
    ) -> None:
        """Request nothing yet.

        Args:
            options: The options of the read.
            admin: None: no ledgers are listed. The caller closes it.
            report: Logs a text once for each planner.
            uses_tables: Topics' tables are compared with the ledgers, for which all of them must be listed.

        """
        self._options = options
        self._admin = admin
        self._report = report
        self._lists_all = uses_tables or options.read_from not in (AUTO, BROKER)
        # A table is recognized as the topic's by the time when the topic was created.
        self._with_created = uses_tables
        self._ahead: dict[TopicPartition, EarlyRequest[TopicLedgers]] = {}
        self._present: dict[TopicPartition, TopicLedgers] = {}
        self._seen: dict[TopicPartition, dict[int, Ledger]] = {}
        self._looked: dict[TopicPartition, float] = {}
        """When, by `time.monotonic`."""
        self._looks: dict[TopicPartition, Future[TopicLedgers]] = {}
        """Looks that were started and whose answers are not taken yet."""

    @property
    def is_possible(self) -> bool:
        """True if there is an admin REST API to list ledgers."""
        return self._admin is not None

    def of(self, partition: TopicPartition) -> TopicLedgers | None:
        """Return the ledgers as they were last listed; None if they never were."""
        return self._present.get(partition)

    def seen(self, partition: TopicPartition) -> Mapping[int, Ledger]:
        """Return the ledgers by id, including removed ones: the argument `former` of `data_loss.check_loss`."""
        return self._seen.get(partition, {})

    def fetch(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, TopicLedgers]:
        """Return the ledgers of those ranges that a plan needs them of: as they are now, or as they were where that is
        enough. Raises the errors of `AdminClient`."""
        if self._admin is None:
            return {}
        listed = [request for request in requests if not request.partition.is_segment]
        if not self._lists_all:
            small = small_ranges(self._options, listed)
            listed = [request for request in listed if request.partition not in small]
        stale = {request.partition: request for request in listed if not self.is_enough(request)}
        try:
            fresh = {
                partition: ledgers
                for partition, ledgers in self.listed_ahead(stale).items()
                if ledgers.ledgers and stale[partition].end.ledger <= ledgers.ledgers[-1].id
            }
            self._list_now(self._admin, [partition for partition in stale if partition not in fresh])
        except PermissionDenied as fault:
            if self._options.read_from not in (AUTO, BROKER):
                raise
            self._report(f"all is read from the broker, one split for each topic partition: {fault}")
            return {}
        return {request.partition: self._present[request.partition] for request in listed}

    def update(self, ledgers: Mapping[TopicPartition, TopicLedgers]) -> None:
        """Remember what became known of listed ledgers."""
        self._present.update(ledgers)

    # Ahead of a plan

    def may_list_ahead(self, partitions: Collection[TopicPartition]) -> bool:
        """Return whether the partitions are at most `FEW`: then their ledgers may be listed without need."""
        return self._admin is not None and 0 < len(partitions) <= FEW

    def list_ahead(self, partitions: Iterable[TopicPartition], *, with_striping: bool = False) -> None:
        """Begin to list the ledgers, and with `with_striping` the bookies that store them. Raises nothing."""
        if self._admin is None:
            return
        fetch = partial(fetch_striped, self._admin) if with_striping else self._fetch_one(self._admin)
        for partition in _listed(partitions):
            if not self._is_ahead(partition):
                self._ahead[partition] = EarlyRequest(self._admin.begin(fetch, partition))

    def listed_ahead(
        self, partitions: Iterable[TopicPartition], seconds: float | None = None
    ) -> dict[TopicPartition, TopicLedgers]:
        """Wait for the ledgers that `list_ahead` began to list, and return them.

        Args:
            partitions: The topic partitions that are of interest now.
            seconds: The longest wait; None waits for every answer.

        Raises:
            DeadlineExceeded: An answer did not arrive in time.
            PulsarError: And the errors of `AdminClient`, once.

        """
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
                self.forget_ahead([partition])
                raise
        self._learn(answers)
        return answers

    def forget_ahead(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop lists that `list_ahead` began: something newer is known of these topic partitions."""
        for partition in partitions:
            self._ahead.pop(partition, None)

    def _is_ahead(self, partition: TopicPartition) -> bool:
        ahead = self._ahead.get(partition)
        return ahead is not None and ahead.is_recent

    # Beside the plans of a stream

    def keep_up(self, partitions: Iterable[TopicPartition]) -> None:
        """List ledgers that were not listed for long, a few at a time. A stream calls it at its triggers.

        Waits for nothing, and raises nothing where the admin REST API does not answer.
        """
        if self._admin is None:
            return
        self._take_looks()
        free = _LOOKS_AT_A_TIME - len(self._looks)
        if free <= 0:
            return
        now = time.monotonic()

        def looked(partition: TopicPartition) -> float:
            return self._looked.get(partition, -math.inf)

        waiting = (
            partition for partition in _listed(partitions) if now - looked(partition) > _LOOK_AGAIN_SECONDS
        )
        for partition in heapq.nsmallest(free, waiting, key=looked):
            # The next trigger does not repeat a look that is not answered.
            self._looked[partition] = now
            self._looks[partition] = self._admin.begin(self._fetch_one(self._admin), partition)

    def _take_looks(self) -> None:
        answered = [partition for partition, look in self._looks.items() if look.done()]
        for partition in answered:
            look = self._looks.pop(partition)
            try:
                self._learn({partition: look.result()})
                self.forget_ahead([partition])
            except PulsarError as fault:
                _log.info("the ledgers of %s were not looked at: %s", partition, fault)

    def closed(
        self, positions: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, tuple[Position, Position]]:
        """Return where the ledger of each position ends now, and where the next one begins. Leaves out positions whose
        ledger is open. Raises the errors of `AdminClient`."""
        if self._admin is None:
            return {}
        listed = list(_listed(positions))
        self._list_now(self._admin, listed)
        return {
            partition: (Position(ledger.id, ledger.entries), Position(following.id, 0))
            for partition in listed
            for ledger, following in pairwise(self._present[partition].ledgers)
            if ledger.id == positions[partition].ledger and not ledger.is_open
        }

    def _fetch_one(self, admin: AdminClient) -> Callable[[TopicPartition], TopicLedgers]:
        return partial(fetch_one, admin, with_created=self._with_created)

    def _list_now(self, admin: AdminClient, partitions: Sequence[TopicPartition]) -> None:
        self._learn(fetch_ledgers(admin, partitions, with_created=self._with_created))
        self.forget_ahead(partitions)

    def _learn(self, fresh: Mapping[TopicPartition, TopicLedgers]) -> None:
        for partition, ledgers in fresh.items():
            self._seen[partition] = remember(self._seen.get(partition, {}), ledgers)
            self._looked[partition] = time.monotonic()
            # A look that is under way is older than this answer.
            self._looks.pop(partition, None)
        self._present.update(fresh)

    def is_enough(self, request: RangeRequest) -> bool:
        """Return whether the known ledgers are enough for the range, because it is in the last one, which was open.

        The broker reads this ledger in any case, and has just reported the range's end, so the ledger exists.
        """
        known = self._present.get(request.partition)
        if known is None or not known.ledgers:
            return False
        last = known.ledgers[-1]
        if not (last.is_open and request.start.ledger == request.end.ledger == last.id):
            return False
        ledger_range = LedgerRange(request.start, request.end, last)
        return 0 < ledger_range.entry_bytes * ledger_range.entries <= self._options.max_bytes_per_partition


def _listed(partitions: Iterable[TopicPartition]) -> Iterable[TopicPartition]:
    """Leave out segments: the admin REST API lists no ledgers of them."""
    return (partition for partition in partitions if not partition.is_segment)
