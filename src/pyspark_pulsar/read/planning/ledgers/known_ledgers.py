"""The ledgers of topic partitions that a planner remembers from one plan to the next. Driver only.

Only the admin REST API lists ledgers, and it does not list the ledgers of segments of scalable topics. If a role may
not list ledgers, its plans contain no ledgers. A plan without ledgers is an error if `readFrom` names a location that
needs the list. Small ranges need no list (`small_ranges`).

A planner stores two facts about each topic partition:

  * The ledgers of the last list. These ledgers are sufficient for a small range inside the open ledger, because the
    broker serves this range in one split in any case. So a stream without a lag does not list the ledgers at each
    trigger.
  * All ledgers from consecutive lists, with no gap between the lists. Retention may remove the ledger at whose end a
    stream is. Then a planner can prove that nothing was lost only if an earlier list showed that ledger as closed
    (`data_loss`). So a stream without messages lists the ledgers in the background. One trigger sends the request, and
    a later trigger reads the answer. If a plan lists the ledgers between the two triggers, the background answer is
    discarded.

A list can be requested early, while brokers still report the ends of topics. Such an answer may be older than the
reported ends. The answer is still good enough, because ledgers may also be closed, offloaded or removed before a task
runs. Tasks handle such changes (`task.fallback`). The answer is discarded if it does not contain the ledger in which
the topic ends. The answer is also discarded after a loss of messages was found (`forget_ahead`).
"""

from __future__ import annotations

import heapq
import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from pyspark_pulsar.runtime import Future, time

_log: Final = logging.getLogger(__name__)

_REFRESH_SECONDS: Final = 600.0
"""Time between two background lists of a topic partition. Any useful retention keeps ledgers longer."""
_MOST_BACKGROUND_LISTS: Final = 16
"""Maximum number of open background requests. The partitions that were listed longest ago are requested first."""


