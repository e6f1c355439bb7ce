"""The checkpoints that a process uses, and the uploads that it has begun."""

from __future__ import annotations

import itertools
import secrets
import threading
from typing import Final, Self

from pyspark_pulsar.checkpoint.address import CheckpointName
from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.clients import Cluster, ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.upkeep.policies import check_policies
from pyspark_pulsar.checkpoint.upkeep.upkeep_thread import GRACE_SECONDS, Upkeep, UpkeepPass
from pyspark_pulsar.checkpoint.upload import Upload
from pyspark_pulsar.errors import CheckpointError

_NUMBER_BITS: Final = 48


class Store:
    """Safe to use from several threads. Close it, or use it as a context manager."""

    def __init__(self, settings: ClusterSettings) -> None:
        """Connects lazily. Raises `OptionError`."""
        self.cluster = Cluster(settings)
        self._lock = threading.Lock()
        self._checkpoints: dict[CheckpointName, Checkpoint] = {}
        self._upkeeps: dict[CheckpointName, Upkeep] = {}
        self._uploads: dict[int, tuple[Checkpoint, str | None, Upload]] = {}
        # A process that is started again must not know a number of the former one as another upload.
        self._numbers = itertools.count(secrets.randbits(_NUMBER_BITS))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            checkpoints = list(self._checkpoints.values())
            self._checkpoints.clear()
            upkeeps = list(self._upkeeps.values())
        for upkeep in upkeeps:
            upkeep.stop()
        for checkpoint in checkpoints:
            checkpoint.close()
        self.cluster.close()

    def checkpoint(self, name: CheckpointName) -> Checkpoint:
        with self._lock:
            known = self._checkpoints.get(name)
            if known is None:
                known = self._checkpoints[name] = Checkpoint(self.cluster, name)
            return known

    # Owners

    def take_over(self, checkpoint: Checkpoint, owner: str, deadline: Deadline) -> None:
        """And look after it from now on. Raises what `Checkpoint.take_over` raises, `CheckpointUnsafe`."""
        if not self.is_looked_after(checkpoint, owner):
            check_policies(self.cluster.options, [checkpoint.name.index, checkpoint.name.content])
        checkpoint.take_over(owner, deadline)
        self._upkeep(checkpoint, owner)

    def look_after(self, checkpoint: Checkpoint, owner: str, deadline: Deadline) -> None:
        """Go on with what a former process of the same JVM did. Nothing if somebody else has taken it over. Raises what
        `Checkpoint.current` raises."""
        if checkpoint.current(deadline).index.owner == owner:
            self._upkeep(checkpoint, owner)

    def is_looked_after(self, checkpoint: Checkpoint, owner: str) -> bool:
        """Whether this process gives back the space of the checkpoint, for this owner."""
        with self._lock:
            known = self._upkeeps.get(checkpoint.name)
        return known is not None and known.owner == owner and not known.is_stopped

    def maintain(
        self, checkpoint: Checkpoint, owner: str, *, snapshot: bool, grace_seconds: float | None
    ) -> UpkeepPass:
        """Run one pass of upkeep now. Raises what `Upkeep.run_once` raises."""
        seconds = GRACE_SECONDS if grace_seconds is None else grace_seconds
        return self._upkeep(checkpoint, owner).run_once(snapshot=snapshot, grace_seconds=seconds)

    def _upkeep(self, checkpoint: Checkpoint, owner: str) -> Upkeep:
        with self._lock:
            known = self._upkeeps.get(checkpoint.name)
            if known is None or known.owner != owner or known.is_stopped:
                if known is not None:
                    known.stop()
                known = self._upkeeps[checkpoint.name] = Upkeep(self.cluster, checkpoint, owner)
            return known

    # Uploads in pieces

    def begin(self, checkpoint: Checkpoint, owner: str | None, upload: Upload) -> int:
        number = next(self._numbers)
        with self._lock:
            self._uploads[number] = checkpoint, owner, upload
        return number

    def begun(self, number: int) -> tuple[Checkpoint, str | None, Upload]:
        """Raises `CheckpointError` for one that is over."""
        with self._lock:
            known = self._uploads.get(number)
        if known is None:
            raise CheckpointError(f"upload {number}: expected one that was begun in this process, got none")
        return known

    def end(self, number: int) -> tuple[Checkpoint, str | None, Upload] | None:
        """No more of it comes."""
        with self._lock:
            return self._uploads.pop(number, None)
