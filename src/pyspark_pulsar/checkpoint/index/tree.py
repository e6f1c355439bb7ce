"""Files and folders of a checkpoint. No I/O.

Folders above a file are made with it, and stay when it goes, as in Hadoop's file systems. The root is always there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pyspark_pulsar.checkpoint.index.records import Chunk
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition

Path = tuple[str, ...]


class Outcome(StrEnum):
    """What became of a change. All but DONE left everything as it was."""

    DONE = "done"
    EXISTS = "exists"
    NOT_FOUND = "not found"
    IS_DIRECTORY = "is a folder"
    NOT_DIRECTORY = "is no folder"
    NOT_EMPTY = "is not empty"
    INVALID = "is not possible"
    TAKEN_OVER = "another owner has taken over"
    STALE = "names chunks that are given up"
    REPEATED = "was applied before"


@dataclass(slots=True)
class File:
    """Its content is a body in the record at `inline_at`, or else chunks."""

    id: str
    length: int
    modified_ms: int
    chunks: tuple[Chunk, ...] = ()
    inline_at: MessagePosition | None = None


@dataclass(slots=True)
class Folder:
    """`modified_ms`: when it was made."""

    modified_ms: int
    children: dict[str, Node] = field(default_factory=dict)


Node = File | Folder


class Tree:
    """Used under the lock of its state."""

    def __init__(self) -> None:
        self.root = Folder(0)
        self.files: dict[str, File] = {}
        """By id."""

    def find(self, path: Path) -> Node | None:
        node: Node = self.root
        for part in path:
            child = node.children.get(part) if isinstance(node, Folder) else None
            if child is None:
                return None
            node = child
        return node

    def walk(self, top: Path = ()) -> Iterator[tuple[Path, Node]]:
        """The node at `top` and all below it, each folder before what is in it, in order of names."""
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
        parent = self._parent(path, file.modified_ms)
        if isinstance(parent, Outcome):
            return parent
        former = parent.children.get(path[-1])
        if isinstance(former, Folder):
            return Outcome.IS_DIRECTORY if replace else Outcome.EXISTS
        if former is not None:
            if not replace:
                return Outcome.EXISTS
            del self.files[former.id]
        parent.children[path[-1]] = file
        self.files[file.id] = file
        return Outcome.DONE

    def mkdir(self, path: Path, modified_ms: int) -> Outcome:
        """A folder that is there already is none to make."""
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
        """Of the root all that is in it."""
        node = self.find(path)
        if node is None:
            return Outcome.NOT_FOUND
        if isinstance(node, Folder) and node.children and not recursive:
            return Outcome.NOT_EMPTY
        for _, gone in self.walk(path):
            if isinstance(gone, File):
                del self.files[gone.id]
        if path:
            self._folder(path[:-1]).children.pop(path[-1])
        else:
            self.root.children.clear()
        return Outcome.DONE

    def rename(self, source: Path, target: Path, modified_ms: int, *, overwrite: bool) -> Outcome:
        """Folders above the target are made. `overwrite`: in place of a file, or of an empty folder, of its kind."""
        moved = self.find(source)
        if moved is None:
            return Outcome.NOT_FOUND
        if source == target:
            return Outcome.DONE
        if not source or not target or target[: len(source)] == source:
            return Outcome.INVALID
        former = self.find(target)
        if former is not None and not (overwrite and _is_replaceable(former, moved)):
            return Outcome.EXISTS
        parent = self._parent(target, modified_ms)
        if isinstance(parent, Outcome):
            return parent
        if isinstance(former, File):
            del self.files[former.id]
        self._folder(source[:-1]).children.pop(source[-1])
        parent.children[target[-1]] = moved
        return Outcome.DONE

    def _folder(self, path: Path) -> Folder:
        node = self.find(path)
        assert isinstance(node, Folder)  # noqa: S101 -- the caller has found what is in it
        return node

    def _parent(self, path: Path, modified_ms: int) -> Folder | Outcome:
        """The folder that `path` lies in, made where it is missing; nothing is made where that is not possible."""
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


def _is_replaceable(former: Node, moved: Node) -> bool:
    if isinstance(former, File):
        return isinstance(moved, File)
    return isinstance(moved, Folder) and not former.children
