"""Outcomes of transactions: whether a transaction was committed or aborted, or is still open.

Brokers do not deliver the messages of aborted transactions. A reader that bypasses brokers must also omit the messages
of aborted transactions.

Source: `GET /admin/v3/transactions/transactionInBufferStats/...` and `transactionBufferStats/...` of Pulsar 4.0
(TransactionsBase, TopicTransactionBuffer). A test on a broker showed these limits of the answers:

- For a topic that is not loaded, the answer is "not found".
- While a transaction buffer recovers (state Initializing), the answer for an aborted transaction is "not aborted".
- For committed, open and unknown transactions, the answer is "not aborted". Only open transactions have the field
  `startPosition`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.client.admin.paths import transaction_resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import (
    LedgerUnavailable,
    PermissionDenied,
    ProtocolError,
    PulsarError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.position import Position, after_entry
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.runtime import time

_RECOVERED: Final = ("Ready", "NoSnapshot")
_TRIES: Final = 5
_AT_ONCE: Final = 4
_PAUSE_SECONDS: Final = 0.1
_SIGN: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class _Buffer:
    """The transaction buffer of a loaded topic, after its recovery. The buffer knows all aborted transactions."""

    recovery: tuple[str, int]
    """The state, and the start time of the recovery. Equal values in two answers prove that the buffer was not replaced
    between the answers."""
    aborted: int | None
    """The number of aborted transactions. None if the answer lacks the number."""


class TransactionOutcomes:
    """The outcomes of transactions in a topic partition. Instances are not safe to use from several threads."""

    def __init__(
        self,
        rest: RestClient,
        partition: TopicPartition,
        load: Callable[[], object],
        patience_seconds: float = 30.0,
    ) -> None:
        """Store the arguments, without connecting.

        Args:
            rest: The client of the admin REST API.
            partition: The topic partition.
            load: A function that makes a broker load the topic partition.
            patience_seconds: The time limit in seconds for the recovery of the transaction buffer.

        """
        self._rest = rest
        self._partition = partition
        self._load = load
        self._patience_seconds = patience_seconds
        self._fault: PulsarError | None = None

    def aborted(self, transactions: Sequence[TransactionId]) -> Mapping[TransactionId, bool]:
        """Return a mapping from each transaction to True if the transaction was aborted, and otherwise to False.

        Args:
            transactions: The transactions. All messages of the transactions must be before the log end that the broker
                reports.

        Raises:
            PulsarError: An outcome cannot be determined. Every later call raises the same error: `PermissionDenied`,
                `ConnectionFailed`, `ProtocolError` or `TopicNotFoundError`. `LedgerUnavailable` means that a
                transaction is still open, or that the topic does not stay loaded.

        """
        if self._fault is not None:
            raise self._fault
        try:
            return self._request_outcomes(transactions)
        except PulsarError as fault:
            self._fault = fault
            raise

    def _request_outcomes(self, transactions: Sequence[TransactionId]) -> Mapping[TransactionId, bool]:
        for _ in range(_TRIES):
            before = self._wait_for_buffer()
            if before.aborted == 0:
                return dict.fromkeys(transactions, False)
            try:
                answers = map_concurrently(self._is_aborted, transactions, _AT_ONCE)
                outcomes = dict(zip(transactions, answers, strict=True))
            except TopicNotFoundError:
                continue
            # If the buffer recovered during the requests, the answer "not aborted" can be wrong.
            if all(outcomes.values()) or self._wait_for_buffer().recovery == before.recovery:
                return outcomes
        raise LedgerUnavailable(
            f"{self._error_start()}: expected the topic to stay loaded during the requests, but the topic was loaded "
            f"{_TRIES} times; run the query again"
        )

    def _is_aborted(self, transaction: TransactionId) -> bool:
        most, least = (bits - 2 * _SIGN if bits >= _SIGN else bits for bits in transaction)
        answer = self._get("transactionInBufferStats", str(most), str(least))
        aborted = answer.get("aborted")
        if not isinstance(aborted, bool):
            raise ProtocolError(
                f"{self._error_start()}: expected true or false in the field aborted, got another answer; "
                f"check admin.url"
            )
        if not aborted and answer.get("startPosition") is not None:
            raise LedgerUnavailable(
                f"{self._partition}: expected transaction ({most},{least}) to have ended, got an open one; "
                f"wait until the transaction ends, then run the query again"
            )
        return aborted

    def _wait_for_buffer(self) -> _Buffer:
        """Wait until the topic's transaction buffer has recovered. If the topic is not loaded, load the topic first."""
        deadline = time.monotonic() + self._patience_seconds
        loads = 0
        while True:
            try:
                answer = self._get("transactionBufferStats")
            except TopicNotFoundError:
                # Loading does not help if a proxy does not support the resource, so limit the number of loads.
                if loads == _TRIES or time.monotonic() > deadline:
                    raise
                self._load()
                loads += 1
                continue
            state = answer.get("state")
            if state in _RECOVERED:
                total = answer.get("totalAbortedTransactions")
                since = answer.get("recoverStartTime")
                return _Buffer((str(state), int(since or 0)), total if isinstance(total, int) else None)
            if time.monotonic() > deadline:
                raise LedgerUnavailable(
                    f"{self._error_start()}: expected the topic's transaction buffer to recover within "
                    f"{self._patience_seconds:.0f} s, got the state {state}; run the query again"
                )
            time.sleep(_PAUSE_SECONDS)

    def _get(self, kind: str, *names: str) -> dict[str, Any]:
        answer = self._rest.get(self._resource(kind, *names), self._error_start(), version="v3")
        if not isinstance(answer, dict):
            raise ProtocolError(
                f"{self._error_start()}: expected a JSON object, got {type(answer).__name__}; check admin.url"
            )
        return answer

    def _error_start(self) -> str:
        return f"requesting transactions of {self._partition}"

    def _resource(self, kind: str, *names: str) -> str:
        return transaction_resource(kind, self._partition.as_topic, *names)


