"""A process of the store, asked as the JVM asks it: frames over its standard streams, concurrently."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import Any, Self

_HEAD = struct.Struct(">II")


class Refused(Exception):
    """What the process answered with; `kind` is the protocol's."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class StoreProcess:
    def __init__(self, **settings: str) -> None:
        command = [sys.executable, "-m", "pyspark_pulsar.checkpoint"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[tuple[Any, bytes]]] = {}
        self._next = 0
        self._send({"settings": settings}, b"")
        ready, _ = self._receive()
        if "error" in ready:
            self.process.wait(timeout=30)
            raise Refused(**ready["error"])
        assert ready == {"ready": True}
        threading.Thread(target=self._answers, daemon=True).start()

    def begin(self, call: str, body: bytes = b"", **arguments: Any) -> Future[tuple[Any, bytes]]:
        answer: Future[tuple[Any, bytes]] = Future()
        with self._lock:
            self._next += 1
            self._waiting[self._next] = answer
            self._send({"id": self._next, "call": call, **arguments}, body)
        return answer

    def ask(self, call: str, body: bytes = b"", **arguments: Any) -> tuple[Any, bytes]:
        return self.begin(call, body, **arguments).result(timeout=150)

    def call(self, call: str, body: bytes = b"", **arguments: Any) -> Any:
        return self.ask(call, body, **arguments)[0]

    def put(self, path: str, body: bytes, owner: str | None, mode: str = "overwrite") -> None:
        self.call("put", body, path=path, owner=owner, mode=mode)

    def content(self, path: str) -> bytes:
        """A whole file, as the JVM reads it."""
        opened, body = self.ask("open", path=path)
        if opened["inline"]:
            return body
        parts, length = [], 0
        while length < opened["length"]:
            part = self.ask("read", file=opened["file"], path=path, offset=length, length=1 << 20)[1]
            assert part
            parts.append(part)
            length += len(part)
        return b"".join(parts)

    def upload(
        self, path: str, body: bytes, owner: str, mode: str = "overwrite", piece: int = 1 << 20
    ) -> None:
        number = self.call("upload_begin", path=path, owner=owner, mode=mode)["upload"]
        for start in range(0, len(body), piece):
            self.call("upload_write", body[start : start + piece], upload=number)
        self.call("upload_commit", upload=number)

    def names(self, path: str) -> list[str]:
        return [each["name"] for each in self.call("list", path=path)]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=30)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(timeout=30) == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        if fault[0] is not None:
            self.kill()
        elif self.process.poll() is None:
            self.close()

    def _send(self, header: dict[str, Any], body: bytes) -> None:
        text = json.dumps(header).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(_HEAD.pack(len(text), len(body)) + text + body)
        self.process.stdin.flush()

    def _receive(self) -> tuple[dict[str, Any], bytes]:
        assert self.process.stdout is not None
        head = self.process.stdout.read(_HEAD.size)
        if not head:
            raise EOFError
        header, body = _HEAD.unpack(head)
        return json.loads(self.process.stdout.read(header)), self.process.stdout.read(body)

    def _answers(self) -> None:
        try:
            while True:
                header, body = self._receive()
                with self._lock:
                    answer = self._waiting.pop(header["id"])
                if "error" in header:
                    answer.set_exception(Refused(**header["error"]))
                else:
                    answer.set_result((header["result"], body))
        except (EOFError, OSError, ValueError) as fault:
            with self._lock:
                waiting, self._waiting = self._waiting, {}
            for answer in waiting.values():
                answer.set_exception(EOFError(f"the process ended: {fault!r}"))
