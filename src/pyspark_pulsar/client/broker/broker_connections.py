"""The connections of a client: at most one for each broker, opened when first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer, open_connection
from pyspark_pulsar.client.security.context import Security
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import ConnectionFailed, PulsarError
from pyspark_pulsar.runtime import Future, random, threading

_MOST_CONNECT: Final = 2
"""Maximum time for which a thread waits for another thread's attempt to connect, as a multiple of the timeout."""


class BrokerConnections:
    """The open connections of a client, by address. Several threads can share an instance."""

    def __init__(
        self,
        hosts: Iterable[BrokerAddress],
        security: Security,
        connect_seconds: float,
        seconds_left: Callable[[float], float],
    ) -> None:
        """Store the arguments, without opening a connection.

        Args:
            hosts: The hosts of the service URL.
            security: TLS and authentication settings for each connection.
            connect_seconds: Time limit of one attempt to connect, in seconds.
            seconds_left: A function that shortens a number of seconds to the client's remaining time. If no time
                remains, the function raises `DeadlineExceeded`.

        """
        self._hosts = list(hosts)
        self._security = security
        self._connect_seconds = connect_seconds
        self._seconds_left = seconds_left
        self._open: dict[BrokerAddress, Connection] = {}
        self._opening: dict[BrokerAddress, Future[Connection]] = {}
        self._lock = threading.Lock()
        self._times_closed = 0

    def close(self) -> None:
        """Close all connections, including connections that a thread is opening."""
        with self._lock:
            self._times_closed += 1
            connections = list(self._open.values())
            self._open.clear()
        for connection in connections:
            connection.close()

    @property
    def has_open_ends(self) -> bool:
        """Return whether a consumer or producer uses one of the connections."""
        with self._lock:
            return any(connection.is_used for connection in self._open.values())

    def service_connection(self) -> Connection:
        """Return a connection to any host of the service URL. Raise `ConnectionFailed` if no host answers."""
        hosts = sorted(random.sample(self._hosts, len(self._hosts)), key=lambda host: not self._knows(host))
        for index, host in enumerate(hosts):
            try:
                return self.connection(host)
            except ConnectionFailed:
                if index == len(hosts) - 1:
                    raise
        raise ConnectionFailed(
            "connecting to a broker: expected a host in service.url, got none; report this as a bug"
        )

    def _knows(self, address: BrokerAddress) -> bool:
        """Return whether a connection to this address is open. Callers prefer hosts with an open connection."""
        with self._lock:
            known = self._open.get(address)
        return known is not None and known.is_open

    def connection(self, address: BrokerAddress) -> Connection:
        """Return an open connection to the address. If there is no open connection, connect first.

        Threads that need the same connection wait for a single attempt to connect. No thread waits for an attempt to
        connect to another broker.
        """
        with self._lock:
            known = self._open.get(address)
            if known is not None and known.is_open:
                return known
            opening = self._opening.get(address)
            if opening is None:
                attempt = self._opening[address] = Future[Connection]()
                times_closed = self._times_closed
        if opening is not None:
            seconds = self._seconds_left(_MOST_CONNECT * self._connect_seconds)
            connection: Connection = await_answer(opening, f"connecting to {address}", seconds)
            return connection
        try:
            opened = open_connection(address, self._seconds_left(self._connect_seconds), self._security)
            self._keep(address, opened, times_closed)
        except BaseException as fault:
            with self._lock:
                del self._opening[address]
            failed = fault if isinstance(fault, PulsarError) else ConnectionFailed(f"{address}: {fault!r}")
            attempt.set_exception(failed)
            raise
        attempt.set_result(opened)
        return opened

    def _keep(self, address: BrokerAddress, opened: Connection, times_closed: int) -> None:
        """Store an open connection, and remove closed connections.

        Without the removal, closed connections would accumulate, because brokers get new addresses while a client
        exists.

        Raises:
            ConnectionFailed: The client was closed during the attempt.

        """
        with self._lock:
            is_wanted = times_closed == self._times_closed
            if is_wanted:
                kept = {other: known for other, known in self._open.items() if known.is_open}
                self._open = {**kept, address: opened}
                del self._opening[address]
        if not is_wanted:
            opened.close()
            raise ConnectionFailed(f"{address}: the client was closed before the connection was open")

    def connections(
        self, addresses: Iterable[BrokerAddress]
    ) -> dict[BrokerAddress, Connection | ConnectionFailed]:
        """Return a mapping from each address to its connection, or to the failure.

        Missing connections are opened concurrently. If several brokers do not answer, the whole wait lasts only one
        timeout.
        """
        wanted = list(addresses)
        missing = [address for address in wanted if not self._knows(address)]
        if len(missing) <= 1:
            return {address: self._connection_or_fault(address) for address in wanted}
        return dict(zip(wanted, map_concurrently(self._connection_or_fault, wanted), strict=True))

    def _connection_or_fault(self, address: BrokerAddress) -> Connection | ConnectionFailed:
        try:
            return self.connection(address)
        except ConnectionFailed as fault:
            return fault
