"""A streaming query whose checkpoint is in Pulsar, run by simulated applications.

Each application is a process with a store of its own. It takes the checkpoint over, and then writes files as Spark
does: for each epoch, the offsets, a file of the state, and the commit. It deletes the files of old epochs. Beside it,
other processes read all files. When an application dies, another one starts. An application that only seems dead
continues, and must then be refused.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.checkpoint import upload
from pyspark_pulsar.checkpoint.address import CheckpointName
from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.clients import ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.store import Store
from pyspark_pulsar.checkpoint.upkeep import snapshots
from pyspark_pulsar.errors import (
    CheckpointLost,
    CheckpointPathExists,
    CheckpointPathNotFound,
    CheckpointTakenOver,
    PulsarError,
)
from pyspark_pulsar.model.topic import Namespace
from simulation import runtime
from simulation.case import Case, Run
from simulation.faults import draw_faults
from simulation.world import Process

NAME: Final = CheckpointName(Namespace("public", "default"), "query")
SETTINGS: Final = ClusterSettings.parse(
    {"service.url": "pulsar://broker-0:6650", "pulsar.client.operationTimeoutMs": "10000"}
)
# Small files and few records lead to chunks and snapshots within a short run.
upload.INLINE_BYTES, upload.CHUNK_BYTES = 48, 64  # type: ignore[misc]
snapshots.LEAST_RECORDS = 12  # type: ignore[misc]
_REQUESTS_OF_START, _REQUESTS_OF_EPOCH = 40, 30
"""Approximate numbers of requests without faults."""
_KEPT_EPOCHS: Final = 2
_CALL_SECONDS: Final = 100.0
_MISSED_SECONDS: Final = 10.0
_PAUSES: Final = (0.1, 6.0, 40.0, 100.0)

Path = tuple[str, ...]


@dataclass(frozen=True)
class Size:
    """The size of a run."""

    epochs: int = 3
    entries_of_ledger: int = 8
    readers: int = 2


@dataclass
class Change:
    """A change of a file that an application has begun."""

    owner: str
    path: Path
    content: bytes | None
    """The new content; None if the file is deleted."""
    began: float
    ended: float | None = None
    """The time at which the application got the answer that the change is done."""


def random_case(seed: int) -> Case:
    """Return the case of a seed: a short or a long query, with up to six faults."""
    rng = random.Random(seed)
    size = Size(rng.choice((1, 2, 4, 6)), rng.choice((4, 8, 20)), rng.choice((0, 1, 3)))
    requests = _REQUESTS_OF_START + size.epochs * _REQUESTS_OF_EPOCH
    return Case(seed, size, tuple(draw_faults(rng, rng.choice((1, 2, 2, 3, 4, 6)), requests)))


class CheckpointRun(Run):
    """A run of the query."""

    def __init__(self, case: Case, *, keeps_history: bool = False) -> None:
        super().__init__(case, keeps_history=keeps_history)
        self.size: Size = case.size
        self.cluster.entries_of_ledger = self.size.entries_of_ledger
        self.changes: list[Change] = []
        self.takeovers: dict[str, tuple[float, float]] = {}
        """The begin and end of each owner's takeover."""
        self.applications = 0
        self.is_over = False
        self.broken: list[str] = []
        self.trouble.on_suspended = self._suspended

    # Applications

    def start_application(self) -> None:
        if self.is_over:
            return
        self.applications += 1
        process = self.process(f"application-{self.applications}")
        process.on_death.append(self._restart)
        began = self.world.now

        def application() -> None:
            try:
                self._run_query(process.name)
            except CheckpointTakenOver as fault:
                self.world.say(process.name, f"is refused: {fault}")
                process.on_death.remove(self._restart)
            except PulsarError as fault:
                self._failed(process, fault, began)
            self.world.kill(process)

        self.world.start(process, process.name, application)

    def _failed(self, process: Process, fault: PulsarError, began: float) -> None:
        self.world.say(process.name, f"fails: {type(fault).__name__}: {fault}")
        if isinstance(fault, CheckpointLost):
            self._record_loss(process.name, fault, began)
            self.is_over = True

    def _record_loss(self, who: str, fault: CheckpointLost, began: float) -> None:
        """Record a reported loss, if a change had succeeded before `began`.

        While a process creates the checkpoint, or after it has died, the index looks emptied to other processes.
        """
        if any(change.ended is not None and change.ended < began for change in self.changes):
            self.broken.append(f"{who} reports a loss: {fault}")

    def _restart(self) -> None:
        if not self.is_over:
            pause = 1.0 + self.world.choices.below(3) * 20
            self.world.at(self.world.now + pause, self.start_application)

    def _suspended(self, process: Process, seconds: float) -> None:
        """Start another application while one is suspended, as a cluster manager does that believes it is dead."""
        if process.name.startswith("application") and seconds > _MISSED_SECONDS:
            self.world.at(self.world.now + _MISSED_SECONDS, self.start_application)

    def _run_query(self, owner: str) -> None:
        with Store(SETTINGS) as store:
            checkpoint = store.checkpoint(NAME)
            began = self.world.now
            store.take_over(checkpoint, owner, Deadline.after(_CALL_SECONDS))
            self.takeovers[owner] = (began, self.world.now)
            self.world.say(owner, "has taken over")
            commits = [int(name) for name in names(checkpoint, "commits")]
            for epoch in range(max(commits, default=-1) + 1, self.size.epochs):
                self._run_epoch(checkpoint, owner, epoch)
            self.is_over = True

    def _run_epoch(self, checkpoint: Checkpoint, owner: str, epoch: int) -> None:
        choices = self.world.choices
        if choices.below(4) == 3:
            self._start_rival(checkpoint, owner, ("offsets", str(epoch)))
        self._put(checkpoint, owner, ("offsets", str(epoch)), b"offsets")
        state = ("state", f"{epoch}.{owner}")
        self._put(checkpoint, owner, state, b"state " * (10, 11, 40)[choices.below(3)])
        if choices.below(2):
            renamed = ("state", f"{epoch}.{owner}.delta")
            change = self._begin(owner, renamed, self._content_of(state))
            old = self._begin(owner, state, None)
            checkpoint.rename(state, renamed, owner, self._deadline(), overwrite=False)
            change.ended = old.ended = self.world.now
        self._put(checkpoint, owner, ("commits", str(epoch)), b"commit")
        self.world.say(owner, f"has committed epoch {epoch}")
        for folder in ("offsets", "state"):
            for name in names(checkpoint, folder):
                if int(name.partition(".")[0]) <= epoch - _KEPT_EPOCHS:
                    self._delete(checkpoint, owner, (folder, name))
        runtime.time.sleep(_PAUSES[choices.below(len(_PAUSES))])
        self._read_all(checkpoint, owner)

    def _start_rival(self, checkpoint: Checkpoint, owner: str, path: Path) -> None:
        """Start a thread of the application that writes the same file at the same time."""

        def body() -> None:
            try:
                self._put(checkpoint, owner, path, b"rival")
            except PulsarError as fault:
                self.world.say(owner, f"a rival fails: {fault}")

        runtime.threading.Thread(target=body, name="rival").start()

    def _put(self, checkpoint: Checkpoint, owner: str, path: Path, text: bytes) -> None:
        """Write a file that must not exist. An earlier attempt or another owner may have written it."""
        content = text + owner.encode()
        change = self._begin(owner, path, content)
        try:
            checkpoint.put(path, content, owner, self._deadline(), if_absent=True)
        except CheckpointPathExists:
            found = read(checkpoint, path)
            self.world.say(owner, f"finds {'/'.join(path)}")
            if found != content:
                self.changes.remove(change)
                self._require_known(path, found, owner)
                return
        change.ended = self.world.now

    def _delete(self, checkpoint: Checkpoint, owner: str, path: Path) -> None:
        change = self._begin(owner, path, None)
        # Deleting a missing file changes nothing, so previous owners are not refused.
        if checkpoint.delete(path, owner, self._deadline(), recursive=False):
            change.ended = self.world.now

    def _begin(self, owner: str, path: Path, content: bytes | None) -> Change:
        change = Change(owner, path, content, self.world.now)
        self.changes.append(change)
        return change

    def _content_of(self, path: Path) -> bytes | None:
        return next(
            (change.content for change in self.changes if change.path == path and change.content), None
        )

    def _deadline(self) -> Deadline:
        return Deadline.after(_CALL_SECONDS)

    # Readers

    def start_reader(self) -> None:
        """Start a process that owns nothing and reads all files, once in a while."""
        process = self.process("reader")

        def body() -> None:
            with Store(SETTINGS) as store:
                checkpoint = store.checkpoint(NAME)
                while not self.is_over:
                    runtime.time.sleep(_PAUSES[self.world.choices.below(len(_PAUSES))])
                    began = self.world.now
                    try:
                        self._read_all(checkpoint, "reader")
                    except CheckpointLost as fault:
                        self._record_loss("a reader", fault, began)
                    except PulsarError as fault:
                        self.world.say("reader", f"fails: {fault}")

        self.world.start(process, "reader", body)

    def _read_all(self, checkpoint: Checkpoint, who: str) -> dict[Path, bytes]:
        """Read all files. Record lost files, and contents that no process has written."""
        began, found = self.world.now, {}
        for folder in ("offsets", "state", "commits"):
            for name in names(checkpoint, folder):
                path = (folder, name)
                try:
                    found[path] = read(checkpoint, path)
                except CheckpointPathNotFound:
                    continue
                self._require_known(path, found[path], who)
        for path in {change.path for change in self.changes if change.ended and change.ended < began}:
            if path not in found and not any(
                change.path == path and change.content is None for change in self.changes
            ):
                self.broken.append(f"{who} does not find {'/'.join(path)}")
        return found

    def _require_known(self, path: Path, content: bytes, who: str) -> None:
        if content not in [change.content for change in self.changes if change.path == path]:
            self.broken.append(
                f"{who} reads {'/'.join(path)} with a content that no process has written: {content!r}"
            )

    # The run

    def execute(self) -> list[str]:
        self.start_application()
        for _ in range(self.size.readers):
            self.start_reader()
        self.run_until(lambda: self.is_over)
        self.end_troubles()
        if any(change.ended is not None for change in self.changes):
            self.run_process("last reader", self._check_last)
        return [*self.broken, *self._check_changes()]

    def _check_last(self) -> None:
        try:
            with Store(SETTINGS) as store:
                found = self._read_all(store.checkpoint(NAME), "the last reader")
        except PulsarError as fault:
            self.broken.append(f"the last reader fails: {fault}")
            return
        for change in self.changes:
            if change.content is None and change.ended is not None and change.path in found:
                self.broken.append(f"{'/'.join(change.path)} exists after it was deleted")

    def _check_changes(self) -> list[str]:
        """Check that only one writer won each path, and that no change of a previous owner succeeded."""
        broken = []
        done = [change for change in self.changes if change.ended is not None]
        for path in sorted({change.path for change in done}):
            contents = {
                change.content for change in done if change.path == path and change.content is not None
            }
            if len(contents) > 1:
                broken.append(f"{'/'.join(path)}: {len(contents)} writers report that they wrote it")
        for change in done:
            own = self.takeovers[change.owner]
            later = [other for other in self.takeovers.values() if other[0] > own[1]]
            if any(change.began > end for _, end in later):
                broken.append(f"{change.owner} changed {'/'.join(change.path)} after another owner took over")
        return broken


def names(checkpoint: Checkpoint, folder: str) -> list[str]:
    """Return the names in a folder, which may be missing."""
    try:
        return [status.name for status in checkpoint.list((folder,), Deadline.after(_CALL_SECONDS))]
    except CheckpointPathNotFound:
        return []


def read(checkpoint: Checkpoint, path: Path) -> bytes:
    """Return the content of a file."""
    file, body = checkpoint.open(path, Deadline.after(_CALL_SECONDS))
    if body is not None:
        return body
    return checkpoint.read(file.id, path, 0, file.length, Deadline.after(_CALL_SECONDS))
