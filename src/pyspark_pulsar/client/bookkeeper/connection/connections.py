"""Connections to bookies, read and written by one thread.

Sockets do not block: one `wait` serves all of them, so that a slow bookie holds up nobody, nor one that is slow to
agree upon TLS (`bookie_channel`). A connection is made when something is first asked of its bookie, and never used
again after a fault.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.connection.channel import PLAIN, BookieChannel, BookieSecurity
from pyspark_pulsar.errors import PulsarError

_RECEIVE_BYTES = 512 * 1024
_UNDER_WAY = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a bookie sent."""

    bookie: str
    connection: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """The connection to a bookie is gone, or was never made; nothing more will come on it."""

    bookie: str
    connection: int
    reason: str
    hung_up: bool = False
    """Whether the bookie closed a connection on which it could be asked."""
    fault: PulsarError | None = None
    """Where the bookie, or its certificate, was refused, or refused us: asking again will not help."""


@dataclass(slots=True)
class _Connection:
    bookie: str
    connection: int
    channel: BookieChannel
    left: list[Any]
    """Socket addresses that were not tried yet."""
    stream: socket.socket | None = None
    connected: bool = False
    outgoing: bytearray = field(default_factory=bytearray)
    """As it goes over the wire."""
    quiet_seconds: float = 0.0
    """How long an answer has been waited for; time in which nobody listened does not count."""
    mask: int = 0


