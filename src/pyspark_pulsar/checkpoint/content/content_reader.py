"""Chunks of the content log, each checked, a run of them at a time.

Files are read from their beginning on, mostly: so who asks for a chunk has its run of `RUN` chunks fetched by one
reader, and the next run before it is asked for. What was fetched is kept while `CACHE_BYTES` hold it.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from threading import Lock
from typing import Final

from pyspark_pulsar.checkpoint.content.chunk_locations import ChunkLocations
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.records import Chunk
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.errors import ConnectionFailed, PulsarError

RUN: Final = 8
CACHE_BYTES: Final = 48 * 1024 * 1024
_FETCHERS: Final = 4


class ContentReader:
    """Of one content log. Close it."""

    def __init__(self, locations: ChunkLocations) -> None:
        self._locations = locations
        self._lock = Lock()
        self._fetched: OrderedDict[MessagePosition, Future[bytes]] = OrderedDict()
        self._nbytes = 0
        self._is_closed = False
        self._threads = ThreadPoolExecutor(_FETCHERS, thread_name_prefix="content")

    def read(
        self, chunks: Sequence[Chunk], offset: int, length: int, where: str, deadline: Deadline
    ) -> bytes:
        """Bytes of the file that the chunks make; fewer at its end. `where` names the file. Raises `CheckpointLost`
        for a chunk that is gone or damaged, `DeadlineExceeded`."""
        parts: list[bytes] = []
        begin = 0
        for index, chunk in enumerate(chunks):
            first, behind = max(offset, begin), min(offset + length, begin + chunk.length)
            if first < behind:
                data = self._chunk(chunks, index, where, deadline)
                parts.append(data[first - begin : behind - begin])
            begin += chunk.length
        return b"".join(parts)

    def close(self) -> None:
        """Whoever waits for a chunk gets `ConnectionFailed`, as does whoever asks for one later."""
        with self._lock:
            self._is_closed = True
            pending = [answer for answer in self._fetched.values() if not answer.done()]
        self._threads.shutdown(wait=False, cancel_futures=True)
        for answer in pending:
            _fail(answer, ConnectionFailed("the content was closed"))

    def _chunk(self, chunks: Sequence[Chunk], index: int, where: str, deadline: Deadline) -> bytes:
        answer = self._wanted(chunks, index, where)
        if index % RUN >= RUN // 2 and (index // RUN + 1) * RUN < len(chunks):
            self._wanted(chunks, (index // RUN + 1) * RUN, where)
        try:
            return answer.result(timeout=deadline.left(f"reading {where}"))
        except TimeoutError:
            deadline.left(f"reading {where}")
            raise

    def _wanted(self, chunks: Sequence[Chunk], index: int, where: str) -> Future[bytes]:
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
        gone = self._fetched.pop(position, None)
        if gone is not None and gone.done() and gone.exception() is None:
            self._nbytes -= len(gone.result())

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
    """Unless it has an answer: closing and fetching may both give one."""
    with contextlib.suppress(InvalidStateError):
        answer.set_exception(fault)
