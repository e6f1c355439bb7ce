"""Connections between simulated processes and brokers.

Frames of a connection arrive in order, each after a delay that the run decides. A reset loses the frames that have not
arrived. So a reset loses a request, or an answer, or both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from simulation.world import Fiber, Process, World

_DELAYS: Final = (0.0005, 0.0005, 0.0005, 0.002, 0.02)


class Server(Protocol):
    """A server at the end of connections."""

    def accepts(self) -> bool:
        """Return whether the server accepts connections."""

    def is_silent_until(self) -> float:
        """Return the moment until which the server handles nothing."""

    def receive(self, link: Link, data: bytes) -> None:
        """Handle a frame."""

    def lose(self, link: Link) -> None:
        """Forget a connection."""


class Link:
    """A connection. It carries frames in both directions until `reset`."""

    def __init__(self, world: World, process: Process, server: Server) -> None:
        self.world = world
        self.process = process
        self.server = server
        self.is_open = True
        """True if the client's side is usable."""
        self.is_lost = False
        """True if the server handles no further frame."""
        self.stalled_until = 0.0
        self.inbox: list[bytes] = []
        self.state: dict[str, Any] = {}
        """The broker's state of the connection."""
        self._reader: Fiber | None = None
        self._next_at_server = 0.0
        self._next_at_client = 0.0
        process.on_death.append(self.finish)

    def _delay(self) -> float:
        return _DELAYS[self.world.choices.below(len(_DELAYS))]

    def to_server(self, data: bytes) -> None:
        world = self.world
        self._next_at_server = moment = max(self._next_at_server, world.now + self._delay())
        world.at(moment, lambda: self._deliver(data))

    def _deliver(self, data: bytes) -> None:
        if self.is_lost:
            return
        until = max(self.server.is_silent_until(), self.stalled_until)
        if until > self.world.now:
            self.world.at(until, lambda: self._deliver(data))
        else:
            self.server.receive(self, data)

    def stall(self, seconds: float, data: bytes) -> None:
        """Hold frames to the server back, beginning with `data`, as a network does that loses packets for a while."""
        self.stalled_until = self.world.now + seconds
        self._deliver(data)

    def to_client(self, data: bytes) -> None:
        world = self.world
        self._next_at_client = moment = max(self._next_at_client, world.now + self._delay())
        world.at(moment, lambda: self._arrive(data))

    def _arrive(self, data: bytes) -> None:
        if self.is_open:
            self.inbox.append(data)
            self._wake()

    def _wake(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            self.world.wake(reader)

    def reset(self) -> None:
        """Break the connection, and lose the frames that have not arrived."""
        if not self.is_lost:
            self.is_lost = True
            self.server.lose(self)
        self._end()

    def finish(self) -> None:
        """Close the connection from the client's side. Frames that were sent still arrive."""
        if self.is_open:
            self._end()
            self.world.at(max(self._next_at_server, self.world.now) + 0.0001, self._lose)

    def _lose(self) -> None:
        until = max(self.server.is_silent_until(), self.stalled_until)
        if until > self.world.now:
            self.world.at(until, self._lose)
        elif not self.is_lost:
            self.is_lost = True
            self.server.lose(self)

    def _end(self) -> None:
        if self.is_open:
            self.is_open = False
            self.inbox.clear()
            if self.finish in self.process.on_death:
                self.process.on_death.remove(self.finish)
            self._wake()

    def receive(self, seconds: float | None) -> bytes:
        """Return bytes that have arrived; wait for them. Raises as a socket does."""
        if not self.inbox and self.is_open:
            self._reader = self.world.fiber
            if not self.world.park(seconds):
                self._reader = None
                raise TimeoutError("timed out")
        if self.inbox:
            data = b"".join(self.inbox)
            self.inbox.clear()
            return data
        raise ConnectionResetError("the simulated connection is broken")


class Socket:
    """The part of `socket.socket` that the package's transport uses."""

    def __init__(
        self, world: World, process: Process, server_of: Callable[[tuple[str, int]], Server]
    ) -> None:
        self._world = world
        self._process = process
        self._server_of = server_of
        self._seconds: float | None = None
        self._link: Link | None = None

    def settimeout(self, seconds: float | None) -> None:
        self._seconds = seconds

    def setsockopt(self, *_: object) -> None:
        pass

    def connect(self, address: tuple[str, int]) -> None:
        self._world.require_alive(self._process)
        server = self._server_of(address)
        self._world.park(0.001)
        if not server.accepts():
            raise ConnectionRefusedError(f"{address[0]}: connection refused")
        self._link = Link(self._world, self._process, server)

    def sendall(self, data: bytes | memoryview) -> None:
        self._world.require_alive(self._process)
        if self._link is None or not self._link.is_open:
            raise BrokenPipeError("the simulated connection is broken")
        self._link.to_server(bytes(data))

    def recv(self, _: int) -> bytes:
        return b"" if self._link is None else self._link.receive(self._seconds)

    def shutdown(self, _: int) -> None:
        if self._link is not None:
            self._link.finish()

    def close(self) -> None:
        self.shutdown(0)
