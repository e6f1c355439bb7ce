"""Copying whole checkpoints to local folders and back, and checking whether all files of a checkpoint are readable.

A copy from Pulsar contains the files of one point in time, even while a query is running. The reason is that the copy
reads the files by id. A copy to Pulsar requires that the path in the checkpoint has no files. After a copy to Pulsar,
the command owns the checkpoint until a query takes over.
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
    """A file or folder at or below the requested path.

    Attributes:
        id: The id of a file; empty for a folder.
        chunks: The number of chunks; 0 for a file in the index.

    """

    path: Path
    length: int
    modified_ms: int
    id: str
    chunks: int


def entries(checkpoint: Checkpoint, top: Path = ()) -> list[Entry]:
    """List the present files and folders at and below the path `top`. Raises `CheckpointPathNotFound`."""
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
    """Yield the bytes of a file in pieces of up to 1 MiB, after checking their checksums.

    Raises:
        CheckpointLost: Content that the file needs was removed or is damaged.
        CheckpointPathNotFound: The file was deleted, and this process has dropped the file's chunk positions.

    """
    for offset in range(0, entry.length, _PIECE):
        yield checkpoint.read(entry.id, entry.path, offset, _PIECE, _deadline())


def verify(checkpoint: Checkpoint) -> Iterator[tuple[Entry, PulsarError | None]]:
    """Read every file, and yield each file with its error, or with None if the file is readable.

    The records of the index need no further check, because reading the index has checked them. Files that are deleted
    during the check are left out.
    """
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


def copy_out(
    checkpoint: Checkpoint, top: Path, folder: LocalPath, report: Callable[[str, int], None]
) -> None:
    """Copy the files and folders at and below the path `top` into a local folder.

    Args:
        checkpoint: The checkpoint to copy from.
        top: The path to copy.
        folder: The folder to copy to, which is empty or does not exist.
        report: A function that is called with the path and length of each copied file.

    Raises:
        OptionError: The local folder is not empty.

    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionError(
            f"folder {folder}: expected an empty or missing folder, got a folder with content or a file; "
            f"choose another folder"
        )
    present = entries(checkpoint, top)
    # After `hold`, the copy can still read files that the query replaces during the copy.
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
        report(path_text(entry.path), entry.length)


def copy_in(
    store: Store, folder: LocalPath, target: CheckpointPath, report: Callable[[str, int], None]
) -> None:
    """Copy a local folder into a checkpoint path that has no files.

    The checksum files (`.name.crc`) of Hadoop's local file system are left out, because each chunk of a checkpoint has
    its own checksum.

    Raises:
        CheckpointPathExists: The checkpoint has files at or below the path.
        OptionError: The local folder does not exist.

    """
    if not folder.is_dir():
        raise OptionError(f"folder {folder}: expected an existing folder, got none; check the path")
    checkpoint = store.checkpoint(target.checkpoint)
    try:
        is_free = not any(entry.id for entry in entries(checkpoint, target.parts))
    except CheckpointPathNotFound:
        is_free = True
    if not is_free:
        raise CheckpointPathExists(
            f"{target}: expected a path without files, got some; delete them first (pyspark-pulsar checkpoint rm), or "
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
            report(path_text(inside), path.stat().st_size)


def _upload(checkpoint: Checkpoint, source: LocalPath, path: Path, owner: str) -> None:
    upload = checkpoint.upload(path, owner, _deadline(), if_absent=True)
    with source.open("rb") as file:
        while piece := file.read(_PIECE):
            upload.write(piece, _deadline())
    checkpoint.finish(upload, owner, _deadline())


def remove(store: Store, target: CheckpointPath) -> bool:
    """Delete a file, a folder or all files of a checkpoint, and return whether the path existed.

    The function first takes the checkpoint over. A query that uses the checkpoint then fails at its next write.
    """
    checkpoint = store.checkpoint(target.checkpoint)
    try:
        checkpoint.status(target.parts, _deadline())
    except CheckpointPathNotFound:
        return False
    owner = f"pyspark-pulsar checkpoint rm {new_id()}"
    checkpoint.take_over(owner, _deadline())
    return checkpoint.delete(target.parts, owner, _deadline(), recursive=True)


def is_folder(checkpoint: Checkpoint, path: Path) -> bool:
    """Return whether a path is a folder. Raises `CheckpointPathNotFound`."""
    logs = checkpoint.current(_deadline())
    return logs.index.look(lambda state: isinstance(state.tree.find(path), Folder))


def _is_hadoop_checksum(path: LocalPath) -> bool:
    name = path.name
    return name.startswith(".") and name.endswith(".crc") and (path.parent / name[1:-4]).is_file()


def _deadline() -> Deadline:
    return Deadline.after(CALL_SECONDS)
