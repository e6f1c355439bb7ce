"""Which transactions a broker counts as aborted: it hides their messages, and who reads storage directly must too.

Source: `GET /admin/v3/transactions/transactionInBufferStats/...` and `transactionBufferStats/...` of Pulsar 4.0
(TransactionsBase, TopicTransactionBuffer). What these answers are worth, as seen on a broker: a topic that is not
loaded is "not found"; while a buffer is recovering (state Initializing) aborted transactions look like any other;
"not aborted" is said of committed, open and unknown transactions alike, of open ones with their `startPosition`.
"""

from __future__ import annotations

import time
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

_RECOVERED: Final = ("Ready", "NoSnapshot")
_TRIES: Final = 5
_AT_ONCE: Final = 4
_PAUSE_SECONDS: Final = 0.1
_SIGN: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class _Buffer:
    """The transaction buffer of a loaded topic, all of whose aborted transactions are known."""

    recovery: tuple[str, int]
    """State, and when recovery began: the same in two answers only if the buffer was the same in between."""
    aborted: int | None
    """How many aborted transactions it knows; None where it does not say."""


class TransactionOutcomes:
    """Of one topic partition. Executor only; used by one thread."""

    def __init__(
        self,
        rest: RestClient,
        partition: TopicPartition,
        load: Callable[[], object],
        patience_seconds: float = 30.0,
    ) -> None:
        """`load` makes a broker load the topic partition. `patience_seconds`: how long to wait for it to recover."""
        self._rest = rest
        self._partition = partition
        self._load = load
        self._patience_seconds = patience_seconds
        self._fault: PulsarError | None = None

    def aborted(self, transactions: Sequence[TransactionId]) -> Mapping[TransactionId, bool]:
        """For each whether it was aborted; their messages must lie before the end that the broker shows.

        Raises a `PulsarError` when that cannot be found out, and again at every later call: `PermissionDenied`,
        `ConnectionFailed`, `ProtocolError`, `TopicNotFoundError`, or `LedgerUnavailable` for a transaction that is
        still open and for a topic that does not stay loaded.
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
            before = self._recovered()
            if before.aborted == 0:
                return dict.fromkeys(transactions, False)
            try:
                answers = map_concurrently(self._is_aborted, transactions, _AT_ONCE)
                outcomes = dict(zip(transactions, answers, strict=True))
            except TopicNotFoundError:
                continue
            # An answer of a buffer that was recovering between is worth nothing.
            if all(outcomes.values()) or self._recovered().recovery == before.recovery:
                return outcomes
        raise LedgerUnavailable(
            f"{self._partition}: expected a broker to keep the topic loaded while it is asked for transactions, but it "
            f"was loaded anew {_TRIES} times"
        )

    def _is_aborted(self, transaction: TransactionId) -> bool:
        most, least = (bits - 2 * _SIGN if bits >= _SIGN else bits for bits in transaction)
        answer = self._get("transactionInBufferStats", str(most), str(least))
        aborted = answer.get("aborted")
        if not isinstance(aborted, bool):
            raise ProtocolError(
                f"{self._where()}: expected whether it was aborted, got neither true nor false"
            )
        if not aborted and answer.get("startPosition") is not None:
            raise LedgerUnavailable(
                f"{self._partition}: expected transaction ({most},{least}) to have ended, got an open one; its "
                f"messages are not visible yet"
            )
        return aborted

    def _recovered(self) -> _Buffer:
        """Loads the topic where that is needed, and waits for its buffer."""
        deadline = time.monotonic() + self._patience_seconds
        loads = 0
        while True:
            try:
                answer = self._get("transactionBufferStats")
            except TopicNotFoundError:
                # A proxy may not know the resource at all, and then loading helps nothing.
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
                    f"{self._where()}: expected the topic's transaction buffer to recover within "
                    f"{self._patience_seconds:.0f} s, got the state {state}"
                )
            time.sleep(_PAUSE_SECONDS)

    def _get(self, kind: str, *names: str) -> dict[str, Any]:
        answer = self._rest.get(self._resource(kind, *names), self._where(), version="v3")
        if not isinstance(answer, dict):
            raise ProtocolError(f"{self._where()}: expected a JSON object, got {type(answer).__name__}")
        return answer

    def _where(self) -> str:
        return f"asking for transactions of {self._partition}"

    def _resource(self, kind: str, *names: str) -> str:
        return transaction_resource(kind, self._partition.as_topic, *names)


def has_open_transaction(rest: RestClient, partition: TopicPartition) -> bool:
    """Return whether an open transaction hides messages of the topic partition from its first message on. Return False
    also if that is unknown: the broker knows no transactions, has not loaded the topic, or cannot be reached.

    Source: `ongoingTxnSize` of `GET /admin/v3/transactions/transactionBufferStats/...`.
    """
    resource = transaction_resource("transactionBufferStats", partition.as_topic)
    try:
        answer = rest.get(resource, f"asking for open transactions of {partition}", version="v3")
    except PulsarError:
        return False
    is_ready = isinstance(answer, dict) and answer.get("state") in _RECOVERED
    return is_ready and isinstance(count := answer.get("ongoingTxnSize"), int) and count > 0


def readable_end(rest: RestClient, partition: TopicPartition) -> Position | None:
    """Behind the last entry that no open transaction keeps from consumers, markers and aborted messages included. None
    where the broker does not tell: it knows no transactions, or has not loaded the topic. Raises `ConnectionFailed`,
    `ProtocolError`.

    Source: `maxReadPosition` of `GET /admin/v3/transactions/transactionBufferStats/...`.
    """
    doing = f"asking up to where {partition} can be read"
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
            f"{doing}: expected maxReadPosition as ledger:entry, got another answer ({fault!r})"
        ) from None
    return after_entry(ledger, entry)
