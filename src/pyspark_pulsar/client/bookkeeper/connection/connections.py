"""Connections to bookies, read and written by one thread.

The sockets do not block, and one call of `wait` reads and writes all sockets. A slow bookie therefore does not delay
other bookies, not even during a TLS handshake. The first request to a bookie opens a connection. After a fault of a
connection, the next request to the bookie opens a new connection.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Self

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.connection.channel import PLAIN, BookieChannel, BookieSecurity
from pyspark_pulsar.client.time_limit import SocketAddress, addresses_of
from pyspark_pulsar.errors import DeadlineExceeded, PulsarError
from pyspark_pulsar.runtime import time

_RECEIVE_BYTES = 512 * 1024
_UNDER_WAY = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})


@dataclass(frozen=True, slots=True)
class Arrival:
    """Bytes that a bookie sent."""

    bookie: str
    connection_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """The end of a connection to a bookie, or a failed attempt to connect. The connection delivers no more bytes."""

    bookie: str
    connection_id: int
    reason: str
    hung_up: bool = False
    """True if the bookie closed the connection after TLS and authentication were complete."""
    fault: PulsarError | None = None
    """The TLS, permission or protocol error that ended the connection. None after a network fault."""


@dataclass(slots=True)
class _BookieConnection:
    bookie: str
    id: int
    channel: BookieChannel
    untried: list[SocketAddress]
    """The socket addresses of the bookie's host that were not tried yet."""
    stream: socket.socket | None = None
    connected: bool = False
    outgoing: bytearray = field(default_factory=bytearray)
    """The bytes to send, after encryption."""
    quiet_seconds: float = 0.0
    """The seconds for which calls of `wait` have waited for this connection without progress."""
    mask: int = 0