class KnownLedgers:
    """The ledgers that one planner remembers. Used by one thread."""

    def __init__(
        self,
        options: ReadOptions,
        admin: AdminClient | None,
        report: Callable[[str], None],
        *,
        uses_tables: bool,
    ) -> None:
        """Create an empty cache; send no request yet.

        Args:
            options: The options of the read.
            admin: The admin client, which the caller closes. With None, no ledgers are listed.
            report: Logs a text once for each planner.
            uses_tables: Whether topics' tables are compared with the ledgers, so that each topic partition needs a
                list.

        """
        self._options = options
        self._admin = admin
        self._report = report
        self._lists_all = uses_tables or options.read_from not in (AUTO, BROKER)
        # The creation time of a topic shows whether a table belongs to it.
        self._with_created = uses_tables
        self._ahead: dict[TopicPartition, EarlyRequest[TopicLedgers]] = {}
        self._present: dict[TopicPartition, TopicLedgers] = {}
        self._seen: dict[TopicPartition, dict[int, Ledger]] = {}
        self._listed_at: dict[TopicPartition, float] = {}
        """The time of the last list, by `time.monotonic`."""
        self._background: dict[TopicPartition, Future[TopicLedgers]] = {}
        """Background requests whose answers have not been read yet."""

    @property
    def is_possible(self) -> bool:
        """True if an admin REST API is set, which can list ledgers."""
        return self._admin is not None

    def get(self, partition: TopicPartition) -> TopicLedgers | None:
        """Return the ledgers of the last list, or None if the ledgers were never listed."""
        return self._present.get(partition)

    def ever_listed(self, partition: TopicPartition) -> Mapping[int, Ledger]:
        """Return all ledgers of consecutive lists, by id, including removed ledgers.

        The result is the argument `previous` of `check_loss`.
        """
        return self._seen.get(partition, {})

    def fetch(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, TopicLedgers]:
        """Return the ledgers that a plan needs for the ranges.

        The ledgers are from the last list if this list is sufficient (`is_enough`), otherwise from a new list.

        Raises:
            PulsarError: The errors of `AdminClient`. With `readFrom=auto` or `broker` a missing permission is logged.

        """
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
            self._report(
                f"all messages are read from the broker, with one split for each topic partition: {fault}"
            )
            return {}
        return {request.partition: self._present[request.partition] for request in listed}

    def update(self, ledgers: Mapping[TopicPartition, TopicLedgers]) -> None:
        """Replace the remembered ledgers with the same ledgers and more facts about them."""
        self._present.update(ledgers)

    # Before a plan

    def may_list_ahead(self, partitions: Collection[TopicPartition]) -> bool:
        """Return whether there are at most `FEW` partitions, so that their ledgers may be listed in advance."""
        return self._admin is not None and 0 < len(partitions) <= FEW

    def list_ahead(self, partitions: Iterable[TopicPartition], *, with_striping: bool = False) -> None:
        """Start to list the ledgers, and with `with_striping` also the bookies that store them. No error is raised."""
        if self._admin is None:
            return
        fetch = partial(fetch_striped, self._admin) if with_striping else self._fetch_one(self._admin)
        for partition in _listed(partitions):
            if not self._is_ahead(partition):
                self._ahead[partition] = EarlyRequest(self._admin.begin(fetch, partition))

    def listed_ahead(
        self, partitions: Iterable[TopicPartition], seconds: float | None = None
    ) -> dict[TopicPartition, TopicLedgers]:
        """Wait for the lists that `list_ahead` requested, and return them.

        Args:
            partitions: The topic partitions whose ledgers are needed now.
            seconds: The longest wait; None waits for every answer.

        Raises:
            DeadlineExceeded: An answer did not arrive in time.
            PulsarError: The errors of `AdminClient`, once for each request.

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
                    f"reading the ledgers of {partition}: expected an answer of the admin REST API within {seconds} s, "
                    f"got none; check the load of the brokers"
                ) from None
            except PulsarError:
                self.forget_ahead([partition])
                raise
        self._learn(answers)
        return answers

    def forget_ahead(self, partitions: Iterable[TopicPartition]) -> None:
        """Discard the lists that `list_ahead` requested, because newer facts about these topic partitions are known."""
        for partition in partitions:
            self._ahead.pop(partition, None)

    def _is_ahead(self, partition: TopicPartition) -> bool:
        ahead = self._ahead.get(partition)
        return ahead is not None and ahead.is_recent

    # Background lists of a stream

    def keep_up(self, partitions: Iterable[TopicPartition]) -> None:
        """List ledgers that were not listed for a long time, a few at a time.

        A stream calls this method at its triggers. The method does not wait, and raises no error if the admin REST API
        does not answer.
        """
        if self._admin is None:
            return
        self._read_background_lists()
        free = _MOST_BACKGROUND_LISTS - len(self._background)
        if free <= 0:
            return
        now = time.monotonic()

        def listed_at(partition: TopicPartition) -> float:
            return self._listed_at.get(partition, -math.inf)

        waiting = (
            partition for partition in _listed(partitions) if now - listed_at(partition) > _REFRESH_SECONDS
        )
        for partition in heapq.nsmallest(free, waiting, key=listed_at):
            # The next trigger does not repeat a request that has no answer yet.
            self._listed_at[partition] = now
            self._background[partition] = self._admin.begin(self._fetch_one(self._admin), partition)

    def _read_background_lists(self) -> None:
        answered = [partition for partition, answer in self._background.items() if answer.done()]
        for partition in answered:
            answer = self._background.pop(partition)
            try:
                self._learn({partition: answer.result()})
                self.forget_ahead([partition])
            except PulsarError as fault:
                _log.info("Listing ledgers in the background failed: %s: %s", partition, fault)

    def closed(
        self, positions: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, tuple[Position, Position]]:
        """Return, for each position in a closed ledger, the end of that ledger and the start of the next ledger.

        Positions in an open ledger are not in the result. The errors of `AdminClient` are raised.
        """
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
            self._listed_at[partition] = time.monotonic()
            # The answer to an earlier background request is older than this list.
            self._background.pop(partition, None)
        self._present.update(fresh)

    def is_enough(self, request: RangeRequest) -> bool:
        """Return whether the remembered ledgers are sufficient: the range is inside the last ledger, which is open.

        The broker serves an open ledger in any case. The ledger still exists, because the broker has just reported the
        range's end in it.
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
    """Return the partitions that are not segments, because the admin REST API does not list the ledgers of segments."""
    return (partition for partition in partitions if not partition.is_segment)
