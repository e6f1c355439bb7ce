"""Writing one file: small ones go into the index as they are, larger ones into the content log first.

    state      is                                                           ends with
    buffered   all bytes are here, at most `INLINE_BYTES`                   more bytes: streaming; commit: PUT with body
    streaming  chunks are on their way, `MOST_UNCONFIRMED` at a time        commit: all stored, then PUT names them

A chunk that fails, or whose position the broker keeps to itself, is sent again. Nothing counts before the one PUT: a
process that dies leaves chunks that nobody names, which go with their ledger.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.log import IndexLog
from pyspark_pulsar.checkpoint.index.records import Chunk, Kind, new_id
from pyspark_pulsar.checkpoint.index.state import path_text
from pyspark_pulsar.checkpoint.index.tree import Outcome, Path
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, position_text
from pyspark_pulsar.checkpoint.messages.writer import LogWriter
from pyspark_pulsar.codec.digests import crc32c
from pyspark_pulsar.errors import ConnectionFailed, SendError

INLINE_BYTES: Final = 16 * 1024
"""Of what lies in the index a process keeps much in memory, reads all when it starts, and a snapshot writes all again.
Larger files take 3 ms more to write and 10 ms more to read."""
CHUNK_BYTES: Final = 1024 * 1024
MOST_UNCONFIRMED: Final = 8


@dataclass(slots=True)
class _Sent:
    payload: bytes
    answer: Future[MessagePosition | None]


class ChunkWriter:
    """Appends chunks of one file to a content log, several on their way."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer
        self._sent: deque[_Sent] = deque()
        self.chunks: list[Chunk] = []
        """Those that are stored."""

    def write(self, payload: bytes, deadline: Deadline) -> None:
        """Raises `SendError`, `DeadlineExceeded`, `PermissionDenied`."""
        while len(self._sent) >= MOST_UNCONFIRMED:
            self._confirm_first(deadline)
        self._sent.append(_Sent(payload, self._writer.send(payload, deadline)))

    def finish(self, deadline: Deadline) -> None:
        """Until all of them are stored. Raises as `write` does."""
        while self._sent:
            self._confirm_first(deadline)

    def first(self, deadline: Deadline) -> Chunk:
        """When it is stored. Raises as `write` does."""
        if not self.chunks:
            self._confirm_first(deadline)
        return self.chunks[0]

    def _confirm_first(self, deadline: Deadline) -> None:
        sent = self._sent[0]
        while True:
            try:
                position = self._writer.wait(sent.answer, deadline)
            except (SendError, ConnectionFailed) as fault:
                deadline.left(f"writing a chunk to {self._writer.topic}", fault)
                position = None
            if position is not None:
                break
            # Stored somewhere, or not: another one is.
            sent.answer = self._writer.send(sent.payload, deadline)
        self._sent.popleft()
        self.chunks.append(Chunk(*position, len(sent.payload), crc32c(sent.payload)))


class Upload:
    """Used by one thread at a time."""

    def __init__(
        self, index: IndexLog, content: LogWriter, path: Path, owner: str, *, if_absent: bool
    ) -> None:
        self.id = new_id()
        self.path = path
        self._index = index
        self._owner = owner
        self._if_absent = if_absent
        self._buffer = bytearray()
        self._writer = ChunkWriter(content)
        self._length = 0
        self._is_streaming = False
        self._sent_chunks = 0
        self._is_announced = False

    def write(self, data: bytes, deadline: Deadline) -> None:
        """Raises what `ChunkWriter.write` raises."""
        self._buffer += data
        self._length += len(data)
        if self._length > INLINE_BYTES:
            self._is_streaming = True
        while len(self._buffer) >= CHUNK_BYTES:
            self._writer.write(bytes(self._buffer[:CHUNK_BYTES]), deadline)
            del self._buffer[:CHUNK_BYTES]
            self._announce(deadline)

    def commit(self, deadline: Deadline) -> Outcome:
        """Also waits for what became of it where that is not certain. Raises what `write` and `IndexLog.append`
        raise."""
        if not self._is_streaming:
            body, self._buffer = bytes(self._buffer), bytearray()
            return self._append(deadline, body, wait=self._if_absent)
        if self._buffer:
            self._writer.write(bytes(self._buffer), deadline)
            self._buffer.clear()
        self._writer.finish(deadline)
        return self._append(deadline)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """Those that are stored."""
        return tuple(self._writer.chunks)

    def commit_again(self, content: LogWriter, pieces: Iterable[bytes], deadline: Deadline) -> Outcome:
        """Where `commit` was STALE: the owner gave the chunks up, as no record named them in time. `pieces`: what they
        hold, which is written once more, as another file. Raises what `commit` raises."""
        self.id, self._is_announced = new_id(), False
        self._writer = ChunkWriter(content)
        for piece in pieces:
            self._writer.write(piece, deadline)
        self._writer.finish(deadline)
        return self._append(deadline)

    def _append(self, deadline: Deadline, body: bytes = b"", *, wait: bool = True) -> Outcome:
        """Of chunks it is known only from the log whether they still count."""
        kind = Kind.PUT_IF_ABSENT if self._if_absent else Kind.PUT
        details: dict[str, Any] = {"path": path_text(self.path), "length": self._length}
        if self._is_streaming:
            details["chunks"] = [chunk.as_json() for chunk in self.chunks]
        return self._index.append(kind, self._owner, deadline, details, body, record_id=self.id, wait=wait)

    def abort(self, deadline: Deadline) -> None:
        """Nothing of it counts."""
        self._buffer.clear()
        if self._is_announced:
            self._is_announced = False
            self._index.append(Kind.UPLOAD, self._owner, deadline, {"file": self.id, "at": None}, wait=False)

    def _announce(self, deadline: Deadline) -> None:
        """Behind its second chunk an upload says in the index where it begins, so that the cleaner leaves its chunks
        alone. A single one is named by its file in a moment."""
        self._sent_chunks += 1
        if self._is_announced or self._sent_chunks == 1:
            return
        self._is_announced = True
        at = position_text(self._writer.first(deadline).position)
        self._index.append(Kind.UPLOAD, self._owner, deadline, {"file": self.id, "at": at}, wait=False)