class BookieConnections:
    """Connections to the bookies of a cluster. Close an instance, or use an instance as a context manager."""

    def __init__(
        self,
        addresses: Mapping[str, BookieAddress],
        timeout_seconds: float,
        security: BookieSecurity = PLAIN,
    ) -> None:
        """Store the settings, without connecting.

        Args:
            addresses: The address of each bookie, by its id.
            timeout_seconds: The time limit in seconds for connecting to each address of a bookie, and for each pause
                in an answer.
            security: TLS and authentication settings.

        """
        self.addresses = addresses
        self._security = security
        self.timeout_seconds = timeout_seconds
        self._connections: dict[str, _BookieConnection] = {}
        self._events: list[Arrival | ConnectionLost] = []
        self._selector = selectors.DefaultSelector()
        self._opened = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for bookie in list(self._connections):
            self.drop(bookie)
        self._selector.close()

    def send(self, bookie: str, requests: bytes) -> None:
        """Send requests to a bookie. If no connection to the bookie exists, connect first. `wait` reports failures.

        Raises:
            OptionError: The certificate files are unusable.

        """
        connection = self._connections.get(bookie) or self._open(bookie)
        connection.outgoing += connection.channel.send(requests)
        if connection.connected:
            self._flush(connection)
        elif connection.stream is None:
            self._connect(connection)

    def drop(self, bookie: str) -> None:
        """Close the connection to a bookie, and discard answers that have not arrived."""
        connection = self._connections.pop(bookie, None)
        if connection is not None:
            self._close_stream(connection)

    def wait(self, expecting: Collection[str], seconds: float) -> list[Arrival | ConnectionLost]:
        """Wait for events. The call receives nothing from bookies outside `expecting`, so TCP pauses these bookies.

        Args:
            expecting: The bookies to receive from.
            seconds: The maximum time to wait, in seconds.

        Returns:
            The events since the previous call. The list is empty if no event happened in time.

        """
        if not self._events:
            self._select(expecting, seconds)
        events, self._events = self._events, []
        return events

    def _select(self, expecting: Collection[str], seconds: float) -> None:
        listened = [connection for connection in self._connections.values() if connection.bookie in expecting]
        for connection in self._connections.values():
            self._listen(connection, expected=connection.bookie in expecting)
        longest = max((connection.quiet_seconds for connection in listened), default=0.0)
        began = time.monotonic()
        ready = self._selector.select(max(0.0, min(seconds, self.timeout_seconds - longest)))
        waited = time.monotonic() - began
        for connection in listened:
            connection.quiet_seconds += waited
        for key, mask in ready:
            self._serve(key.data, mask)
        for connection in listened:
            if connection.quiet_seconds >= self.timeout_seconds and connection.bookie in self._connections:
                self._give_up(connection)

    def _listen(self, connection: _BookieConnection, *, expected: bool) -> None:
        reading = selectors.EVENT_READ if expected and connection.connected else 0
        mask = reading | (selectors.EVENT_WRITE if connection.outgoing or not connection.connected else 0)
        if connection.stream is None or mask == connection.mask:
            return
        if not connection.mask:
            self._selector.register(connection.stream, mask, connection)
        elif not mask:
            self._selector.unregister(connection.stream)
        else:
            self._selector.modify(connection.stream, mask, connection)
        connection.mask = mask

    def _serve(self, connection: _BookieConnection, mask: int) -> None:
        if not connection.connected:
            self._finish_connecting(connection)
            return
        if mask & selectors.EVENT_WRITE:
            self._flush(connection)
        if mask & selectors.EVENT_READ and connection.bookie in self._connections:
            self._receive(connection)

    # Connecting

    def _open(self, bookie: str) -> _BookieConnection:
        address = self.addresses[bookie]
        self._opened += 1
        connection = _BookieConnection(bookie, self._opened, BookieChannel(self._security, address), [])
        self._connections[bookie] = connection
        try:
            connection.untried = addresses_of(address.host, address.port, self.timeout_seconds)
        except (OSError, UnicodeError, DeadlineExceeded) as fault:
            self._lose(connection, f"cannot be reached at {address}: {fault}")
        return connection

    def _connect(self, connection: _BookieConnection, fault: str = "no address") -> None:
        """Connect to the next untried address of the host, because a name can have IPv6 and IPv4 addresses."""
        while connection.untried:
            family, kind, protocol, _, address = connection.untried.pop(0)
            try:
                connection.stream = socket.socket(family, kind, protocol)
                connection.stream.setblocking(False)  # noqa: FBT003 -- its only parameter
                connection.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                code = connection.stream.connect_ex(address)
            except OSError as refused:
                # An IPv6 address on a machine without IPv6 causes this error.
                code, fault = -1, str(refused)
            else:
                fault = os.strerror(code)
            if code in _UNDER_WAY:
                return
            self._close_stream(connection)
        if connection.bookie in self._connections:
            self._lose(connection, f"cannot be reached at {self.addresses[connection.bookie]}: {fault}")

    def _finish_connecting(self, connection: _BookieConnection) -> None:
        code = (
            connection.stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if connection.stream
            else errno.ENOTCONN
        )
        if code:
            self._close_stream(connection)
            self._connect(connection, os.strerror(code))
            return
        connection.connected, connection.quiet_seconds = True, 0.0
        connection.outgoing += connection.channel.begin()
        self._flush(connection)

    def _give_up(self, connection: _BookieConnection) -> None:
        """Close the connection to a silent bookie. If no connection was open, try the next address of the host."""
        within = f"within {self.timeout_seconds:g} s (option bookieTimeoutMs)"
        if connection.connected:
            self._lose(connection, f"did not answer {connection.channel.phase}{within}")
            return
        self._close_stream(connection)
        connection.quiet_seconds = 0.0
        self._connect(connection, f"no connection {within}")

    # Sending and receiving

    def _flush(self, connection: _BookieConnection) -> None:
        if connection.stream is None or not connection.outgoing:
            return
        try:
            sent = connection.stream.send(connection.outgoing)
        except BlockingIOError:
            return
        except OSError as fault:
            self._break(connection, f"lost the connection: {fault}")
            return
        del connection.outgoing[:sent]

    def _receive(self, connection: _BookieConnection) -> None:
        if connection.stream is None:
            return
        try:
            data = connection.stream.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError as fault:
            self._break(connection, f"lost the connection: {fault}")
            return
        if not data:
            self._break(connection, f"closed the connection {connection.channel.phase}".rstrip())
            return
        if connection.channel.is_open:
            # Data resets `quiet_seconds` only on an open connection. TLS and authentication together have one timeout.
            connection.quiet_seconds = 0.0
        try:
            answers, outgoing = connection.channel.receive(data)
        except PulsarError as fault:
            self._lose(connection, str(fault), fault=fault)
            return
        if answers:
            self._events.append(Arrival(connection.bookie, connection.id, answers))
        if outgoing:
            connection.outgoing += outgoing
            self._flush(connection)

    def _break(self, connection: _BookieConnection, reason: str) -> None:
        """Report that the bookie closed the connection, or that the connection broke."""
        fault = connection.channel.closing_fault()
        self._lose(connection, str(fault or reason), hung_up=connection.channel.is_open, fault=fault)

    def _lose(
        self,
        connection: _BookieConnection,
        reason: str,
        *,
        hung_up: bool = False,
        fault: PulsarError | None = None,
    ) -> None:
        self.drop(connection.bookie)
        self._events.append(ConnectionLost(connection.bookie, connection.id, reason, hung_up, fault))

    def _close_stream(self, connection: _BookieConnection) -> None:
        if connection.stream is None:
            return
        if connection.mask:
            self._selector.unregister(connection.stream)
        connection.stream.close()
        connection.stream, connection.mask, connection.connected = None, 0, False
