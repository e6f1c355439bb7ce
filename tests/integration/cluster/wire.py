"""A bad wire between a reader and a real bookie, for faults that the bookie itself cannot produce."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

READ_ENTRY, BATCH_READ = 2, 7
TOO_MANY_REQUESTS = 106

Change = Callable[[bytes], bytes | None]
"""A function from a frame without its length to the bytes to pass on, or None to close the connection."""


class Hold(Exception):
    """Raised by a change: pass nothing on, and keep the connection."""


class Answer(Exception):
    """Raised by the change of a request: answer it with this frame."""


def operation(frame: bytes) -> int:
    return frame[1]


def pass_on(frame: bytes) -> bytes:
    return frame


def hold(_: bytes) -> bytes:
    raise Hold


def hang_up(_: bytes) -> None:
    return None


def refusal(request: bytes, code: int) -> bytes:
    """Return the answer of a bookie to a read that it does not serve."""
    ledger_and_entry = request[4:20]
    return request[:4] + struct.pack(">i", code) + ledger_and_entry + request[20:28]


class Wire:
    """A listener for one bookie. `requests` are the frames that were received so far, of all connections."""

    def __init__(self, bookie: str) -> None:
        self.bookie = bookie
        self.requests: list[bytes] = []
        self.answered_bytes = 0
        self.on_request: Change = pass_on
        self.on_answer: Change = pass_on
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def operations(self) -> set[int]:
        return {operation(frame) for frame in self.requests}

    def heal(self) -> None:
        self.requests.clear()
        self.answered_bytes = 0
        self.on_request = self.on_answer = pass_on

    def cut(self) -> None:
        """Behave like a killed bookie: connections end, new ones are refused."""
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                reader, _ = self._listening.accept()
                host, _, port = self.bookie.rpartition(":")
                bookie = socket.create_connection((host, int(port)))
                self._open += [reader, bookie]
                for pair in ((reader, bookie, True), (bookie, reader, False)):
                    threading.Thread(target=self._relay, args=pair, daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket, asking: bool) -> None:
        with contextlib.suppress(OSError):
            for frame in _frames(source):
                if asking:
                    self.requests.append(frame)
                else:
                    self.answered_bytes += len(frame)
                try:
                    changed = (self.on_request if asking else self.on_answer)(frame)
                except Hold:
                    continue
                except Answer as answer:
                    source.sendall(_with_length(answer.args[0]))
                    continue
                if changed is None:
                    break
                sink.sendall(_with_length(changed))
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _with_length(frame: bytes) -> bytes:
    return struct.pack(">I", len(frame)) + frame


def _frames(source: socket.socket) -> Iterator[bytes]:
    with source.makefile("rb") as stream:
        while len(length := stream.read(4)) == 4:
            yield stream.read(struct.unpack(">I", length)[0])
