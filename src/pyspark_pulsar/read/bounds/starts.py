"""The position at which a query begins in each topic partition, from its options. Driver only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import OffsetBound
from pyspark_pulsar.read.bounds.offsets import resolve_bound
from pyspark_pulsar.read.bounds.subscription import skip_removed, subscription_positions
from pyspark_pulsar.read.log_end import LogEnds


class QueryStarts:
    """The computation of one query's starts. Used by one thread."""

    def __init__(
        self, options: ReadOptions, client: BrokerClient, admin: AdminClient | None, log_ends: LogEnds
    ) -> None:
        """Store the arguments. The query closes the clients and the log ends."""
        self._options = options
        self._client = client
        self._admin = admin
        self._log_ends = log_ends

    def find_starts(
        self,
        bound: OffsetBound,
        partitions: Sequence[TopicPartition],
        ends: Mapping[TopicPartition, Position],
    ) -> dict[TopicPartition, Position]:
        """Return the positions of `startingSubscription`. If that option is not set, return the positions of `bound`.

        Args:
            bound: The value of `startingOffsets`, or its default.
            partitions: All topic partitions that the query reads, sorted.
            ends: The present ends of these partitions.

        Raises:
            OptionError: The bound or the subscription does not fit the partitions.
            PulsarError: For the same reasons as `subscription_positions`.

        """
        name = self._options.starting_subscription
        if name is None:
            return resolve_bound("startingOffsets", bound, partitions, ends)
        starts = subscription_positions(self._client, self._admin, name, partitions, ends)
        return skip_removed(starts, self._log_ends)
