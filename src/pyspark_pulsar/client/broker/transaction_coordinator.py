"""Pulsar transactions: begin, add partitions, commit or abort.

END_TXN is not idempotent. A broker of Pulsar 4.0.8 answers TransactionNotFound for a transaction that has been
committed or aborted. Therefore a caller whose commit got no answer needs another way to find out the outcome. Only
END_TXN or the timeout ends a transaction. A lost connection does not abort a transaction.

Protocol: CommandTcClientConnectRequest, CommandNewTxn, CommandAddPartitionToTxn, CommandEndTxn. The coordinator's
number is the upper half of a transaction's id (`txnid_most_bits`). Partition N of `transaction_coordinator_assign`
belongs to coordinator N. The owner of this partition runs the coordinator after a client has connected to this owner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import (
    ADD_PARTITION_TO_TXN,
    END_TXN,
    NEW_TXN,
    TC_CLIENT_CONNECT,
)
from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer
from pyspark_pulsar.client.broker.connection.server_error import server_error
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import (
    ConnectionFailed,
    OptionError,
    PermissionDenied,
    TopicNotFoundError,
    TransactionEnded,
)
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.runtime import Future, random, time

_ASSIGN: Final = TopicName.parse("persistent://pulsar/system/transaction_coordinator_assign")
_COMMIT, _ABORT = 0, 1
_OFF: Final = (
    "transactions are off in the broker, but deliveryGuarantee=exactly-once needs transactions; "
    "set transactionCoordinatorEnabled=true in the broker's configuration, or use deliveryGuarantee=at-least-once"
)
# https://github.com/apache/pulsar/issues/18716
_PERMISSION: Final = (
    "deliveryGuarantee=exactly-once needs a permission in Pulsar's own namespace, where clients look up transaction "
    "coordinators; let an administrator run: pulsar-admin namespaces grant-permission pulsar/system --role ROLE "
    "--actions consume"
)


@dataclass(frozen=True, slots=True)
class _CoordinatorRequest:
    """A request about a transaction. If the request could not be sent, `answer` is None."""

    transaction: TransactionId
    command: wire.BaseCommand
    where: str
    answer: Future[Any] | None


class Coordinators:
    """The transaction coordinators of a cluster, for use by one thread."""

    def __init__(self, client: BrokerClient) -> None:
        self._client = client
        self._connected: dict[int, Connection] = {}

    def check(self) -> None:
        """Check that transactions are usable.

        Raises:
            OptionError: Transactions are off. The message contains the name of the broker's setting.
            PermissionDenied: The role lacks a permission. The message contains the permission.

        """
        self._client.retrying(lambda: self._connection(0))

    def count(self) -> int:
        """Return the number of coordinators, which are numbered from 0.

        Raises:
            PermissionDenied: The role lacks a permission. The message contains the permission.

        """
        return max(1, int(_explain_refusal(lambda: self._client.partition_count(_ASSIGN))))

    def begin(self, timeout_ms: int, coordinator: int | None = None) -> TransactionId:
        """Begin a transaction. The broker aborts the transaction after the timeout.

        Args:
            timeout_ms: The timeout in milliseconds.
            coordinator: The number of the coordinator, or None to choose a random coordinator.

        """
        number = random.randrange(self.count()) if coordinator is None else coordinator
        # Despite the name of the field `txn_ttl_seconds`, clients send milliseconds, and brokers expect milliseconds.
        request = wire.CommandNewTxn(request_id=0, tc_id=number, txn_ttl_seconds=timeout_ms)
        answer = self._send_and_wait(
            number, wire.BaseCommand(type=NEW_TXN, newTxn=request), "beginning a transaction"
        )
        return (int(answer.txnid_most_bits), int(answer.txnid_least_bits))

    def add_partitions(self, transaction: TransactionId, partitions: Sequence[str]) -> None:
        """Add partitions to a transaction. Each partition must be added before its first message.

        A partition can be added again, for example to check that the transaction is still open.

        Raises:
            TransactionEnded: The transaction is not open.

        """
        self._settle(self._submit_add(transaction, partitions))

    def require_open(self, transactions: Sequence[TransactionId], partition: str) -> None:
        """Check that transactions are open, with pipelined requests.

        Args:
            transactions: The transactions.
            partition: A partition that has already been added to all of these transactions.

        Raises:
            TransactionEnded: A transaction is not open.

        """
        for request in [self._submit_add(transaction, [partition]) for transaction in transactions]:
            self._settle(request)

    def still_open(self, transactions: Sequence[TransactionId], partition: str) -> list[TransactionId]:
        """Add `partition` to each open transaction, and return the open transactions. Requests are pipelined."""
        ended = self._await_ended(
            [self._submit_add(transaction, [partition]) for transaction in transactions]
        )
        return [transaction for transaction in transactions if transaction not in ended]

    def commit_all(self, transactions: Sequence[TransactionId]) -> list[TransactionId]:
        """Commit transactions, and wait until all their partitions have recorded the commit. Requests are pipelined.

        Returns:
            The transactions that had already ended. If an answer was lost and the request was repeated, the list can
            also contain a transaction that this call has committed.

        """
        return self._end_all(transactions, commit=True)

    def abort_all(self, transactions: Sequence[TransactionId]) -> None:
        """Abort the open transactions. A transaction whose commit has begun is not aborted. Requests are pipelined."""
        self._end_all(transactions, commit=False)

    def _end_all(self, transactions: Sequence[TransactionId], *, commit: bool) -> list[TransactionId]:
        return self._await_ended(
            [self._submit_end(transaction, commit=commit) for transaction in transactions]
        )

    def _await_ended(self, requests: Sequence[_CoordinatorRequest]) -> list[TransactionId]:
        """Wait for all answers, and return the transactions that were not open."""
        ended = []
        for request in requests:
            try:
                self._settle(request)
            except TransactionEnded:
                ended.append(request.transaction)
        return ended

    def _submit_add(self, transaction: TransactionId, partitions: Sequence[str]) -> _CoordinatorRequest:
        most, least = transaction
        request = wire.CommandAddPartitionToTxn(
            request_id=0, txnid_most_bits=most, txnid_least_bits=least, partitions=partitions
        )
        command = wire.BaseCommand(type=ADD_PARTITION_TO_TXN, addPartitionToTxn=request)
        return self._submit(transaction, command, f"adding partitions to {named(transaction)}")

    def _submit_end(self, transaction: TransactionId, *, commit: bool) -> _CoordinatorRequest:
        most, least = transaction
        request = wire.CommandEndTxn(
            request_id=0,
            txnid_most_bits=most,
            txnid_least_bits=least,
            txn_action=_COMMIT if commit else _ABORT,
        )
        command = wire.BaseCommand(type=END_TXN, endTxn=request)
        doing = "committing" if commit else "aborting"
        return self._submit(transaction, command, f"{doing} {named(transaction)}")

    def _submit(
        self, transaction: TransactionId, command: wire.BaseCommand, where: str
    ) -> _CoordinatorRequest:
        """Send a request. After a temporary failure, `_settle` sends the request again."""
        try:
            answer = self._connection(_number(transaction)).submit(command, where)
        except ConnectionFailed:
            answer = None
        return _CoordinatorRequest(transaction, command, where, answer)

    def _settle(self, request: _CoordinatorRequest) -> None:
        number = _number(request.transaction)
        if request.answer is not None:
            try:
                self._check_answer(
                    number, await_answer(request.answer, request.where, self._seconds()), request.where
                )
            except ConnectionFailed:
                pass
            else:
                return
        self._send_and_wait(number, request.command, request.where)

    def _send_and_wait(self, number: int, command: wire.BaseCommand, where: str) -> Any:
        def attempt() -> Any:
            connection = self._connection(number)
            return self._check_answer(number, self._submit_and_wait(connection, command, where), where)

        return self._client.retrying(attempt)

    def _check_answer(self, number: int, answer: Any, where: str) -> Any:
        if answer.HasField("error"):
            fault = server_error(answer.error, answer.message, where)
            if isinstance(fault, ConnectionFailed):
                self._forget(number)
            raise fault
        return answer

    def _submit_and_wait(self, connection: Connection, command: wire.BaseCommand, where: str) -> Any:
        return await_answer(connection.submit(command, where), where, self._seconds())

    def _seconds(self) -> float:
        return self._client.seconds_left(self._client.request_seconds)

    def _connection(self, number: int) -> Connection:
        known = self._connected.get(number)
        if known is not None and known.is_open:
            return known
        self._forget(number)
        connection: Connection = _require_transactions(lambda: self._client.owner_connection(_topic(number)))
        where = f"connecting to transaction coordinator {number}"
        request = wire.CommandTcClientConnectRequest(request_id=0, tc_id=number)
        command = wire.BaseCommand(type=TC_CLIENT_CONNECT, tcClientConnectRequest=request)
        answer = _require_transactions(lambda: self._submit_and_wait(connection, command, where))
        if answer.HasField("error"):
            fault = server_error(answer.error, answer.message, where)
            raise OptionError(_OFF) if isinstance(fault, OptionError) else fault
        self._connected[number] = connection
        return connection

    def _forget(self, number: int) -> None:
        self._connected.pop(number, None)
        self._client.forget_owner(_topic(number))


class OpenTransaction:
    """An open transaction of this process, and its partitions. An instance is for one thread."""

    def __init__(
        self, coordinators: Coordinators, transaction: TransactionId, ends: float = math.inf
    ) -> None:
        """Store the arguments.

        Args:
            coordinators: The coordinators of the cluster.
            transaction: The id of the transaction.
            ends: The time of `time.monotonic` at which the transaction times out, or a slightly earlier time.

        """
        self.id = transaction
        self.partitions: set[str] = set()
        self._coordinators = coordinators
        self._ends = ends

    def add_partitions(self, partitions: Sequence[str]) -> None:
        """Add partitions. Each partition must be added before its first message. Only new partitions cause a request.

        Raises:
            TransactionEnded: The transaction is not open.

        """
        new = [name for name in partitions if name not in self.partitions]
        if new:
            self._add_new_partitions(new)
            self.partitions.update(new)

    def _add_new_partitions(self, partitions: Sequence[str]) -> None:
        self._coordinators.add_partitions(self.id, partitions)

    def require_time(self) -> None:
        """Check that the transaction has not timed out. Call this method before each message.

        A message that arrives after the broker has aborted the transaction can block all readers of the topic.

        Raises:
            TransactionEnded: The transaction has timed out.

        """
        if time.monotonic() >= self._ends:
            raise TransactionEnded(
                f"{named(self.id)}: expected all rows of the task to be sent before the transaction times out, but "
                f"the transaction has timed out; raise transactionTimeoutMs, or write fewer rows at a time"
            )


def _explain_refusal(request: Callable[[], Any]) -> Any:
    """Call `request` and return its result. Add the required permission to the message of `PermissionDenied`."""
    try:
        return request()
    except PermissionDenied as fault:
        raise PermissionDenied(f"{fault}; {_PERMISSION}") from fault


def _require_transactions(request: Callable[[], Any]) -> Any:
    """Call `request` and return its result. Raise `OptionError` if transactions are off in the broker.

    A broker without transactions answers "not allowed" or "not found".
    """
    try:
        return _explain_refusal(request)
    except (OptionError, TopicNotFoundError) as fault:
        raise OptionError(_OFF) from fault


def _topic(number: int) -> str:
    return str(_ASSIGN.with_partition(number))


def _number(transaction: TransactionId) -> int:
    return transaction[0]


def named(transaction: TransactionId) -> str:
    """Return the transaction's id in the notation of Pulsar's own tools."""
    return f"transaction ({transaction[0]},{transaction[1]})"
