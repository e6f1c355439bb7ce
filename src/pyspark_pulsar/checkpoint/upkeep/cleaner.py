"""Choosing old chunks, and writing these chunks again so that the broker can remove their ledgers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.records import Chunk, Kind
from pyspark_pulsar.checkpoint.index.state import IndexState, path_text
from pyspark_pulsar.checkpoint.index.tree import File, Outcome
from pyspark_pulsar.checkpoint.logs import Logs
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.checkpoint.upload import ChunkWriter


@dataclass(frozen=True, slots=True)
class OldFile:
    """A file and the positions of its old chunks.

    Attributes:
        chunks: All chunks of the file.
        moved: The positions of the chunks that must be written again.

    """

    path: str
    id: str
    chunks: tuple[Chunk, ...]
    moved: frozenset[MessagePosition]


def overdue_ledgers(state: IndexState) -> frozenset[int]:
    """Return the oldest closed ledgers, whose chunks must be written again.

    The other closed ledgers contain at most as many unneeded bytes as the largest ledger has bytes.
    """
    if not state.written:
        return frozenset()
    live: Counter[int] = Counter()
    for file in state.tree.files.values():
        for chunk in file.chunks:
            live[chunk.ledger] += chunk.length
    garbage = {ledger: max(0, state.written[ledger] - live[ledger]) for ledger in sorted(state.written)[:-1]}
    allowed = max(state.written.values())
    left = sum(garbage.values())
    overdue = set()
    for ledger, nbytes in garbage.items():
        if left <= allowed:
            break
        overdue.add(ledger)
        left -= nbytes
    return frozenset(overdue)


def files_in(state: IndexState, ledgers: Collection[int]) -> list[OldFile]:
    """Return the files with chunks in these ledgers, sorted by their oldest chunk."""
    return _old(state, lambda chunk: chunk.ledger in ledgers) if ledgers else []


def files_before(state: IndexState, position: MessagePosition) -> list[OldFile]:
    """Return the files with chunks before this position, sorted by their oldest chunk."""
    return _old(state, lambda chunk: chunk.position < position)


def move(checkpoint: Checkpoint, logs: Logs, owner: str, old: OldFile, deadline: Deadline) -> bool:
    """Write the old chunks again, and return whether the MOVE record took effect.

    The record has no effect if the file was deleted during the call.

    Raises:
        CheckpointLost: A chunk cannot be read.
        PulsarError: Writing failed.

    """
    where = f"{checkpoint.name}/{old.path}"
    old_chunks = [chunk for chunk in old.chunks if chunk.position in old.moved]
    writer = ChunkWriter(logs.content_writer)
    for _, data in logs.chunk_locations.fetch(old_chunks, where):
        writer.write(data, deadline)
    writer.finish(deadline)
    written = dict(zip((chunk.position for chunk in old_chunks), writer.chunks, strict=True))
    chunks = [written.get(chunk.position, chunk).as_json() for chunk in old.chunks]
    details = {"file": old.id, "chunks": chunks}
    return logs.index.append(Kind.MOVE, owner, deadline, details) is Outcome.DONE


def _old(state: IndexState, is_old: Callable[[Chunk], bool]) -> list[OldFile]:
    files = []
    for path, node in state.tree.walk():
        if isinstance(node, File):
            moved = frozenset(chunk.position for chunk in node.chunks if is_old(chunk))
            if moved:
                files.append(OldFile(path_text(path), node.id, node.chunks, moved))
    # The files with the oldest chunks are first, so that the floor can rise before all files are copied.
    return sorted(files, key=lambda old: min(old.moved))