class BookieConnections:
    """Close it, or use it as a context manager."""

    def __init__(
        self,
        addresses: Mapping[str, BookieAddress],
        timeout_seconds: float,
        security: BookieSecurity = PLAIN,
    ) -> None:
        """`timeout_seconds`: for each address of a bookie to connect, and between two pieces of an answer."""
        self.addresses = addresses
        self._security = security
        self.timeout_seconds = timeout_seconds
        self._links: dict[str, _Connection] = {}
        self._came: list[Arrival | ConnectionLost] = []
        self._selector = selectors.DefaultSelector()
        self._connections = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for bookie in list(self._links):
            self.drop(bookie)
        self._selector.close()

    def ask(self, bookie: str, requests: bytes) -> None:
        """Send it, after connecting if need be. What goes wrong comes out of `wait`; raises `OptionError` for files of
        certificates."""
        link = self._links.get(bookie) or self._open(bookie)
        link.outgoing += link.channel.send(requests)
        if link.connected:
            self._send(link)
        elif link.stream is None:
            self._connect(link)

    def drop(self, bookie: str) -> None:
        """Close the connection, of which nothing more is wanted."""
        link = self._links.pop(bookie, None)
        if link is not None:
            self._close_stream(link)

    def wait(self, expecting: Collection[str], seconds: float) -> list[Arrival | ConnectionLost]:
        """What came, at the latest after `seconds`, from the bookies of which answers are expected; others are not
        listened to, and TCP pauses them."""
        if not self._came:
            self._select(expecting, seconds)
        came, self._came = self._came, []
        return came

    def _select(self, expecting: Collection[str], seconds: float) -> None:
        listened = [link for link in self._links.values() if link.bookie in expecting]
        for link in self._links.values():
            self._listen(link, expected=link.bookie in expecting)
        longest = max((link.quiet_seconds for link in listened), default=0.0)
        began = time.monotonic()
        ready = self._selector.select(max(0.0, min(seconds, self.timeout_seconds - longest)))
        waited = time.monotonic() - began
        for link in listened:
            link.quiet_seconds += waited
        for key, mask in ready:
            self._serve(key.data, mask)
        for link in listened:
            if link.quiet_seconds >= self.timeout_seconds and link.bookie in self._links:
                self._give_up(link)

    def _listen(self, link: _Connection, *, expected: bool) -> None:
        reading = selectors.EVENT_READ if expected and link.connected else 0
        mask = reading | (selectors.EVENT_WRITE if link.outgoing or not link.connected else 0)
        if link.stream is None or mask == link.mask:
            return
        if not link.mask:
            self._selector.register(link.stream, mask, link)
        elif not mask:
            self._selector.unregister(link.stream)
        else:
            self._selector.modify(link.stream, mask, link)
        link.mask = mask

    def _serve(self, link: _Connection, mask: int) -> None:
        if not link.connected:
            self._finish_connecting(link)
            return
        if mask & selectors.EVENT_WRITE:
            self._send(link)
        if mask & selectors.EVENT_READ and link.bookie in self._links:
            self._receive(link)

    # Connecting

    def _open(self, bookie: str) -> _Connection:
        address = self.addresses[bookie]
        self._connections += 1
        link = _Connection(bookie, self._connections, BookieChannel(self._security, address), [])
        self._links[bookie] = link
        try:
            link.left = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as fault:
            self._lose(link, f"{address}: {fault}")
        return link

    def _connect(self, link: _Connection, fault: str = "no address") -> None:
        """Try the next address of the host; a name may stand for one of IPv6 and one of IPv4."""
        while link.left:
            family, kind, protocol, _, address = link.left.pop(0)
            try:
                link.stream = socket.socket(family, kind, protocol)
                link.stream.setblocking(False)  # noqa: FBT003 -- its only parameter
                link.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                code = link.stream.connect_ex(address)
            except OSError as refused:
                # Such as IPv6 on a machine without it.
                code, fault = -1, str(refused)
            else:
                fault = os.strerror(code)
            if code in _UNDER_WAY:
                return
            self._close_stream(link)
        if link.bookie in self._links:
            self._lose(link, f"cannot connect to {self.addresses[link.bookie]}: {fault}")

    def _finish_connecting(self, link: _Connection) -> None:
        code = link.stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if link.stream else errno.ENOTCONN
        if code:
            self._close_stream(link)
            self._connect(link, os.strerror(code))
            return
        link.connected, link.quiet_seconds = True, 0.0
        link.outgoing += link.channel.begin()
        self._send(link)

    def _give_up(self, link: _Connection) -> None:
        """The bookie is silent; while it was not reached, it may be by another address."""
        within = f"within {self.timeout_seconds:g} s (option bookieTimeoutMs)"
        if link.connected:
            self._lose(link, f"did not answer {link.channel.doing}{within}")
            return
        self._close_stream(link)
        link.quiet_seconds = 0.0
        self._connect(link, f"did not connect {within}")

    # Sending and receiving

    def _send(self, link: _Connection) -> None:
        if link.stream is None or not link.outgoing:
            return
        try:
            sent = link.stream.send(link.outgoing)
        except BlockingIOError:
            return
        except OSError as fault:
            self._break(link, f"the connection broke: {fault}")
            return
        del link.outgoing[:sent]

    def _receive(self, link: _Connection) -> None:
        if link.stream is None:
            return
        try:
            data = link.stream.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError as fault:
            self._break(link, f"the connection broke: {fault}")
            return
        if not data:
            self._break(link, f"closed the connection {link.channel.doing}".rstrip())
            return
        if link.channel.is_open:
            # All that comes before, TLS and authentication, has the time of one answer.
            link.quiet_seconds = 0.0
        try:
            answers, outgoing = link.channel.receive(data)
        except PulsarError as fault:
            self._lose(link, str(fault), fault=fault)
            return
        if answers:
            self._came.append(Arrival(link.bookie, link.connection, answers))
        if outgoing:
            link.outgoing += outgoing
            self._send(link)

    def _break(self, link: _Connection, reason: str) -> None:
        """The bookie has ended the connection, in good order or not."""
        fault = link.channel.closed()
        self._lose(link, str(fault or reason), hung_up=link.channel.is_open, fault=fault)

    def _lose(
        self, link: _Connection, reason: str, *, hung_up: bool = False, fault: PulsarError | None = None
    ) -> None:
        self.drop(link.bookie)
        self._came.append(ConnectionLost(link.bookie, link.connection, reason, hung_up, fault))

    def _close_stream(self, link: _Connection) -> None:
        if link.stream is None:
            return
        if link.mask:
            self._selector.unregister(link.stream)
        link.stream.close()
        link.stream, link.mask, link.connected = None, 0, False
