"""The ledgers that plans need, as far as they are listed for this role. Driver only.

No ledgers are listed without the admin REST API, nor for segments of scalable topics. A role that may not list them
does without, unless `readFrom` names a place that cannot be found then. Nor are those of small ranges, whose ledgers
would not change a plan (`small_ranges`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import pairwise

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.read_from import AUTO, BROKER
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ledgers.known_ledgers import KnownLedgers
from pyspark_pulsar.read.planning.ledgers.small_ranges import FEW, small_ranges
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers


class LedgerListing:
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
        self._report = report
        self._lists_all = uses_tables or options.read_from not in (AUTO, BROKER)
        # A table is recognized as the topic's by the time when the topic was created.
        self._known = (
            None
            if admin is None
            else KnownLedgers(admin, options.max_bytes_per_partition, with_created=uses_tables)
        )

    @property
    def is_possible(self) -> bool:
        """Whether there is an admin REST API to list ledgers."""
        return self._known is not None

    def of(self, partition: TopicPartition) -> TopicLedgers | None:
        """Return the ledgers as they were last listed; None if they never were."""
        return None if self._known is None else self._known.of(partition)

    def seen(self, partition: TopicPartition) -> Mapping[int, Ledger]:
        """Return what `data_loss.check_loss` takes as `former`."""
        return {} if self._known is None else self._known.seen(partition)

    def is_enough(self, request: RangeRequest) -> bool:
        """Return whether the range is in the ledger that is written to, so that no list is needed for it."""
        return self._known is not None and self._known.is_enough(request)

    def fetch(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, TopicLedgers]:
        """Return the ledgers of those ranges that a plan needs them of. Raises the errors of `AdminClient`."""
        if self._known is None:
            return {}
        listed = [request for request in requests if not request.partition.is_segment]
        if not self._lists_all:
            small = small_ranges(self._options, listed)
            listed = [request for request in listed if request.partition not in small]
        try:
            return self._known.fetch(listed)
        except PermissionDenied as fault:
            if self._options.read_from not in (AUTO, BROKER):
                raise
            self._report(f"all is read from the broker, one split for each topic partition: {fault}")
            return {}

    def update(self, ledgers: Mapping[TopicPartition, TopicLedgers]) -> None:
        """Remember what became known of listed ledgers."""
        if self._known is not None:
            self._known.update(ledgers)

    # Ahead of a plan

    def may_list_ahead(self, partitions: Collection[TopicPartition]) -> bool:
        """Return whether the partitions are so few that their ledgers may be listed without need."""
        return self._known is not None and 0 < len(partitions) <= FEW

    def list_ahead(self, partitions: Iterable[TopicPartition], *, with_striping: bool = False) -> None:
        """Begin to list the ledgers, and with `with_striping` the bookies that store them. Raises nothing."""
        if self._known is not None:
            self._known.ask_ahead(_listed(partitions), with_striping=with_striping)

    def listed_ahead(
        self, partitions: Collection[TopicPartition], seconds: float
    ) -> dict[TopicPartition, TopicLedgers]:
        """Wait at most `seconds` for the ledgers that `list_ahead` began to list, and return them. Raises
        `DeadlineExceeded`, and the errors of `AdminClient`."""
        return {} if self._known is None else self._known.asked_ahead(partitions, seconds)

    def forget_ahead(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop lists that `list_ahead` began: something newer is known of these topic partitions."""
        if self._known is not None:
            self._known.forget(partitions)

    # Beside the plans of a stream

    def keep_up(self, partitions: Iterable[TopicPartition]) -> None:
        """See `KnownLedgers.keep_up`. A stream calls it at its triggers."""
        if self._known is not None:
            self._known.keep_up(_listed(partitions))

    def closed(
        self, positions: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, tuple[Position, Position]]:
        """Return where the ledger of each position ends and where the next one begins, as they are now, of those whose
        ledger is closed. Raises the errors of `AdminClient`."""
        if self._known is None:
            return {}
        return {
            partition: (Position(ledger.id, ledger.entries), Position(following.id, 0))
            for partition, present in self._known.look(_listed(positions)).items()
            for ledger, following in pairwise(present.ledgers)
            if ledger.id == positions[partition].ledger and not ledger.is_open
        }


def _listed(partitions: Iterable[TopicPartition]) -> Iterable[TopicPartition]:
    """The admin REST API lists no ledgers of segments."""
    return (partition for partition in partitions if not partition.is_segment)
