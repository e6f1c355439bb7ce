"""The state that results from applying the records of an index in order.

This module does no I/O. Every process computes the same state.

    owner     the owner in the last TAKEOVER; records of other owners change nothing
    tree      files and folders
    floor     the first needed position of the content log; a record that names an earlier chunk has no effect
    uploads   unfinished uploads: for each file id, the position of the first chunk and the start time
    written   for each ledger of the content log, the total size in bytes of the chunks that records name; records
              without effect count too
    recent    ids of the last records, because a producer that lost its connection may store a record twice

The second copy of a record has no effect. A writer sends the second copy only while the receipt of the first copy is
missing. So only unconfirmed records of the writer can be between the two copies. `RECENT` is far larger than the number
of unconfirmed records.
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
    """The owner, files, folders and uploads of a checkpoint. Threads share an instance only under a lock."""

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
        """The ids of the last `RECENT` records, oldest first."""
        return tuple(self._order)

    def remember(self, ids: Iterable[str]) -> None:
        """Add ids of records to `recent`, and drop the oldest ids beyond `RECENT`."""
        for record_id in ids:
            self._order.append(record_id)
            self._known.add(record_id)
            if len(self._order) > RECENT:
                self._known.discard(self._order.popleft())

    def apply(self, position: MessagePosition, record: Record) -> Outcome:
        """Apply a record, and return its outcome.

        Args:
            position: The position of the record, at which readers find the bytes of small files.
            record: The next record of the index.

        Raises:
            ValueError: The record has another form than this package writes. Such a record may also raise KeyError or
                TypeError.

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
        """Set the floor to the later position `at`, unless a needed chunk is before `at`.

        The owner checks this condition before it writes the FLOOR record. Records that the owner has not read at that
        time can change the result.
        """
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
        """Return the first position of the content log that a file or an upload needs; None if nothing is needed."""
        positions = [chunk.position for file in self.tree.files.values() for chunk in file.chunks]
        positions.extend(at for at, _ in self.uploads.values())
        return min(positions, default=None)


def path_of(text: str) -> Path:
    """Split the text of a path in a record into the parts of the path."""
    return tuple(part for part in text.split("/") if part)


def path_text(path: Path) -> str:
    """Join the parts of a path to its text in records and errors."""
    return "/".join(path)
