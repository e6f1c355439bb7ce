"""One checkpoint: what may be done with its files, by whom, and what that means in its two logs.

Whoever changes something names its owner, and the index must know it as the last one that took over. Reading needs
none. A call that changes something and whose outcome matters (all but replacing a small file) waits until its own
record was applied. Before it, what is plainly impossible is refused without a record.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.checkpoint.address import CheckpointName
from pyspark_pulsar.checkpoint.clients import CALL_SECONDS, Cluster
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.creation import format_index
from pyspark_pulsar.checkpoint.index.records import Kind
from pyspark_pulsar.checkpoint.index.state import IndexState, path_text
from pyspark_pulsar.checkpoint.index.tree import File, Folder, Outcome, Path
from pyspark_pulsar.checkpoint.logs import Logs, emptied, open_logs, was_emptied
from pyspark_pulsar.checkpoint.refusals import gone, not_mine, not_there, refusal
from pyspark_pulsar.checkpoint.upload import Upload
from pyspark_pulsar.errors import (
    CheckpointIsDirectory,
    CheckpointLost,
    CheckpointNotDirectory,
    CheckpointPathNotFound,
    CheckpointTakenOver,
    LedgerUnavailable,
)

_FORMAT_SECONDS: Final = 2.0
_FORMAT_PAUSE: Final = 0.05
_OPENED: Final = 65_536


@dataclass(frozen=True, slots=True)
class Status:
    """A file or folder. `id` is empty for a folder; another content has another one."""

    name: str
    is_file: bool
    length: int
    modified_ms: int
    id: str


class Checkpoint:
    """Safe to use from several threads. Close it."""

    def __init__(self, cluster: Cluster, name: CheckpointName) -> None:
        """Connects lazily."""
        self.name = name
        self._cluster = cluster
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._logs: Logs | None = None
        self._opened: OrderedDict[str, File] = OrderedDict()

    def close(self) -> None:
        with self._opening:
            logs, self._logs = self._logs, None
        if logs is not None:
            logs.close()

    # Whose it is

    def take_over(self, owner: str, deadline: Deadline) -> Logs:
        """From now on only what `owner` writes counts. Makes the checkpoint where there is none. Raises
        `CheckpointLost` for one whose index has lost its beginning, or that has content and no index."""
        logs = self.logs(deadline, create=True)
        while not logs.index.sync(deadline):
            if self._is_new(logs, deadline):
                # Without our own producer, which an exclusive one throws out.
                self.close()
                with self._cluster.new_client() as client:
                    format_index(client, str(logs.index_partition), owner, CALL_SECONDS)
                logs = self.logs(deadline)
        if logs.index.owner != owner:
            logs.index.append(Kind.TAKEOVER, owner, deadline)
        # Its keeper must be there before anything else.
        logs.content_writer.open(deadline)
        return logs

    def logs(self, deadline: Deadline, *, create: bool = False) -> Logs:
        """Opened when they are needed; anew after a failure. Raises `CheckpointPathNotFound` where there is none."""
        doing = f"opening {self.name}"
        logs = self._logs
        if logs is not None and logs.index.failure is None:
            return logs
        if not self._opening.acquire(timeout=deadline.left(doing)):
            deadline.left(doing)
        try:
            if self._logs is not None and self._logs.index.failure is not None:
                failed, self._logs = self._logs, None
                failed.close()
            if self._logs is None:
                deadline.left(doing)
                self._logs = open_logs(self._cluster, self.name, deadline, create=create)
            return self._logs
        finally:
            self._opening.release()

    def current(self, deadline: Deadline) -> Logs:
        """With all applied that is written by now. Raises `CheckpointPathNotFound` where there is no checkpoint."""
        logs = self.logs(deadline)
        if not logs.index.sync(deadline) and self._is_new(logs, deadline):
            raise not_there(str(self.name))
        return logs

    def _is_new(self, logs: Logs, deadline: Deadline) -> bool:
        """Whether an index without a record never had one; False when it has one now. Raises `CheckpointLost`."""
        patience = Deadline.after(_FORMAT_SECONDS)
        while not was_emptied(self._cluster, logs):
            if not logs.index.sync(deadline):
                return True
        # Another process may be about to write the first record.
        while time.monotonic() < patience.at:
            if logs.index.sync(deadline):
                return False
            time.sleep(_FORMAT_PAUSE)
        raise emptied(self.name, logs)

    def mine(self, owner: str | None, deadline: Deadline) -> Logs:
        """For a change. Raises `CheckpointTakenOver`, `PermissionDenied` for a caller that names no owner."""
        logs = self.logs(deadline)
        if owner is None or logs.index.owner != owner:
            logs = self.current(deadline)
        not_mine(str(self.name), owner, logs.index.owner)
        return logs

    # Reading

    def status(self, path: Path, deadline: Deadline) -> Status:
        """Raises `CheckpointPathNotFound`."""
        logs = self.current(deadline)

        def look(state: IndexState) -> Status | None:
            node = state.tree.find(path)
            return None if node is None else _status(path[-1] if path else "", node)

        status = logs.index.look(look)
        if status is None:
            raise not_there(self._text(path))
        return status

    def list(self, path: Path, deadline: Deadline) -> list[Status]:
        """What lies in a folder, by name. Raises `CheckpointPathNotFound`, `CheckpointNotDirectory`."""
        logs = self.current(deadline)

        def look(state: IndexState) -> list[Status] | File | None:
            node = state.tree.find(path)
            if not isinstance(node, Folder):
                return node
            return [_status(name, child) for name, child in sorted(node.children.items())]

        listed = logs.index.look(look)
        if listed is None:
            raise not_there(self._text(path))
        if isinstance(listed, File):
            raise CheckpointNotDirectory(f"{self._text(path)}: expected a folder, got a file")
        return listed

    def open(self, path: Path, deadline: Deadline) -> tuple[File, bytes | None]:
        """A file, and its content where that lies in the index. Raises `CheckpointPathNotFound`,
        `CheckpointIsDirectory`, `CheckpointLost`."""
        logs = self.current(deadline)
        file = logs.index.look(lambda state: _copy(state.tree.find(path)))
        if file is None:
            raise not_there(self._text(path))
        if isinstance(file, Folder):
            raise CheckpointIsDirectory(f"{self._text(path)}: expected a file, got a folder")
        self._remember(file)
        return file, None if file.chunks else logs.inline.read(file, self._text(path), deadline)

    def read(self, file_id: str, path: Path, offset: int, length: int, deadline: Deadline) -> bytes:
        """Of the file that was opened, also when another has its place now. Raises `CheckpointPathNotFound` for one
        that is not known any more, `CheckpointLost`."""
        file = self._known(file_id, path, deadline)
        while True:
            logs = self.logs(deadline)
            if not file.chunks:
                return logs.inline.read(file, self._text(path), deadline)[offset : offset + length]
            try:
                return logs.content.read(file.chunks, offset, length, self._text(path), deadline)
            except (CheckpointLost, LedgerUnavailable):
                # The owner's upkeep may have written them again and let their ledgers go, which an index read to its
                # end tells.
                former, file = file, self._present(file_id, path, deadline)
                if file.chunks == former.chunks:
                    raise

    def _known(self, file_id: str, path: Path, deadline: Deadline) -> File:
        """The file as it is, as far as that is known without asking, or was when it was opened. Raises
        `CheckpointPathNotFound`."""
        file = self.logs(deadline).index.look_at_replay(
            lambda replay: _copy(replay.state.tree.files.get(file_id)) if replay.state else None
        )
        if file is None:
            with self._lock:
                file = self._opened.get(file_id)
        return file if isinstance(file, File) else self._present(file_id, path, deadline)

    def _present(self, file_id: str, path: Path, deadline: Deadline) -> File:
        """The file as it is now. Raises `CheckpointPathNotFound`."""
        file = self.current(deadline).index.look(lambda state: _copy(state.tree.files.get(file_id)))
        if not isinstance(file, File):
            raise gone(self._text(path), file_id)
        return file

    def hold(self, file_id: str) -> None:
        """Let `read` know the file also when it is deleted or replaced, as far as its chunks exist."""
        file = self.logs(Deadline.after(CALL_SECONDS)).index.look(
            lambda state: _copy(state.tree.files.get(file_id))
        )
        if isinstance(file, File):
            self._remember(file)

    def _remember(self, file: File) -> None:
        with self._lock:
            self._opened[file.id] = file
            self._opened.move_to_end(file.id)
            while len(self._opened) > _OPENED:
                self._opened.popitem(last=False)

    # Changing

    def mkdirs(self, path: Path, owner: str | None, deadline: Deadline) -> None:
        """A folder that is there needs no owner. Raises `CheckpointPathExists`, `CheckpointNotDirectory`."""
        logs = self.current(deadline)
        if logs.index.look(lambda state: isinstance(state.tree.find(path), Folder)):
            return
        self._change(Kind.MKDIR, path, owner, deadline, {})

    def delete(self, path: Path, owner: str | None, deadline: Deadline, *, recursive: bool) -> bool:
        """Whether there was something. Raises `CheckpointNotEmpty`."""
        try:
            logs = self.current(deadline)
        except CheckpointPathNotFound:
            return False
        if logs.index.look(lambda state: state.tree.find(path)) is None:
            return False
        try:
            self._change(Kind.DELETE, path, owner, deadline, {"recursive": recursive})
        except CheckpointPathNotFound:
            return False
        return True

    def rename(
        self, source: Path, target: Path, owner: str | None, deadline: Deadline, *, overwrite: bool
    ) -> None:
        """Raises `CheckpointPathNotFound`, `CheckpointPathExists`, `CheckpointError` for a place below itself."""
        self.current(deadline)
        details = {"target": path_text(target), "overwrite": overwrite}
        self._change(Kind.RENAME, source, owner, deadline, details, named=target)

    def _change(
        self,
        kind: Kind,
        path: Path,
        owner: str | None,
        deadline: Deadline,
        details: dict[str, object],
        *,
        named: Path | None = None,
    ) -> None:
        logs = self.mine(owner, deadline)
        outcome = logs.index.append(kind, owner or "", deadline, {"path": path_text(path), **details})
        at_target = named is not None and outcome in {Outcome.EXISTS, Outcome.NOT_DIRECTORY}
        self._settle(logs, named if named is not None and at_target else path, outcome, owner)

    def upload(self, path: Path, owner: str | None, deadline: Deadline, *, if_absent: bool) -> Upload:
        """Of a new file; `finish` it. Raises what `finish` raises, as far as that is plain already."""
        logs = self.mine(owner, deadline)
        refused = logs.index.look(lambda state: _put_refused(state, path, if_absent=if_absent))
        if refused is not Outcome.DONE:
            logs = self.current(deadline)
            # What lies there now may be another owner's.
            not_mine(str(self.name), owner, logs.index.owner)
            refused = logs.index.look(lambda state: _put_refused(state, path, if_absent=if_absent))
            self._settle(logs, path, refused, owner)
        return Upload(logs.index, logs.content_writer, path, owner or "", if_absent=if_absent)

    def finish(self, upload: Upload, owner: str | None, deadline: Deadline) -> None:
        """Raises `CheckpointPathExists`, `CheckpointIsDirectory`, `CheckpointNotDirectory`, `CheckpointTakenOver`."""
        logs = self.mine(owner, deadline)
        outcome = upload.commit(deadline)
        if outcome is Outcome.STALE:
            fetched = logs.chunk_locations.fetch(upload.chunks, self._text(upload.path))
            with contextlib.suppress(CheckpointLost):
                outcome = upload.commit_again(logs.content_writer, (data for _, data in fetched), deadline)
        self._settle(logs, upload.path, outcome, owner)

    def put(
        self, path: Path, data: bytes, owner: str | None, deadline: Deadline, *, if_absent: bool = False
    ) -> None:
        """A whole file. Raises what `finish` raises."""
        upload = self.upload(path, owner, deadline, if_absent=if_absent)
        upload.write(data, deadline)
        self.finish(upload, owner, deadline)

    def _settle(self, logs: Logs, path: Path, outcome: Outcome, owner: str | None) -> None:
        if outcome is Outcome.TAKEN_OVER:
            not_mine(str(self.name), owner, logs.index.owner)
            raise CheckpointTakenOver(
                f"{self._text(path)}: expected to be the owner when it was written, but another application had taken "
                f"the checkpoint over for a while; nothing of it counts. Stop one of the two queries, or give each a "
                f"checkpoint of its own"
            )
        if outcome not in {Outcome.DONE, Outcome.REPEATED}:
            raise refusal(outcome, self._text(path))

    def _text(self, path: Path) -> str:
        return "/".join((str(self.name), *path))


def _status(name: str, node: File | Folder) -> Status:
    is_file = isinstance(node, File)
    length, file_id = (node.length, node.id) if isinstance(node, File) else (0, "")
    return Status(name, is_file, length, node.modified_ms, file_id)


def _copy(node: File | Folder | None) -> File | Folder | None:
    """As it is now: a MOVE changes where its chunks lie."""
    if not isinstance(node, File):
        return node
    return File(node.id, node.length, node.modified_ms, node.chunks, node.inline_at)


def _put_refused(state: IndexState, path: Path, *, if_absent: bool) -> Outcome:
    """What is plain before a record is written; nothing is made."""
    node = state.tree.find(path)
    if isinstance(node, Folder):
        return Outcome.EXISTS if if_absent and path else Outcome.IS_DIRECTORY
    if isinstance(node, File):
        return Outcome.EXISTS if if_absent else Outcome.DONE
    above = (state.tree.find(path[:depth]) for depth in range(len(path)))
    return Outcome.NOT_DIRECTORY if any(isinstance(node, File) for node in above) else Outcome.DONE
