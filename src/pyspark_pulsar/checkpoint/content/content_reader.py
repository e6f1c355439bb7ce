"""Reading chunks of the content log, several at a time, with a check of each chunk.

Because most files are read from beginning to end, a request for one chunk fetches a run of `RUN` chunks. A request for
a chunk in the second half of a run also starts to fetch the next run. Fetched chunks stay in memory, up to
`CACHE_BYTES`.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from pyspark_pulsar.checkpoint.content.chunk_locations import ChunkLocations
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.records import Chunk
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.errors import ConnectionFailed, PulsarError
from pyspark_pulsar.runtime import Future, InvalidStateError, ThreadPoolExecutor, threading

RUN: Final = 8
CACHE_BYTES: Final = 48 * 1024 * 1024
_FETCHERS: Final = 4


class ContentReader:
    """A reader of one content log, with a cache. The caller closes the reader."""

    def __init__(self, locations: ChunkLocations) -> None:
        self._locations = locations
        self._lock = threading.Lock()
        self._fetched: OrderedDict[MessagePosition, Future[bytes]] = OrderedDict()
        self._nbytes = 0
        self._is_closed = False
        self._threads = ThreadPoolExecutor(_FETCHERS, thread_name_prefix="content")

    def read(
        self, chunks: Sequence[Chunk], offset: int, length: int, where: str, deadline: Deadline
    ) -> bytes:
        """Return `length` bytes of the file that consists of these chunks, or fewer bytes at the end of the file.

        Args:
            chunks: All chunks of the file, in order.
            offset: The offset of the first byte in the file, from 0.
            length: The maximum number of bytes to return.
            where: The name of the file, for error texts.
            deadline: The time after which the call fails.

        Raises:
            CheckpointLost: A chunk was removed or is damaged.
            DeadlineExceeded: The chunks did not arrive in time.

        """
        parts: list[bytes] = []
        begin = 0
        for index, chunk in enumerate(chunks):
            first, end = max(offset, begin), min(offset + length, begin + chunk.length)
            if first < end:
                data = self._chunk(chunks, index, where, deadline)
                parts.append(data[first - begin : end - begin])
            begin += chunk.length
        return b"".join(parts)

    def close(self) -> None:
        """Fail all pending and later reads with `ConnectionFailed`."""
        with self._lock:
            self._is_closed = True
            pending = [answer for answer in self._fetched.values() if not answer.done()]
        self._threads.shutdown(wait=False, cancel_futures=True)
        for answer in pending:
            _fail(answer, ConnectionFailed("the content was closed"))

    def _chunk(self, chunks: Sequence[Chunk], index: int, where: str, deadline: Deadline) -> bytes:
        answer = self._request(chunks, index, where)
        if index % RUN >= RUN // 2 and (index // RUN + 1) * RUN < len(chunks):
            self._request(chunks, (index // RUN + 1) * RUN, where)
        try:
            return answer.result(timeout=deadline.seconds_left(f"reading {where}"))
        except TimeoutError:
            deadline.seconds_left(f"reading {where}")
            raise

    def _request(self, chunks: Sequence[Chunk], index: int, where: str) -> Future[bytes]:
        """Return the future of a chunk's bytes. If no earlier call requested the chunk, start to fetch its run."""
        first = index // RUN * RUN
        with self._lock:
            if self._is_closed:
                raise ConnectionFailed(f"{where}: the content was closed")
            known = self._fetched.get(chunks[index].position)
            if known is not None:
                self._fetched.move_to_end(chunks[index].position)
                return known
            run = [chunk for chunk in chunks[first : first + RUN] if chunk.position not in self._fetched]
            for chunk in run:
                self._fetched[chunk.position] = Future()
                self._nbytes += chunk.length
            answer = self._fetched[chunks[index].position]
            answers = {chunk.position: self._fetched[chunk.position] for chunk in run}
            self._trim(answers)
            self._threads.submit(self._fetch, run, answers, where)
        return answer

    def _trim(self, kept: dict[MessagePosition, Future[bytes]]) -> None:
        for position in list(self._fetched):
            if self._nbytes <= CACHE_BYTES:
                return
            if position not in kept and self._fetched[position].done():
                self._forget(position)

    def _forget(self, position: MessagePosition) -> None:
        dropped = self._fetched.pop(position, None)
        if dropped is not None and dropped.done() and dropped.exception() is None:
            self._nbytes -= len(dropped.result())

    def _fetch(self, run: Sequence[Chunk], answers: dict[MessagePosition, Future[bytes]], where: str) -> None:
        try:
            for chunk, data in self._locations.fetch(run, where):
                with contextlib.suppress(InvalidStateError):
                    answers[chunk.position].set_result(data)
        except BaseException as fault:
            failed = [chunk for chunk in run if not answers[chunk.position].done()]
            with self._lock:
                for chunk in failed:
                    self._fetched.pop(chunk.position, None)
                    self._nbytes -= chunk.length
            for chunk in failed:
                _fail(answers[chunk.position], fault)
            if not isinstance(fault, PulsarError):
                raise


def _fail(answer: Future[bytes], fault: BaseException) -> None:
    """Set the error of a future, unless the future is done. `close` and `_fetch` may compete for the same future."""
    with contextlib.suppress(InvalidStateError):
        answer.set_exception(fault)
