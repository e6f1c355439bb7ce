"""Writing one file: a small file into the index, or the chunks of a larger file into the content log.

    state      meaning                                                      ends with
    buffered   all bytes are in memory, at most `INLINE_BYTES`              more bytes: streaming; commit: PUT with body
    streaming  up to `MOST_UNCONFIRMED` chunks wait for a receipt           commit: PUT, after all chunks are stored

A chunk is sent again if sending fails, or if the broker does not report the chunk's position. The file exists after its
PUT, which is a single record. A process that dies before the PUT leaves chunks that no record names. These chunks are
removed with their ledger.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
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
from pyspark_pulsar.runtime import Future

INLINE_BYTES: Final = 16 * 1024
"""The largest size of a file that is stored in the index, in bytes.

Every process reads all files of the index when it starts, and caches some of these files in memory. Every snapshot
writes all these files again. A file in the content log takes 3 ms longer to write, and 10 ms longer to read, than a
file in the index.
"""
CHUNK_BYTES: Final = 1024 * 1024
MOST_UNCONFIRMED: Final = 8


@dataclass(slots=True)
class _Sent:
    payload: bytes
    answer: Future[MessagePosition | None]


class ChunkWriter:
    """A writer of one file's chunks to a content log. Up to `MOST_UNCONFIRMED` chunks wait for a receipt."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer
        self._sent: deque[_Sent] = deque()
        self.chunks: list[Chunk] = []
        """The chunks that are stored, in order."""

    def write(self, payload: bytes, deadline: Deadline) -> None:
        """Send a chunk. Raises `SendError`, `DeadlineExceeded`, `PermissionDenied`."""
        while len(self._sent) >= MOST_UNCONFIRMED:
            self._confirm_first(deadline)
        self._sent.append(_Sent(payload, self._writer.send(payload, deadline)))

    def finish(self, deadline: Deadline) -> None:
        """Wait until all chunks are stored. Raises the errors of `write`."""
        while self._sent:
            self._confirm_first(deadline)

    def first(self, deadline: Deadline) -> Chunk:
        """Wait until the first chunk is stored, and return this chunk. Raises the errors of `write`."""
        if not self.chunks:
            self._confirm_first(deadline)
        return self.chunks[0]

    def _confirm_first(self, deadline: Deadline) -> None:
        sent = self._sent[0]
        while True:
            try:
                position = self._writer.wait(sent.answer, deadline)
            except (SendError, ConnectionFailed) as fault:
                deadline.seconds_left(f"writing a chunk to {self._writer.topic}", fault)
                position = None
            if position is not None:
                break
            # The broker may or may not have stored the chunk, so send the chunk again. A second copy does no harm.
            sent.answer = self._writer.send(sent.payload, deadline)
        self._sent.popleft()
        self.chunks.append(Chunk(*position, len(sent.payload), crc32c(sent.payload)))


class Upload:
    """The upload of one file. Only one thread at a time may use an instance."""

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
        """Add bytes to the file. Raises the errors of `ChunkWriter.write`."""
        self._buffer += data
        self._length += len(data)
        if self._length > INLINE_BYTES:
            self._is_streaming = True
        while len(self._buffer) >= CHUNK_BYTES:
            self._writer.write(bytes(self._buffer[:CHUNK_BYTES]), deadline)
            del self._buffer[:CHUNK_BYTES]
            self._announce(deadline)

    def commit(self, deadline: Deadline) -> Outcome:
        """Store the file, and return the outcome.

        For a small file without `if_absent`, the call does not wait for the outcome. In this case, DONE only means that
        the PUT record is stored. Raises the errors of `write` and `IndexLog.append`.
        """
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
        """The chunks that are stored, in order."""
        return tuple(self._writer.chunks)

    def commit_again(self, content: LogWriter, pieces: Iterable[bytes], deadline: Deadline) -> Outcome:
        """Write the chunks again, under another file id, after `commit` returned STALE.

        STALE means that upkeep released the chunks because no record named these chunks in time.

        Args:
            content: The writer of the content log.
            pieces: The bytes of each chunk, in order.
            deadline: The time after which the call fails.

        Raises the errors of `commit`.
        """
        self.id, self._is_announced = new_id(), False
        self._writer = ChunkWriter(content)
        for piece in pieces:
            self._writer.write(piece, deadline)
        self._writer.finish(deadline)
        return self._append(deadline)

    def _append(self, deadline: Deadline, body: bytes = b"", *, wait: bool = True) -> Outcome:
        """Append the PUT record of the file.

        A caller that writes a file with chunks waits for the outcome, because upkeep may already have released the
        chunks.
        """
        kind = Kind.PUT_IF_ABSENT if self._if_absent else Kind.PUT
        details: dict[str, Any] = {"path": path_text(self.path), "length": self._length}
        if self._is_streaming:
            details["chunks"] = [chunk.as_json() for chunk in self.chunks]
        return self._index.append(kind, self._owner, deadline, details, body, record_id=self.id, wait=wait)

    def abort(self, deadline: Deadline) -> None:
        """Drop the file. If an UPLOAD record announced its chunks, append a record that ends the upload."""
        self._buffer.clear()
        if self._is_announced:
            self._is_announced = False
            self._index.append(Kind.UPLOAD, self._owner, deadline, {"file": self.id, "at": None}, wait=False)

    def _announce(self, deadline: Deadline) -> None:
        """Append an UPLOAD record with the position of the first chunk, so that upkeep does not release the chunks.

        The record is written after the second chunk. A file of a single chunk needs no UPLOAD record, because the PUT
        of the file follows the chunk immediately.
        """
        self._sent_chunks += 1
        if self._is_announced or self._sent_chunks == 1:
            return
        self._is_announced = True
        at = position_text(self._writer.first(deadline).position)
        self._index.append(Kind.UPLOAD, self._owner, deadline, {"file": self.id, "at": at}, wait=False)
