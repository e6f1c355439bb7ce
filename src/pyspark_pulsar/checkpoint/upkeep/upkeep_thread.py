"""The thread that runs the upkeep of one checkpoint while the owner is in this process."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.clients import Cluster
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.records import Kind
from pyspark_pulsar.checkpoint.index.replay import Replay
from pyspark_pulsar.checkpoint.index.state import IndexState
from pyspark_pulsar.checkpoint.index.tree import Outcome
from pyspark_pulsar.checkpoint.logs import Logs
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, position_text
from pyspark_pulsar.checkpoint.upkeep.cleaner import OldFile, files_before, files_in, move, overdue_ledgers
from pyspark_pulsar.checkpoint.upkeep.keepers import end_of, move_keeper
from pyspark_pulsar.checkpoint.upkeep.snapshots import is_due, write_snapshot
from pyspark_pulsar.errors import CheckpointLost, PulsarError
from pyspark_pulsar.runtime import threading, time

GRACE_SECONDS: Final = 60.0
"""The floor stays at or before the position that was the log end this many seconds ago.

The delay protects the chunks of uploads, because no record names these chunks yet.
"""

_log: Final = logging.getLogger(__name__)

_EVERY_SECONDS: Final = 5.0
_CONTENT_SECONDS: Final = 30.0
_KEEPER_SECONDS: Final = 60.0
"""The seconds between two checks whether a policy or a command has moved a keeper subscription."""
_PASS_SECONDS: Final = 600.0
_UPLOAD_SECONDS: Final = 3_600.0
_SAMPLES: Final = 128


@dataclass(frozen=True, slots=True)
class UpkeepPass:
    """The result of one pass of upkeep.

    Attributes:
        anchor: The anchor of the snapshot that the pass wrote; None if the pass wrote no snapshot.
        moved: The number of files whose old chunks the pass wrote again.
        floor: The first position of the content log that may be needed; None if no floor was set.

    """

    anchor: MessagePosition | None
    moved: int
    floor: MessagePosition | None


class Upkeep:
    """The upkeep of one checkpoint for one owner. The caller stops the upkeep with `stop`."""

    def __init__(self, cluster: Cluster, checkpoint: Checkpoint, owner: str) -> None:
        self.owner = owner
        self._cluster = cluster
        self._checkpoint = checkpoint
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._ends: deque[tuple[float, MessagePosition]] = deque(maxlen=_SAMPLES)
        self._keeper_check_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"upkeep {checkpoint.name}", daemon=True)
        self._thread.start()

    @property
    def is_stopped(self) -> bool:
        """Return whether `stop` was called, or another owner has taken over."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Stop the upkeep without waiting for its thread."""
        self._stopped.set()

    def run_once(
        self, *, snapshot: bool = False, content: bool = True, grace_seconds: float = GRACE_SECONDS
    ) -> UpkeepPass:
        """Run one pass now. A caller can repeat a failed pass.

        Args:
            snapshot: Write a snapshot even if none is due.
            content: Also release unneeded chunks of the content log.
            grace_seconds: The floor stays at or before the position that was the log end this many seconds ago.

        Raises:
            PulsarError: A step failed.

        """
        with self._lock:
            deadline = Deadline.after(_PASS_SECONDS)
            logs = self._checkpoint.logs_for_change(self.owner, deadline)
            moved = 0
            if snapshot or time.monotonic() >= self._keeper_check_at:
                snapshot, moved = self._heal(logs, deadline, snapshot=snapshot)
                self._keeper_check_at = time.monotonic() + _KEEPER_SECONDS
            anchor = None
            if snapshot or logs.index.look_at_replay(is_due):
                anchor = write_snapshot(self._checkpoint, logs, self.owner, deadline)
                move_keeper(self._cluster, logs.index_partition, anchor)
            if content:
                moved += self._clean(logs, deadline)
                self._raise_floor(logs, deadline, grace_seconds)
            return UpkeepPass(anchor, moved, logs.index.look(lambda state: state.floor))

    def _run(self) -> None:
        content_at = 0.0
        while not self._stopped.wait(_EVERY_SECONDS):
            try:
                logs = self._checkpoint.logs(Deadline.after(_PASS_SECONDS))
                if logs.index.owner != self.owner:
                    self._stopped.set()
                    return
                self.run_once(content=time.monotonic() >= content_at)
                if time.monotonic() >= content_at:
                    content_at = time.monotonic() + _CONTENT_SECONDS
            except PulsarError as fault:
                if self._stopped.is_set():
                    return
                _log.warning("Upkeep failed (%s), trying again: %s", fault, self._checkpoint.name)
                self._stopped.wait(_EVERY_SECONDS * 5)
            except Exception:  # noqa: BLE001 -- a failed pass must not end the thread
                _log.exception("Upkeep failed, trying again: %s", self._checkpoint.name)
                self._stopped.wait(_EVERY_SECONDS * 30)

    def _heal(self, logs: Logs, deadline: Deadline, *, snapshot: bool) -> tuple[bool, int]:
        """Write needed data again if a policy or a command has moved a keeper subscription.

        Returns:
            A tuple: True if the caller must write a snapshot, and the number of files whose chunks were written again.

        """

        def begins(replay: Replay) -> MessagePosition | None:
            return replay.anchor or replay.first

        bound = logs.index.look_at_replay(begins)
        position = move_keeper(self._cluster, logs.index_partition, None)
        if position is not None and bound is not None and position > bound:
            self._warn_moved(logs.index_partition, position, bound)
            snapshot = True
        needed = logs.index.look(IndexState.first_needed)
        position = move_keeper(self._cluster, logs.content_partition, None)
        moved = 0
        if position is not None and needed is not None and position > needed:
            self._warn_moved(logs.content_partition, position, needed)
            at = position
            moved = self._move(logs, logs.index.look(lambda state: files_before(state, at)), deadline)
        return snapshot, moved

    def _warn_moved(self, topic: object, position: MessagePosition, needed: MessagePosition) -> None:
        _log.warning(
            "Writing data of a checkpoint again, because a message TTL, an eviction or a command moved the keeper "
            "subscription; expected position %s or earlier, got %s, topic %s",
            position_text(needed),
            position_text(position),
            topic,
        )

    def _clean(self, logs: Logs, deadline: Deadline) -> int:
        return self._move(
            logs, logs.index.look(lambda state: files_in(state, overdue_ledgers(state))), deadline
        )

    def _move(self, logs: Logs, old_files: Iterable[OldFile], deadline: Deadline) -> int:
        """Write the old chunks again, and return the number of MOVE records that took effect.

        If a chunk of a file is lost, log the error, and continue with the next file. Each pass logs this error again.
        """
        moved = 0
        for old in old_files:
            if self._stopped.is_set():
                break
            try:
                moved += move(self._checkpoint, logs, self.owner, old, deadline)
            except CheckpointLost as lost:
                _log.error("%s", lost)
        return moved

    def _raise_floor(self, logs: Logs, deadline: Deadline, grace_seconds: float) -> None:
        """Raise the floor if the new floor is in a later ledger. The broker removes only whole ledgers."""
        self._end_uploads(logs, deadline)
        now = time.monotonic()
        end = end_of(self._cluster, logs.content_partition)
        if end is None:
            return
        self._ends.append((now, end))
        safe = max((position for at, position in self._ends if now - at >= grace_seconds), default=None)
        if safe is None:
            return
        needed = logs.index.look(IndexState.first_needed)
        floor = safe if needed is None else min(safe, needed)
        previous = logs.index.look(lambda state: state.floor)
        if previous is not None and floor[0] <= previous[0]:
            return
        outcome = logs.index.append(Kind.FLOOR, self.owner, deadline, {"at": position_text(floor)})
        if outcome is Outcome.DONE:
            move_keeper(self._cluster, logs.content_partition, floor)

    def _end_uploads(self, logs: Logs, deadline: Deadline) -> None:
        """End the uploads that began more than `_UPLOAD_SECONDS` ago, because their processes may have died."""
        before = time.time() * 1000 - _UPLOAD_SECONDS * 1000
        for file_id, (_, began) in logs.index.look(lambda state: dict(state.uploads)).items():
            if began < before:
                details = {"file": file_id, "at": None}
                logs.index.append(Kind.UPLOAD, self.owner, deadline, details)
