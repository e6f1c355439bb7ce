"""The state that the records of an index make, one after the other. No I/O; the same in every process.

    owner     the last TAKEOVER's; records of others change nothing
    tree      files and folders
    floor     the first position of the content log that may be needed; chunks before it count for nothing
    uploads   from where on chunks lie that no file names yet, by id of the file, with the time they were begun
    written   bytes in the content log by ledger, as far as records name them: what a file had, and what it never got
    recent    ids of the last records: a producer that lost its connection may have stored a record twice

Why a record that is stored twice counts once: the second copy is sent before its writer has a receipt, so before the
writer does anything else, and lies close behind the first. `RECENT` is far more than what writers have on their way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from pyspark_pulsar.checkpoint.index.records import Chunk, Kind, Record, chunks_of
from pyspark_pulsar.checkpoint.index.tree import File, Outcome, Path, Tree
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, parse_position

RECENT: Final = 1024


class IndexState:
    """Not safe to use from several threads."""

    def __init__(self) -> None:
        self.owner = ""
        self.tree = Tree()
        self.floor: MessagePosition | None = None
        self.uploads: dict[str, tuple[MessagePosition, int]] = {}
        self.written: dict[int, int] = {}
        self._order: deque[str] = deque()
        self._known: set[str] = set()

    @property
    def recent(self) -> tuple[str, ...]:
        return tuple(self._order)

    def remember(self, ids: Iterable[str]) -> None:
        for record_id in ids:
            self._order.append(record_id)
            self._known.add(record_id)
            if len(self._order) > RECENT:
                self._known.discard(self._order.popleft())

    def apply(self, position: MessagePosition, record: Record) -> Outcome:
        """Apply a record and return its outcome.

        Args:
            position: The record's own position, at which readers find content that is stored inline.
            record: The next record of the index.

        Raises:
            ValueError, KeyError, TypeError: This package has not written the record.

        """
        if record.kind in {Kind.FORMAT, Kind.SNAPSHOT}:
            return Outcome.DONE
        if record.id in self._known:
            return Outcome.REPEATED
        self.remember([record.id])
        self._count_written(record)
        if record.kind is Kind.TAKEOVER:
            if record.owner != self.owner:
                self.uploads.clear()
            self.owner = record.owner
            return Outcome.DONE
        if record.owner != self.owner:
            return Outcome.TAKEN_OVER
        return self._change(position, record, record.details)

    def _change(self, position: MessagePosition, record: Record, details: dict[str, Any]) -> Outcome:
        match record.kind:
            case Kind.PUT | Kind.PUT_IF_ABSENT:
                return self._put(position, record, details)
            case Kind.DELETE:
                return self.tree.delete(path_of(details["path"]), recursive=bool(details["recursive"]))
            case Kind.RENAME:
                source, target = path_of(details["path"]), path_of(details["target"])
                return self.tree.rename(source, target, record.time_ms, overwrite=bool(details["overwrite"]))
            case Kind.MKDIR:
                return self.tree.mkdir(path_of(details["path"]), record.time_ms)
            case Kind.MOVE:
                return self._move(str(details["file"]), chunks_of(details["chunks"]))
            case Kind.UPLOAD:
                self._upload(str(details["file"]), parse_position(details["at"]), record.time_ms)
                return Outcome.DONE
            case Kind.FLOOR:
                return self._raise_floor(parse_position(details["at"]))
        raise ValueError(record.kind)

    def _put(self, position: MessagePosition, record: Record, details: dict[str, Any]) -> Outcome:
        chunks = chunks_of(details.get("chunks") or ())
        self.uploads.pop(record.id, None)
        if self._is_stale(chunks):
            return Outcome.STALE
        file = File(
            id=record.id,
            length=int(details["length"]),
            modified_ms=record.time_ms,
            chunks=chunks,
            inline_at=None if chunks else position,
        )
        return self.tree.put(path_of(details["path"]), file, replace=record.kind is Kind.PUT)

    def _move(self, file_id: str, chunks: tuple[Chunk, ...]) -> Outcome:
        file = self.tree.files.get(file_id)
        if file is None:
            return Outcome.NOT_FOUND
        if self._is_stale(chunks):
            return Outcome.STALE
        file.chunks = chunks
        return Outcome.DONE

    def _upload(self, file_id: str, at: MessagePosition | None, time_ms: int) -> None:
        if at is None:
            self.uploads.pop(file_id, None)
        elif self.floor is None or at >= self.floor:
            self.uploads[file_id] = (at, time_ms)

    def _raise_floor(self, at: MessagePosition | None) -> Outcome:
        """Nothing that is needed may lie before it: the owner has looked, but what came between counts."""
        first = self.first_needed()
        if at is None or (first is not None and first < at):
            return Outcome.INVALID
        if self.floor is None or at > self.floor:
            self.floor = at
            self.written = {ledger: nbytes for ledger, nbytes in self.written.items() if ledger >= at[0]}
        return Outcome.DONE

    def _is_stale(self, chunks: tuple[Chunk, ...]) -> bool:
        floor = self.floor
        return floor is not None and any(chunk.position < floor for chunk in chunks)

    def _count_written(self, record: Record) -> None:
        for chunk in chunks_of(record.details.get("chunks") or ()):
            if self.floor is None or chunk.position >= self.floor:
                self.written[chunk.ledger] = self.written.get(chunk.ledger, 0) + chunk.length

    def first_needed(self) -> MessagePosition | None:
        """The first position of the content log that a file or an upload needs; None where none does."""
        positions = [chunk.position for file in self.tree.files.values() for chunk in file.chunks]
        positions.extend(at for at, _ in self.uploads.values())
        return min(positions, default=None)


def path_of(text: str) -> Path:
    return tuple(part for part in text.split("/") if part)


def path_text(path: Path) -> str:
    return "/".join(path)
