"""A checkpoint: the operations on its files, the check of the caller's ownership, and the records in the two logs.

A caller that changes a file passes the name of an owner. This owner must be the owner of the last takeover in the
index. A reader needs no owner. A change waits until its own record is applied. Only a PUT of a small file does not
wait. If the present state already rules a change out, the call raises an error and writes no record.
"""

from __future__ import annotations

import contextlib
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
from pyspark_pulsar.checkpoint.logs import Logs, has_entries, index_emptied, open_logs, was_emptied
from pyspark_pulsar.checkpoint.refusals import file_gone, path_not_found, refusal, require_owner
from pyspark_pulsar.checkpoint.upload import Upload
from pyspark_pulsar.errors import (
    CheckpointIsDirectory,
    CheckpointLost,
    CheckpointNotDirectory,
    CheckpointPathNotFound,
    CheckpointTakenOver,
    LedgerUnavailable,
)
from pyspark_pulsar.runtime import threading, time

_FORMAT_SECONDS: Final = 2.0
_FORMAT_PAUSE: Final = 0.05
_OPENED: Final = 65_536


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a file or folder. A file with new content gets a new `id`. The `id` of a folder is empty."""

    name: str
    is_file: bool
    length: int
    modified_ms: int
    id: str


class Checkpoint:
    """The files and folders of one checkpoint. Threads may share an instance. The caller closes the instance."""

    def __init__(self, cluster: Cluster, name: CheckpointName) -> None:
        """Store the arguments. The first operation connects to a broker."""
        self.name = name
        self._cluster = cluster
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._logs: Logs | None = None
        self._opened: OrderedDict[str, File] = OrderedDict()

    def close(self) -> None:
        """Close the logs, if they are open."""
        with self._opening:
            logs, self._logs = self._logs, None
        if logs is not None:
            logs.close()

    # Ownership

    def take_over(self, owner: str, deadline: Deadline) -> Logs:
        """Make `owner` the owner of the checkpoint; create the checkpoint if it does not exist.

        After the takeover, changes of other owners have no effect.

        Raises:
            CheckpointLost: The first records of the index were removed, or the content log has chunks but the index
                does not exist.

        """
        logs = self.logs(deadline, create=True)
        while not logs.index.sync(deadline):
            if self._is_new(logs, deadline):
                # Close the producer of `logs` first, because the exclusive producer of `format_index` would fence it.
                self.close()
                with self._cluster.new_client() as client:
                    format_index(client, str(logs.index_partition), owner, CALL_SECONDS)
                logs = self.logs(deadline)
        if logs.index.owner != owner:
            logs.index.append(Kind.TAKEOVER, owner, deadline)
        # Opening a producer creates the keeper subscription, which must exist before the first chunk.
        logs.content_writer.open(deadline)
        return logs

    def logs(self, deadline: Deadline, *, create: bool = False) -> Logs:
        """Return the open logs. If no logs are open, or if the index has failed, open new logs.

        Raises:
            CheckpointPathNotFound: The checkpoint does not exist, and `create` is false.

        """
        doing = f"opening {self.name}"
        logs = self._logs
        if logs is not None and logs.index.failure is None:
            return logs
        if not self._opening.acquire(timeout=deadline.seconds_left(doing)):
            deadline.seconds_left(doing)
        try:
            if self._logs is not None and self._logs.index.failure is not None:
                failed, self._logs = self._logs, None
                failed.close()
            if self._logs is None:
                deadline.seconds_left(doing)
                self._logs = open_logs(self._cluster, self.name, deadline, create=create)
            return self._logs
        finally:
            self._opening.release()

    def current(self, deadline: Deadline) -> Logs:
        """Apply all records that the index topic contains at the time of the call, and return the logs.

        Raises:
            CheckpointPathNotFound: The checkpoint does not exist.

        """
        logs = self.logs(deadline)
        if not logs.index.sync(deadline) and self._is_new(logs, deadline):
            raise path_not_found(str(self.name))
        return logs

    def _is_new(self, logs: Logs, deadline: Deadline) -> bool:
        """Return True if the index never had a record, and False if its first record arrived during the call.

        Raises `CheckpointLost` if the index had records that were removed.
        """
        first_record = Deadline.after(_FORMAT_SECONDS)
        while not was_emptied(self._cluster, logs):
            if not logs.index.sync(deadline):
                return True
        # Another process may be about to write the first record, or the broker may still be loading the topic.
        while time.monotonic() < first_record.at or has_entries(self._cluster, logs.index_partition):
            deadline.seconds_left(f"reading {self.name}")
            if logs.index.sync(deadline):
                return False
            time.sleep(_FORMAT_PAUSE)
        raise index_emptied(self.name, logs)

    def logs_for_change(self, owner: str | None, deadline: Deadline) -> Logs:
        """Return the logs for a change by `owner`.

        Raises:
            CheckpointTakenOver: Another owner has taken the checkpoint over.
            PermissionDenied: The caller names no owner.

        """
        logs = self.logs(deadline)
        if owner is None or logs.index.owner != owner:
            logs = self.current(deadline)
        require_owner(str(self.name), owner, logs.index.owner)
        return logs

    # Reading

    def status(self, path: Path, deadline: Deadline) -> Status:
        """Return the status of a file or folder. Raises `CheckpointPathNotFound`."""
        logs = self.current(deadline)

        def look(state: IndexState) -> Status | None:
            node = state.tree.find(path)
            return None if node is None else _status(path[-1] if path else "", node)

        status = logs.index.look(look)
        if status is None:
            raise path_not_found(self._text(path))
        return status

    def list(self, path: Path, deadline: Deadline) -> list[Status]:
        """List a folder, sorted by name. Raises `CheckpointPathNotFound`, `CheckpointNotDirectory`."""
        logs = self.current(deadline)

        def look(state: IndexState) -> list[Status] | File | None:
            node = state.tree.find(path)
            if not isinstance(node, Folder):
                return node
            return [_status(name, child) for name, child in sorted(node.children.items())]

        listed = logs.index.look(look)
        if listed is None:
            raise path_not_found(self._text(path))
        if isinstance(listed, File):
            raise CheckpointNotDirectory(f"{self._text(path)}: expected a folder, got a file; pass a folder")
        return listed

    def open(self, path: Path, deadline: Deadline) -> tuple[File, bytes | None]:
        """Return a file and the bytes of a small file. For a file with chunks, return None instead of the bytes.

        Raises `CheckpointPathNotFound`, `CheckpointIsDirectory`, `CheckpointLost`.
        """
        logs = self.current(deadline)
        file = logs.index.look(lambda state: _copy(state.tree.find(path)))
        if file is None:
            raise path_not_found(self._text(path))
        if isinstance(file, Folder):
            raise CheckpointIsDirectory(f"{self._text(path)}: expected a file, got a folder; pass a file")
        self._remember(file)
        return file, None if file.chunks else logs.inline.read(file, self._text(path), deadline)

    def read(self, file_id: str, path: Path, offset: int, length: int, deadline: Deadline) -> bytes:
        """Read up to `length` bytes of an opened file, even if another file now has the same path.

        Raises:
            CheckpointPathNotFound: The file was deleted, and this process has dropped the file's chunk positions.
            CheckpointLost: Content that the file needs was removed or is damaged.

        """
        file = self._find_known(file_id, path, deadline)
        while True:
            logs = self.logs(deadline)
            if not file.chunks:
                return logs.inline.read(file, self._text(path), deadline)[offset : offset + length]
            try:
                return logs.content.read(file.chunks, offset, length, self._text(path), deadline)
            except (CheckpointLost, LedgerUnavailable):
                # The owner's upkeep may have copied the chunks to new positions and released the old ledgers. Reading
                # the index to its end finds the new positions.
                previous, file = file, self._find_present(file_id, path, deadline)
                if file.chunks == previous.chunks:
                    raise

    def _find_known(self, file_id: str, path: Path, deadline: Deadline) -> File:
        """Return the file from the applied records, or from the opened files in memory.

        If neither contains the file, read the index to its end.

        Raises `CheckpointPathNotFound`.
        """
        file = self.logs(deadline).index.look_at_replay(
            lambda replay: _copy(replay.state.tree.files.get(file_id)) if replay.state else None
        )
        if file is None:
            with self._lock:
                file = self._opened.get(file_id)
        return file if isinstance(file, File) else self._find_present(file_id, path, deadline)

    def _find_present(self, file_id: str, path: Path, deadline: Deadline) -> File:
        """Return the file after reading the index to its end. Raises `CheckpointPathNotFound`."""
        file = self.current(deadline).index.look(lambda state: _copy(state.tree.files.get(file_id)))
        if not isinstance(file, File):
            raise file_gone(self._text(path), file_id)
        return file

    def hold(self, file_id: str) -> None:
        """Store a file's chunk positions in memory, so that `read` can read the file after its deletion.

        The file stays readable while its chunks exist.
        """
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
        """Create a folder and its missing parent folders. If the folder exists, the caller needs no owner.

        Raises `CheckpointPathExists`, `CheckpointNotDirectory`.
        """
        logs = self.current(deadline)
        if logs.index.look(lambda state: isinstance(state.tree.find(path), Folder)):
            return
        self._change(Kind.MKDIR, path, owner, deadline, {})

    def delete(self, path: Path, owner: str | None, deadline: Deadline, *, recursive: bool) -> bool:
        """Delete a file or folder, and return whether the path existed. Raises `CheckpointNotEmpty`."""
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
        """Rename a file or folder.

        Raises:
            CheckpointPathNotFound: The source does not exist.
            CheckpointPathExists: The target exists, and `overwrite` is false or the target cannot be replaced.
            CheckpointError: The target is below the source, or one of the two paths is the root folder.

        """
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
        logs = self.logs_for_change(owner, deadline)
        outcome = logs.index.append(kind, owner or "", deadline, {"path": path_text(path), **details})
        at_target = named is not None and outcome in {Outcome.EXISTS, Outcome.NOT_DIRECTORY}
        self._settle(logs, named if named is not None and at_target else path, outcome, owner)

    def upload(self, path: Path, owner: str | None, deadline: Deadline, *, if_absent: bool) -> Upload:
        """Begin the upload of a file; `finish` completes the upload.

        If the present state makes an error of `finish` certain, this call raises the error.
        """
        logs = self.logs_for_change(owner, deadline)
        refused = logs.index.look(lambda state: _put_refused(state, path, if_absent=if_absent))
        if refused is not Outcome.DONE:
            logs = self.current(deadline)
            # Another owner may have taken over, and may have written the file at the path.
            require_owner(str(self.name), owner, logs.index.owner)
            refused = logs.index.look(lambda state: _put_refused(state, path, if_absent=if_absent))
            self._settle(logs, path, refused, owner)
        return Upload(logs.index, logs.content_writer, path, owner or "", if_absent=if_absent)

    def finish(self, upload: Upload, owner: str | None, deadline: Deadline) -> None:
        """Store the file of an upload.

        Raises `CheckpointPathExists`, `CheckpointIsDirectory`, `CheckpointNotDirectory`, `CheckpointTakenOver`.
        """
        logs = self.logs_for_change(owner, deadline)
        outcome = upload.commit(deadline)
        if outcome is Outcome.STALE:
            fetched = logs.chunk_locations.fetch(upload.chunks, self._text(upload.path))
            with contextlib.suppress(CheckpointLost):
                outcome = upload.commit_again(logs.content_writer, (data for _, data in fetched), deadline)
        self._settle(logs, upload.path, outcome, owner)

    def put(
        self, path: Path, data: bytes, owner: str | None, deadline: Deadline, *, if_absent: bool = False
    ) -> None:
        """Write a whole file. Raises the errors of `finish`."""
        upload = self.upload(path, owner, deadline, if_absent=if_absent)
        upload.write(data, deadline)
        self.finish(upload, owner, deadline)

    def _settle(self, logs: Logs, path: Path, outcome: Outcome, owner: str | None) -> None:
        if outcome is Outcome.TAKEN_OVER:
            require_owner(str(self.name), owner, logs.index.owner)
            raise CheckpointTakenOver(
                f"{self._text(path)}: another application had taken the checkpoint over when this change was written, "
                f"so the change does not count; stop one of the two queries, or use a separate checkpoint for each"
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
    """Copy a file, because a later MOVE changes the chunks of the original."""
    if not isinstance(node, File):
        return node
    return File(node.id, node.length, node.modified_ms, node.chunks, node.inline_at)


def _put_refused(state: IndexState, path: Path, *, if_absent: bool) -> Outcome:
    """Return the outcome that a PUT would have in this state, without changing the state."""
    node = state.tree.find(path)
    if isinstance(node, Folder):
        return Outcome.EXISTS if if_absent and path else Outcome.IS_DIRECTORY
    if isinstance(node, File):
        return Outcome.EXISTS if if_absent else Outcome.DONE
    above = (state.tree.find(path[:depth]) for depth in range(len(path)))
    return Outcome.NOT_DIRECTORY if any(isinstance(node, File) for node in above) else Outcome.DONE
