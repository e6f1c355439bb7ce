"""Whole checkpoints to local folders and back, and looking whether all of one is readable.

What is copied from Pulsar is the state at one time, also of a query that runs: its files by their ids. What is copied
into it makes a checkpoint that holds no file yet, and its owner is this copy until a query takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path as LocalPath
from typing import Final

from pyspark_pulsar.checkpoint.address import CheckpointPath
from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.clients import CALL_SECONDS
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.records import new_id
from pyspark_pulsar.checkpoint.index.state import IndexState, path_text
from pyspark_pulsar.checkpoint.index.tree import File, Folder, Path
from pyspark_pulsar.checkpoint.store import Store
from pyspark_pulsar.errors import (
    CheckpointError,
    CheckpointPathExists,
    CheckpointPathNotFound,
    OptionError,
    PulsarError,
)

_PIECE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder below the place that was asked for."""

    path: Path
    length: int
    modified_ms: int
    id: str
    """Empty for a folder."""
    chunks: int
    """0 for a file that lies in the index."""


def entries(checkpoint: Checkpoint, top: Path = ()) -> list[Entry]:
    """All from `top` on, itself first, as it is now. Raises `CheckpointPathNotFound`."""
    logs = checkpoint.current(_deadline())

    def look(state: IndexState) -> list[Entry]:
        return [
            Entry(path, node.length, node.modified_ms, node.id, len(node.chunks))
            if isinstance(node, File)
            else Entry(path, 0, node.modified_ms, "", 0)
            for path, node in state.tree.walk(top)
        ]

    present = logs.index.look(look)
    if not present:
        raise CheckpointPathNotFound(
            f"{checkpoint.name}/{path_text(top)}: expected a file or folder, got none"
        )
    return present


def content(checkpoint: Checkpoint, entry: Entry) -> Iterator[bytes]:
    """Of a file, in pieces, each checked. Raises `CheckpointLost`; `CheckpointPathNotFound` for one that was deleted
    meanwhile and is not known any more."""
    for offset in range(0, entry.length, _PIECE):
        yield checkpoint.read(entry.id, entry.path, offset, _PIECE, _deadline())


def verify(checkpoint: Checkpoint) -> Iterator[tuple[Entry, PulsarError | None]]:
    """Every file, and what is wrong with it. That the records of the index are whole was seen when it was read. A file
    that is deleted meanwhile is left out."""
    for entry in entries(checkpoint):
        if not entry.id:
            continue
        try:
            length = sum(len(piece) for piece in content(checkpoint, entry))
        except CheckpointPathNotFound:
            continue
        except PulsarError as fault:
            yield entry, fault
            continue
        yield (
            entry,
            None
            if length == entry.length
            else CheckpointError(
                f"{checkpoint.name}/{path_text(entry.path)}: expected {entry.length} bytes, got {length}"
            ),
        )


def copy_out(checkpoint: Checkpoint, top: Path, folder: LocalPath, told: Callable[[str, int], None]) -> None:
    """Into a folder that is empty or does not exist. `told` of each file: its path and length."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionError(f"folder {folder}: expected one that is empty or does not exist, got another")
    present = entries(checkpoint, top)
    # What is replaced while the copy runs is read all the same.
    for entry in present:
        if entry.id:
            checkpoint.hold(entry.id)
    for entry in present:
        target = folder.joinpath(*entry.path[len(top) :])
        if not entry.id:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            for piece in content(checkpoint, entry):
                file.write(piece)
        told(path_text(entry.path), entry.length)


def copy_in(
    store: Store, folder: LocalPath, target: CheckpointPath, told: Callable[[str, int], None]
) -> None:
    """Into a checkpoint that holds no file at that place. Files that Hadoop's local file system keeps beside others
    (`.name.crc`) are left out: here each chunk has a checksum. Raises `CheckpointPathExists`."""
    if not folder.is_dir():
        raise OptionError(f"folder {folder}: expected one that exists, got none")
    checkpoint = store.checkpoint(target.checkpoint)
    try:
        is_free = not any(entry.id for entry in entries(checkpoint, target.parts))
    except CheckpointPathNotFound:
        is_free = True
    if not is_free:
        raise CheckpointPathExists(
            f"{target}: expected a place without files, got some; delete them first (pyspark-pulsar checkpoint rm), or "
            f"choose another name"
        )
    owner = f"pyspark-pulsar checkpoint copy {new_id()}"
    store.take_over(checkpoint, owner, _deadline())
    for path in sorted(folder.rglob("*")):
        inside = (*target.parts, *path.relative_to(folder).parts)
        if path.is_dir():
            checkpoint.mkdirs(inside, owner, _deadline())
        elif not _is_hadoop_checksum(path):
            _upload(checkpoint, path, inside, owner)
            told(path_text(inside), path.stat().st_size)


def _upload(checkpoint: Checkpoint, source: LocalPath, path: Path, owner: str) -> None:
    upload = checkpoint.upload(path, owner, _deadline(), if_absent=True)
    with source.open("rb") as file:
        while piece := file.read(_PIECE):
            upload.write(piece, _deadline())
    checkpoint.finish(upload, owner, _deadline())


def remove(store: Store, target: CheckpointPath) -> bool:
    """A file or folder, or all of a checkpoint. It is taken over first: a query that uses it fails at its next write.
    Whether there was something."""
    checkpoint = store.checkpoint(target.checkpoint)
    try:
        checkpoint.status(target.parts, _deadline())
    except CheckpointPathNotFound:
        return False
    owner = f"pyspark-pulsar checkpoint rm {new_id()}"
    checkpoint.take_over(owner, _deadline())
    return checkpoint.delete(target.parts, owner, _deadline(), recursive=True)


def is_folder(checkpoint: Checkpoint, path: Path) -> bool:
    """Raises `CheckpointPathNotFound`."""
    logs = checkpoint.current(_deadline())
    return logs.index.look(lambda state: isinstance(state.tree.find(path), Folder))


def _is_hadoop_checksum(path: LocalPath) -> bool:
    name = path.name
    return name.startswith(".") and name.endswith(".crc") and (path.parent / name[1:-4]).is_file()


def _deadline() -> Deadline:
    return Deadline.after(CALL_SECONDS)
