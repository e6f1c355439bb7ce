"""The thread that looks after one checkpoint while its owner runs in this process."""

from __future__ import annotations

import logging
import threading
import time
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

GRACE_SECONDS: Final = 60.0
"""So far behind the end of the content log the floor stays, for uploads that no record names yet."""

_log: Final = logging.getLogger(__name__)

_EVERY_SECONDS: Final = 5.0
_CONTENT_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 60.0
"""So often the keepers are looked at, whether somebody has moved them."""
_PASS_SECONDS: Final = 600.0
_UPLOAD_SECONDS: Final = 3_600.0
_SAMPLES: Final = 128


@dataclass(frozen=True, slots=True)
class UpkeepPass:
    """The outcome of one pass of upkeep."""

    anchor: MessagePosition | None
    """Of the snapshot that it wrote."""
    moved: int
    """Files of which chunks were written again."""
    floor: MessagePosition | None
    """The first position of the content log that may be needed."""


class Upkeep:
    """Of one checkpoint and one owner. `stop` it."""

    def __init__(self, cluster: Cluster, checkpoint: Checkpoint, owner: str) -> None:
        self.owner = owner
        self._cluster = cluster
        self._checkpoint = checkpoint
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._ends: deque[tuple[float, MessagePosition]] = deque(maxlen=_SAMPLES)
        self._look_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"upkeep {checkpoint.name}", daemon=True)
        self._thread.start()

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        """Does not wait."""
        self._stopped.set()

    def run_once(
        self, *, snapshot: bool = False, content: bool = True, grace_seconds: float = GRACE_SECONDS
    ) -> UpkeepPass:
        """Run one pass now. Each step may be repeated.

        Args:
            snapshot: Write a snapshot even if none is due.
            content: Clean the content log too.
            grace_seconds: Age from which on chunks that no record names may be removed.

        Raises:
            PulsarError: A step failed.

        """
        with self._lock:
            deadline = Deadline.after(_PASS_SECONDS)
            logs = self._checkpoint.mine(self.owner, deadline)
            moved = 0
            if snapshot or time.monotonic() >= self._look_at:
                snapshot, moved = self._heal(logs, deadline, snapshot=snapshot)
                self._look_at = time.monotonic() + _LOOK_SECONDS
            anchor = None
            if snapshot or logs.index.look_at_replay(is_due):
                anchor = write_snapshot(self._checkpoint, logs, self.owner, deadline)
                move_keeper(self._cluster, logs.index_partition, anchor)
            if content:
                moved += self._clean(logs, deadline)
                self._raise_floor(logs, deadline, grace_seconds)
            return UpkeepPass(anchor, moved, logs.index.look(lambda state: state.floor))

    def _run(self) -> None:
        look_at = 0.0
        while not self._stopped.wait(_EVERY_SECONDS):
            try:
                logs = self._checkpoint.logs(Deadline.after(_PASS_SECONDS))
                if logs.index.owner != self.owner:
                    self._stopped.set()
                    return
                self.run_once(content=time.monotonic() >= look_at)
                if time.monotonic() >= look_at:
                    look_at = time.monotonic() + _CONTENT_SECONDS
            except PulsarError as fault:
                if self._stopped.is_set():
                    return
                _log.warning("%s: not tidied, which is tried again: %s", self._checkpoint.name, fault)
                self._stopped.wait(_EVERY_SECONDS * 5)
            except Exception:  # noqa: BLE001 -- a pass that fails must not end the thread
                _log.exception("%s: not tidied, which is tried again", self._checkpoint.name)
                self._stopped.wait(_EVERY_SECONDS * 30)

    def _heal(self, logs: Logs, deadline: Deadline, *, snapshot: bool) -> tuple[bool, int]:
        """See whether somebody has moved a keeper; whether a snapshot is needed now, and how many files were written
        again."""

        def begins(replay: Replay) -> MessagePosition | None:
            return replay.anchor or replay.first

        bound = logs.index.look_at_replay(begins)
        stood = move_keeper(self._cluster, logs.index_partition, None)
        if stood is not None and bound is not None and stood > bound:
            self._warn_moved(logs.index_partition, stood, bound)
            snapshot = True
        needed = logs.index.look(IndexState.first_needed)
        stood = move_keeper(self._cluster, logs.content_partition, None)
        moved = 0
        if stood is not None and needed is not None and stood > needed:
            self._warn_moved(logs.content_partition, stood, needed)
            at = stood
            moved = self._move(logs, logs.index.look(lambda state: files_before(state, at)), deadline)
        return snapshot, moved

    def _warn_moved(self, topic: object, stood: MessagePosition, needed: MessagePosition) -> None:
        _log.warning(
            "%s: expected its keeper at %s or before, got it at %s: somebody or something moved it (a message TTL, "
            "an eviction, a command); what the broker has not removed yet is written again",
            topic,
            position_text(needed),
            position_text(stood),
        )

    def _clean(self, logs: Logs, deadline: Deadline) -> int:
        return self._move(
            logs, logs.index.look(lambda state: files_in(state, overdue_ledgers(state))), deadline
        )

    def _move(self, logs: Logs, old_files: Iterable[OldFile], deadline: Deadline) -> int:
        """How many files counted. One that is lost keeps no other, and is told again in each pass."""
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
        """By whole ledgers, since only those are given back."""
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
        former = logs.index.look(lambda state: state.floor)
        if former is not None and floor[0] <= former[0]:
            return
        outcome = logs.index.append(Kind.FLOOR, self.owner, deadline, {"at": position_text(floor)})
        if outcome is Outcome.DONE:
            move_keeper(self._cluster, logs.content_partition, floor)

    def _end_uploads(self, logs: Logs, deadline: Deadline) -> None:
        """Those whose process has died."""
        before = time.time() * 1000 - _UPLOAD_SECONDS * 1000
        for file_id, (_, began) in logs.index.look(lambda state: dict(state.uploads)).items():
            if began < before:
                details = {"file": file_id, "at": None}
                logs.index.append(Kind.UPLOAD, self.owner, deadline, details)
