"""The outcomes of a topic partition's transactions, for entries that are read from storage. Executor only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.transaction_buffer import TransactionOutcomes
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.log_end import LogEnds

# The broker can return the rest of a range instead, so a short timeout is sufficient.
_TIMEOUT_MS: Final = 5_000


class TopicTransactions:
    """A source of transaction outcomes, which connects at the first request.

    The owner closes the source. Used by one thread.
    """

    def __init__(self, options: ReadOptions, partition: TopicPartition) -> None:
        self._options = options
        self._partition = partition
        self._admin: AdminClient | None = None
        self._outcomes: TransactionOutcomes | None = None

    def aborted(self, transactions: Sequence[TransactionId]) -> Mapping[TransactionId, bool]:
        """Return, for each transaction, whether it was aborted. Raises the errors of `TransactionOutcomes`."""
        if self._outcomes is None:
            if self._options.admin_url is None:
                raise LedgerUnavailable(
                    "option 'admin.url': expected an address, because only the admin REST API reports the outcome of a "
                    "transaction, got none"
                )
            self._admin = AdminClient(self._options, patience_ms=_TIMEOUT_MS)
            self._outcomes = TransactionOutcomes(self._admin, self._partition, self._load)
        return self._outcomes.aborted(transactions)

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()

    def _load(self) -> None:
        """Make the broker load the topic.

        Return after the broker has loaded the outcomes of the topic's transactions.
        """
        with BrokerClient(self._options) as client, closing(LogEnds(client)) as log_ends:
            log_ends.check_permissions([self._partition])
