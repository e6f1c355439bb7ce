"""Whether transactions of a topic partition were aborted, for entries that come from storage. Executor only."""

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

# The broker can give the rest of a range instead, so nobody waits long for an answer.
_PATIENCE_MS: Final = 5_000


class TopicTransactions:
    """Connects when the first transaction is asked for. Close it, and use it by one thread."""

    def __init__(self, options: ReadOptions, partition: TopicPartition) -> None:
        self._options = options
        self._partition = partition
        self._admin: AdminClient | None = None
        self._outcomes: TransactionOutcomes | None = None

    def aborted(self, transactions: Sequence[TransactionId]) -> Mapping[TransactionId, bool]:
        """See `codec.intake.Intake`. Raises the errors of `TransactionOutcomes`."""
        if self._outcomes is None:
            if self._options.admin_url is None:
                raise LedgerUnavailable(
                    "only the admin REST API tells that, and option 'admin.url' is not given"
                )
            self._admin = AdminClient(self._options, patience_ms=_PATIENCE_MS)
            self._outcomes = TransactionOutcomes(self._admin, self._partition, self._load)
        return self._outcomes.aborted(transactions)

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()

    def _load(self) -> None:
        """Make its broker load the topic; answers when its transactions are known again."""
        with BrokerClient(self._options) as client, closing(LogEnds(client)) as log_ends:
            log_ends.show_rights([self._partition])
