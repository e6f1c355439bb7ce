"""The connections of one client: at most one for each broker, opened when first needed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Final

from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer, open_connection
from pyspark_pulsar.client.security.context import Security
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import ConnectionFailed, PulsarError

_MOST_CONNECT: Final = 2
"""How many deadlines of one attempt to connect a thread waits for the attempt of another thread."""


class BrokerConnections:
    """The open connections of one client, by address. Threads may share it."""

    def __init__(
        self,
        hosts: Iterable[BrokerAddress],
        security: Security,
        connect_seconds: float,
        left: Callable[[float], float],
    ) -> None:
        """Open no connection yet.

        Args:
            hosts: The hosts of the service URL.
            security: TLS and credentials of each connection.
            connect_seconds: Deadline of one attempt to connect.
            left: Returns how long a wait of some seconds may take. Raises `DeadlineExceeded` if that is no time.

        """
        self._hosts = list(hosts)
        self._security = security
        self._connect_seconds = connect_seconds
        self._left = left
        self._open: dict[BrokerAddress, Connection] = {}
        self._opening: dict[BrokerAddress, Future[Connection]] = {}
        self._lock = threading.Lock()
        self._times_closed = 0

    def close(self) -> None:
        """Close all connections, also those that a thread is opening."""
        with self._lock:
            self._times_closed += 1
            connections = list(self._open.values())
            self._open.clear()
        for connection in connections:
            connection.close()

    @property
    def has_open_ends(self) -> bool:
        """Whether a consumer or producer is open on one of the connections."""
        with self._lock:
            return any(connection.is_used for connection in self._open.values())

    def service_connection(self) -> Connection:
        """Return a connection to any host of the service URL. Raises `ConnectionFailed` when none answers."""
        hosts = sorted(random.sample(self._hosts, len(self._hosts)), key=lambda host: not self._knows(host))
        for index, host in enumerate(hosts):
            try:
                return self.connection(host)
            except ConnectionFailed:
                if index == len(hosts) - 1:
                    raise
        raise ConnectionFailed("service.url names no host")

    def _knows(self, address: BrokerAddress) -> bool:
        """Return whether a connection is open: a host that answers is better than one that may not."""
        with self._lock:
            known = self._open.get(address)
        return known is not None and known.is_open

    def connection(self, address: BrokerAddress) -> Connection:
        """Return the connection to the address; open it if there is none. Threads that need the same one wait for one
        attempt; no thread waits for the attempt to connect to another broker."""
        with self._lock:
            known = self._open.get(address)
            if known is not None and known.is_open:
                return known
            opening = self._opening.get(address)
            if opening is None:
                attempt = self._opening[address] = Future[Connection]()
                times_closed = self._times_closed
        if opening is not None:
            seconds = self._left(_MOST_CONNECT * self._connect_seconds)
            connection: Connection = await_answer(opening, f"connecting to {address}", seconds)
            return connection
        try:
            opened = open_connection(address, self._left(self._connect_seconds), self._security)
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
        """Keep an open connection, and forget those that have ended: brokers get new addresses for as long as a client
        lives. Raises `ConnectionFailed` if the client was closed meanwhile."""
        with self._lock:
            is_wanted = times_closed == self._times_closed
            if is_wanted:
                kept = {other: known for other, known in self._open.items() if known.is_open}
                self._open = {**kept, address: opened}
                del self._opening[address]
        if not is_wanted:
            opened.close()
            raise ConnectionFailed(f"{address}: the client was closed while it connected")

    def connections(
        self, addresses: Iterable[BrokerAddress]
    ) -> dict[BrokerAddress, Connection | ConnectionFailed]:
        """Return a connection to each address, or why there is none. Connects to several brokers at the same time, so
        that those that do not answer take the time of one."""
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
