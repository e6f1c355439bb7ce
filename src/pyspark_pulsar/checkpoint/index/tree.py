"""Files and folders of a checkpoint. This module does no I/O.

As in Hadoop's file systems, creating a file also creates its missing parent folders. Deleting the file does not delete
these folders. The root folder always exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pyspark_pulsar.checkpoint.index.records import Chunk
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition

Path = tuple[str, ...]


class Outcome(StrEnum):
    """The outcome of a change. Only a change with the outcome DONE has changed the state."""

    DONE = "done"
    EXISTS = "exists"
    NOT_FOUND = "not found"
    IS_DIRECTORY = "is a folder"
    NOT_DIRECTORY = "is not a folder"
    NOT_EMPTY = "is not empty"
    INVALID = "is not possible"
    TAKEN_OVER = "another owner has taken over"
    STALE = "names chunks that were released"
    REPEATED = "was applied before"


@dataclass(slots=True)
class File:
    """A file. The content of the file is either in the record at `inline_at`, or in chunks."""

    id: str
    length: int
    modified_ms: int
    chunks: tuple[Chunk, ...] = ()
    inline_at: MessagePosition | None = None


@dataclass(slots=True)
class Folder:
    """A folder. `modified_ms` is the time of the folder's creation, in Unix milliseconds."""

    modified_ms: int
    children: dict[str, Node] = field(default_factory=dict)


Node = File | Folder


class Tree:
    """The files and folders of a checkpoint, by path. The attribute `files` contains the files by id.

    The caller holds the lock of the state.
    """

    def __init__(self) -> None:
        self.root = Folder(0)
        self.files: dict[str, File] = {}
        """The files of all folders, by file id."""

    def find(self, path: Path) -> Node | None:
        """Return the file or folder at a path; None if the path does not exist."""
        node: Node = self.root
        for part in path:
            child = node.children.get(part) if isinstance(node, Folder) else None
            if child is None:
                return None
            node = child
        return node

    def walk(self, top: Path = ()) -> Iterator[tuple[Path, Node]]:
        """Yield the node at `top` and all nodes below, sorted by name, each folder before its content."""
        node = self.find(top)
        if node is None:
            return
        waiting: list[tuple[Path, Node]] = [(top, node)]
        while waiting:
            path, node = waiting.pop()
            yield path, node
            if isinstance(node, Folder):
                below = sorted(node.children.items(), reverse=True)
                waiting.extend(((*path, name), child) for name, child in below)

    def put(self, path: Path, file: File, *, replace: bool) -> Outcome:
        """Store a file, and create its missing parent folders. With `replace`, replace another file at the path."""
        parent = self._parent(path, file.modified_ms)
        if isinstance(parent, Outcome):
            return parent
        previous = parent.children.get(path[-1])
        if isinstance(previous, Folder):
            return Outcome.IS_DIRECTORY if replace else Outcome.EXISTS
        if previous is not None:
            if not replace:
                return Outcome.EXISTS
            del self.files[previous.id]
        parent.children[path[-1]] = file
        self.files[file.id] = file
        return Outcome.DONE

    def mkdir(self, path: Path, modified_ms: int) -> Outcome:
        """Create a folder and its missing parent folders; do nothing if the folder exists."""
        node = self.find(path)
        if isinstance(node, File):
            return Outcome.EXISTS
        if node is None:
            parent = self._parent(path, modified_ms)
            if isinstance(parent, Outcome):
                return parent
            parent.children[path[-1]] = Folder(modified_ms)
        return Outcome.DONE

    def delete(self, path: Path, *, recursive: bool) -> Outcome:
        """Delete a file or folder. Deleting the root folder deletes its content, but not the root folder itself."""
        node = self.find(path)
        if node is None:
            return Outcome.NOT_FOUND
        if isinstance(node, Folder) and node.children and not recursive:
            return Outcome.NOT_EMPTY
        for _, node in self.walk(path):
            if isinstance(node, File):
                del self.files[node.id]
        if path:
            self._folder(path[:-1]).children.pop(path[-1])
        else:
            self.root.children.clear()
        return Outcome.DONE

    def rename(self, source: Path, target: Path, modified_ms: int, *, overwrite: bool) -> Outcome:
        """Rename a file or folder, and create the missing parent folders of the target.

        With `overwrite`, a file can replace a file, and a folder can replace an empty folder.
        """
        moved = self.find(source)
        if moved is None:
            return Outcome.NOT_FOUND
        if source == target:
            return Outcome.DONE
        if not source or not target or target[: len(source)] == source:
            return Outcome.INVALID
        previous = self.find(target)
        if previous is not None and not (overwrite and _is_replaceable(previous, moved)):
            return Outcome.EXISTS
        parent = self._parent(target, modified_ms)
        if isinstance(parent, Outcome):
            return parent
        if isinstance(previous, File):
            del self.files[previous.id]
        self._folder(source[:-1]).children.pop(source[-1])
        parent.children[target[-1]] = moved
        return Outcome.DONE

    def _folder(self, path: Path) -> Folder:
        node = self.find(path)
        assert isinstance(node, Folder)  # noqa: S101 -- the caller has found a child of this folder
        return node

    def _parent(self, path: Path, modified_ms: int) -> Folder | Outcome:
        """Create the missing folders above a path, and return the parent folder of the path.

        If the path is the root folder, or if a path above is a file, return the outcome of the refused change instead.
        """
        if not path:
            return Outcome.IS_DIRECTORY
        node, missing = self._deepest(path[:-1])
        if isinstance(node, File):
            return Outcome.NOT_DIRECTORY
        for name in missing:
            below = Folder(modified_ms)
            node.children[name] = below
            node = below
        return node

    def _deepest(self, path: Path) -> tuple[Node, Sequence[str]]:
        node: Node = self.root
        for depth, part in enumerate(path):
            if isinstance(node, File):
                break
            child = node.children.get(part)
            if child is None:
                return node, path[depth:]
            node = child
        return node, ()


def _is_replaceable(previous: Node, moved: Node) -> bool:
    if isinstance(previous, File):
        return isinstance(moved, File)
    return isinstance(moved, Folder) and not previous.children
