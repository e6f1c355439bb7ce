"""Transactions of the broker: begin, take partitions in, commit or abort.

What the broker does, as seen on 4.0.8: END_TXN is not idempotent: for a transaction that has ended, however it ended,
the answer is TransactionNotFound. So whoever commits must be able to find out by other means what became of it.
Losing a connection aborts nothing; a transaction ends by END_TXN or by its timeout.

Protocol: CommandTcClientConnectRequest, CommandNewTxn, CommandAddPartitionToTxn, CommandEndTxn; the coordinator's
number is the upper half of a transaction's id (`txnid_most_bits`), and a broker serves it when it owns that partition
of `transaction_coordinator_assign`, from when a client has connected to it there.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
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

_ASSIGN: Final = TopicName.parse("persistent://pulsar/system/transaction_coordinator_assign")
_COMMIT, _ABORT = 0, 1
_OFF: Final = (
    "transactions: expected them to be on, as deliveryGuarantee=exactly-once needs them, but the broker has none; set "
    "transactionCoordinatorEnabled=true in the broker's configuration, or use deliveryGuarantee=at-least-once"
)
# https://github.com/apache/pulsar/issues/18716
_RIGHT: Final = (
    "deliveryGuarantee=exactly-once needs a right in Pulsar's own namespace, where clients look transaction "
    "coordinators up; an administrator gives it by: pulsar-admin namespaces grant-permission pulsar/system --role ROLE "
    "--actions consume"
)


@dataclass(frozen=True, slots=True)
class _CoordinatorRequest:
    """A request about a transaction that is under way; `answer` None where it could not be sent."""

    transaction: TransactionId
    command: wire.BaseCommand
    where: str
    answer: Future[Any] | None


class Coordinators:
    """All transaction coordinators of a cluster, by one client; used by one thread."""

    def __init__(self, client: BrokerClient) -> None:
        self._client = client
        self._connected: dict[int, Connection] = {}

    def check(self) -> None:
        """Raises `OptionError` naming the broker's setting when transactions are off, `PermissionDenied` naming the
        right to ask for."""
        self._client.retrying(lambda: self._connection(0))

    def count(self) -> int:
        """Return the number of coordinators, which are numbered from 0. Raises `PermissionDenied`."""
        return max(1, int(_allowed(lambda: self._client.partition_count(_ASSIGN))))

    def begin(self, timeout_ms: int, coordinator: int | None = None) -> TransactionId:
        """Begin a transaction, which the broker aborts when it is open for longer than the timeout.

        Args:
            timeout_ms: Milliseconds.
            coordinator: The number of its coordinator; None for any.

        """
        number = random.randrange(self.count()) if coordinator is None else coordinator  # noqa: S311 -- spreads load
        # Whatever the field is called: clients send milliseconds, and brokers take them so.
        request = wire.CommandNewTxn(request_id=0, tc_id=number, txn_ttl_seconds=timeout_ms)
        answer = self._send_and_wait(
            number, wire.BaseCommand(type=NEW_TXN, newTxn=request), "beginning a transaction"
        )
        return (int(answer.txnid_most_bits), int(answer.txnid_least_bits))

    def add_partitions(self, transaction: TransactionId, partitions: Sequence[str]) -> None:
        """Before the first message to each; may be repeated, which shows that the transaction is still open.

        Raises `TransactionEnded` when it is not.
        """
        self._settle(self._submit_add(transaction, partitions))

    def require_open(self, transactions: Sequence[TransactionId], partition: str) -> None:
        """`partition` is in all of them already. The requests are pipelined. Raises `TransactionEnded`."""
        for request in [self._submit_add(transaction, [partition]) for transaction in transactions]:
            self._settle(request)

    def still_open(self, transactions: Sequence[TransactionId], partition: str) -> list[TransactionId]:
        """Those that are open, which have `partition` then. The requests are pipelined."""
        ended = self._ended([self._submit_add(transaction, [partition]) for transaction in transactions])
        return [transaction for transaction in transactions if transaction not in ended]

    def commit_all(self, transactions: Sequence[TransactionId]) -> list[TransactionId]:
        """Returns when all their partitions know. The requests are pipelined. Gives those that had ended before, or
        for which an earlier request of this call was carried out and only its answer was lost."""
        return self._end_all(transactions, commit=True)

    def abort_all(self, transactions: Sequence[TransactionId]) -> None:
        """Those that are open; one that is being committed is not aborted. The requests are pipelined."""
        self._end_all(transactions, commit=False)

    def _end_all(self, transactions: Sequence[TransactionId], *, commit: bool) -> list[TransactionId]:
        return self._ended([self._submit_end(transaction, commit=commit) for transaction in transactions])

    def _ended(self, requests: Sequence[_CoordinatorRequest]) -> list[TransactionId]:
        """Those that were not open any more; all answers are awaited."""
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
        """What fails for a passing reason is asked again by `_settle`."""
        try:
            answer = self._connection(_number(transaction)).submit(command, where)
        except ConnectionFailed:
            answer = None
        return _CoordinatorRequest(transaction, command, where, answer)

    def _settle(self, request: _CoordinatorRequest) -> None:
        number = _number(request.transaction)
        if request.answer is not None:
            try:
                self._checked(
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
            return self._checked(number, self._submitted(connection, command, where), where)

        return self._client.retrying(attempt)

    def _checked(self, number: int, answer: Any, where: str) -> Any:
        if answer.HasField("error"):
            fault = server_error(answer.error, answer.message, where)
            if isinstance(fault, ConnectionFailed):
                self._forget(number)
            raise fault
        return answer

    def _submitted(self, connection: Connection, command: wire.BaseCommand, where: str) -> Any:
        return await_answer(connection.submit(command, where), where, self._seconds())

    def _seconds(self) -> float:
        return self._client.left(self._client.request_seconds)

    def _connection(self, number: int) -> Connection:
        known = self._connected.get(number)
        if known is not None and known.is_open:
            return known
        self._forget(number)
        connection: Connection = _or_off(lambda: self._client.owner_connection(_topic(number)))
        where = f"connecting to transaction coordinator {number}"
        request = wire.CommandTcClientConnectRequest(request_id=0, tc_id=number)
        command = wire.BaseCommand(type=TC_CLIENT_CONNECT, tcClientConnectRequest=request)
        answer = _or_off(lambda: self._submitted(connection, command, where))
        if answer.HasField("error"):
            fault = server_error(answer.error, answer.message, where)
            raise OptionError(_OFF) if isinstance(fault, OptionError) else fault
        self._connected[number] = connection
        return connection

    def _forget(self, number: int) -> None:
        self._connected.pop(number, None)
        self._client.forget_owner(_topic(number))


class OpenTransaction:
    """A transaction that this process has begun, and the partitions that it has. Used by one thread."""

    def __init__(
        self, coordinators: Coordinators, transaction: TransactionId, ends: float = math.inf
    ) -> None:
        """`ends`: when it times out, or a little earlier, by `time.monotonic`."""
        self.id = transaction
        self.partitions: set[str] = set()
        self._coordinators = coordinators
        self._ends = ends

    def add_partitions(self, partitions: Sequence[str]) -> None:
        """Before the first message to each; asks the coordinator only for those that are new. Raises
        `TransactionEnded`."""
        new = [name for name in partitions if name not in self.partitions]
        if new:
            self._take_in(new)
            self.partitions.update(new)

    def _take_in(self, partitions: Sequence[str]) -> None:
        self._coordinators.add_partitions(self.id, partitions)

    def require_time(self) -> None:
        """Before each message: one that comes when the broker has aborted the transaction may hold up all readers of
        its topic. Raises `TransactionEnded` when the time is over."""
        if time.monotonic() >= self._ends:
            raise TransactionEnded(
                f"{named(self.id)}: expected all rows of the task to be sent before the transaction times out, but "
                f"that time is over; raise transactionTimeoutMs, or write less at once"
            )


def _allowed(ask: Callable[[], Any]) -> Any:
    """What `ask` gives; else a refusal says which right is needed."""
    try:
        return ask()
    except PermissionDenied as fault:
        raise PermissionDenied(f"{fault}; {_RIGHT}") from fault


def _or_off(ask: Callable[[], Any]) -> Any:
    """What `ask` gives; "not allowed" and "not found" are what a broker without transactions answers."""
    try:
        return _allowed(ask)
    except (OptionError, TopicNotFoundError) as fault:
        raise OptionError(_OFF) from fault


def _topic(number: int) -> str:
    return str(_ASSIGN.with_partition(number))


def _number(transaction: TransactionId) -> int:
    return transaction[0]


def named(transaction: TransactionId) -> str:
    """For people, as Pulsar's own tools write it."""
    return f"transaction ({transaction[0]},{transaction[1]})"