def has_open_transaction(rest: RestClient, partition: TopicPartition) -> bool:
    """Return whether an open transaction hides messages of the topic partition.

    An open transaction hides all messages from the transaction's first message on. The result is also False if the
    broker does not support transactions, has not loaded the topic, or is unreachable.

    Source: `ongoingTxnSize` of `GET /admin/v3/transactions/transactionBufferStats/...`.
    """
    resource = transaction_resource("transactionBufferStats", partition.as_topic)
    try:
        answer = rest.get(resource, f"requesting open transactions of {partition}", version="v3")
    except PulsarError:
        return False
    is_ready = isinstance(answer, dict) and answer.get("state") in _RECOVERED
    return is_ready and isinstance(count := answer.get("ongoingTxnSize"), int) and count > 0


def readable_end(rest: RestClient, partition: TopicPartition) -> Position | None:
    """Return the position after the last entry that no open transaction hides from consumers.

    Markers and aborted messages also count as entries.

    Source: `maxReadPosition` of `GET /admin/v3/transactions/transactionBufferStats/...`.

    Returns:
        The position. None if the broker does not support transactions, or has not loaded the topic.

    Raises:
        ConnectionFailed: The admin REST API is unreachable.
        ProtocolError: The answer contains no valid `maxReadPosition`.

    """
    doing = f"requesting the readable end of {partition}"
    resource = transaction_resource("transactionBufferStats", partition.as_topic)
    try:
        answer = rest.get(resource, doing, version="v3")
        if answer.get("state") not in _RECOVERED:
            return None
        ledger, entry = (int(part) for part in str(answer["maxReadPosition"]).split(":"))
    except (TopicNotFoundError, PermissionDenied):
        return None
    except (AttributeError, KeyError, ValueError) as fault:
        raise ProtocolError(
            f"{doing}: expected maxReadPosition as ledger:entry, got another answer ({fault!r}); check admin.url"
        ) from None
    return after_entry(ledger, entry)
