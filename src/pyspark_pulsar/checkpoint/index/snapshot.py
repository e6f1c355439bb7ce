"""A snapshot of an index: a copy of the state in SNAPSHOT records. The broker may remove records before the anchor.

    anchor    the position of the last record that the snapshot covers
    parts     records of about `PART_BYTES`; the snapshot is complete when its last part is stored

A reader that begins at the anchor buffers the following records until it has read the last part. Then the reader loads
the snapshot, and applies the buffered records. Other records may be between the parts. A snapshot contains the effects
of the records up to its anchor. So even a snapshot that a previous owner wrote is valid.

Header of a part: `snapshot`, `part` (from 0), `parts`, `anchor`, `entries`, and in part 0 `state`. An entry is `["d",
path, modified]` or `["f", path, id, length, modified, chunks]`. If chunks is null, the file's bytes are the next
`length` bytes of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark_pulsar.checkpoint.index.records import Record, chunks_of
from pyspark_pulsar.checkpoint.index.state import IndexState, path_of, path_text
from pyspark_pulsar.checkpoint.index.tree import File, Folder, Path
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, parse_position, position_text

PART_BYTES: Final = 512 * 1024
_ENTRY_BYTES: Final = 96
_CHUNK_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    modified_ms: int
    file: File | None

    @property
    def size(self) -> int:
        """The approximate number of bytes that the entry needs in a part."""
        if self.file is None:
            return _ENTRY_BYTES
        inline = 0 if self.file.chunks else self.file.length
        return _ENTRY_BYTES + inline + _CHUNK_BYTES * len(self.file.chunks)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of the state after the record at `anchor`. Later records do not change the copy."""

    anchor: MessagePosition
    state: dict[str, Any]
    entries: tuple[_Entry, ...]

    @classmethod
    def from_state(cls, state: IndexState, anchor: MessagePosition) -> Snapshot:
        """Copy a state whose last applied record is at `anchor`."""
        entries = []
        for path, node in state.tree.walk():
            if isinstance(node, Folder):
                entries.append(_Entry(path, node.modified_ms, None))
            else:
                copy = File(node.id, node.length, node.modified_ms, node.chunks, node.inline_at)
                entries.append(_Entry(path, node.modified_ms, copy))
        plain = {
            "owner": state.owner,
            "floor": position_text(state.floor),
            "uploads": [[file_id, position_text(at), time] for file_id, (at, time) in state.uploads.items()],
            "written": [[ledger, nbytes] for ledger, nbytes in state.written.items()],
            "recent": list(state.recent),
        }
        return cls(anchor, plain, tuple(entries))

    def parts(
        self, snapshot_id: str, body_of: Callable[[File], bytes], part_bytes: int = PART_BYTES
    ) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield the details and the body of each SNAPSHOT record. Raises the errors of `body_of`.

        Args:
            snapshot_id: The id of the snapshot, which all parts contain.
            body_of: A function that returns the bytes of a small file.
            part_bytes: The approximate maximum size of a part, in bytes.

        """
        groups = self._groups(part_bytes)
        for number, group in enumerate(groups):
            details = {
                "snapshot": snapshot_id,
                "part": number,
                "parts": len(groups),
                "anchor": position_text(self.anchor),
                "entries": [_as_json(entry) for entry in group],
            }
            if number == 0:
                details["state"] = self.state
            bodies = [body_of(entry.file) for entry in group if entry.file and not entry.file.chunks]
            yield details, b"".join(bodies)

    def _groups(self, part_bytes: int) -> list[list[_Entry]]:
        groups: list[list[_Entry]] = [[]]
        size = 0
        for entry in self.entries:
            if groups[-1] and size + entry.size > part_bytes:
                groups.append([])
                size = 0
            groups[-1].append(entry)
            size += entry.size
        return groups


@dataclass(slots=True)
class SnapshotParts:
    """The parts of one snapshot that a reader has read."""

    anchor: MessagePosition
    parts: int
    records: dict[int, tuple[MessagePosition, Record]] = field(default_factory=dict)

    @classmethod
    def from_record(cls, record: Record) -> SnapshotParts:
        """Return an instance for the snapshot that a SNAPSHOT record names. The instance contains no parts yet.

        Raises ValueError if the record has no anchor.
        """
        anchor = parse_position(record.details["anchor"])
        if anchor is None:
            raise ValueError("a snapshot without an anchor")
        return cls(anchor, int(record.details["parts"]))

    def add(self, position: MessagePosition, record: Record) -> None:
        """Add a part, unless this part was added before."""
        self.records.setdefault(int(record.details["part"]), (position, record))

    @property
    def is_complete(self) -> bool:
        """Return whether all parts were read."""
        return len(self.records) == self.parts

    def load(self) -> tuple[IndexState, dict[str, bytes]]:
        """Return the state, and a map from the ids of small files to their bytes."""
        state, bodies = IndexState(), {}
        for number in range(self.parts):
            position, record = self.records[number]
            if number == 0:
                _load_state(state, record.details["state"])
            for file, path, body in entries_of(position, record):
                if file is None:
                    state.tree.mkdir(path[0], path[1])
                    continue
                state.tree.put(path[0], file, replace=True)
                if not file.chunks:
                    bodies[file.id] = body
        return state, bodies


def entries_of(
    position: MessagePosition, record: Record
) -> Iterator[tuple[File | None, tuple[Path, int], bytes]]:
    """Yield each file or folder of a part.

    Yields:
        A tuple: the file, or None if the entry is a folder; a pair of the path and the modification time in Unix
        milliseconds; the bytes of a small file, or `b""` if the entry is a folder or a file with chunks.

    """
    offset = 0
    for kind, path, *rest in record.details["entries"]:
        if kind == "d":
            yield None, (path_of(path), int(rest[0])), b""
            continue
        file_id, length, modified_ms, chunks = rest
        body = b""
        if chunks is None:
            body = record.body[offset : offset + length]
            offset += length
        file = File(
            id=file_id,
            length=int(length),
            modified_ms=int(modified_ms),
            chunks=chunks_of(chunks or ()),
            inline_at=position if chunks is None else None,
        )
        yield file, (path_of(path), file.modified_ms), body


def _as_json(entry: _Entry) -> list[Any]:
    file, path = entry.file, path_text(entry.path)
    if file is None:
        return ["d", path, entry.modified_ms]
    chunks = [chunk.as_json() for chunk in file.chunks] if file.chunks else None
    return ["f", path, file.id, file.length, file.modified_ms, chunks]


def _load_state(state: IndexState, plain: dict[str, Any]) -> None:
    state.owner = str(plain["owner"])
    state.floor = parse_position(plain["floor"])
    for file_id, at, time_ms in plain["uploads"]:
        position = parse_position(at)
        if position is not None:
            state.uploads[str(file_id)] = (position, int(time_ms))
    state.written = {int(ledger): int(nbytes) for ledger, nbytes in plain["written"]}
    state.remember(str(record_id) for record_id in plain["recent"])
