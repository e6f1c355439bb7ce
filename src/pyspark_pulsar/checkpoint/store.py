"""The checkpoints and the unfinished uploads of one process."""

from __future__ import annotations

import itertools
from typing import Final, Self

from pyspark_pulsar.checkpoint.address import CheckpointName
from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.clients import Cluster, ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.upkeep.policies import check_policies
from pyspark_pulsar.checkpoint.upkeep.upkeep_thread import GRACE_SECONDS, Upkeep, UpkeepPass
from pyspark_pulsar.checkpoint.upload import Upload
from pyspark_pulsar.errors import CheckpointError
from pyspark_pulsar.runtime import secrets, threading

_NUMBER_BITS: Final = 48


class Store:
    """The checkpoints and uploads of one process. Threads may share a store.

    The caller closes the store, or uses the store as a context manager.
    """

    def __init__(self, settings: ClusterSettings) -> None:
        """Check the settings; the first use opens the connections. Raises `OptionError`."""
        self.cluster = Cluster(settings)
        self._lock = threading.Lock()
        self._checkpoints: dict[CheckpointName, Checkpoint] = {}
        self._upkeeps: dict[CheckpointName, Upkeep] = {}
        self._uploads: dict[int, tuple[Checkpoint, str | None, Upload]] = {}
        # The first number is random, so that a restarted process rejects the upload numbers of the previous process.
        self._numbers = itertools.count(secrets.randbits(_NUMBER_BITS))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all upkeep, and close all checkpoints and clients."""
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
        """Return the checkpoint of this name, as an instance that all callers share."""
        with self._lock:
            known = self._checkpoints.get(name)
            if known is None:
                known = self._checkpoints[name] = Checkpoint(self.cluster, name)
            return known

    # Owners

    def take_over(self, checkpoint: Checkpoint, owner: str, deadline: Deadline) -> None:
        """Make `owner` the owner of the checkpoint, and start the checkpoint's upkeep.

        Raises:
            CheckpointUnsafe: A policy of the topics would remove data that the checkpoint needs.
            PulsarError: See `Checkpoint.take_over`.

        """
        if not self.is_looked_after(checkpoint, owner):
            check_policies(self.cluster.options, [checkpoint.name.index, checkpoint.name.content])
        checkpoint.take_over(owner, deadline)
        self._upkeep(checkpoint, owner)

    def look_after(self, checkpoint: Checkpoint, owner: str, deadline: Deadline) -> None:
        """Resume the upkeep that an earlier process of the same JVM ran, if `owner` still owns the checkpoint.

        Raises the errors of `Checkpoint.current`.
        """
        if checkpoint.current(deadline).index.owner == owner:
            self._upkeep(checkpoint, owner)

    def is_looked_after(self, checkpoint: Checkpoint, owner: str) -> bool:
        """Return whether this process runs the checkpoint's upkeep for this owner."""
        with self._lock:
            known = self._upkeeps.get(checkpoint.name)
        return known is not None and known.owner == owner and not known.is_stopped

    def maintain(
        self, checkpoint: Checkpoint, owner: str, *, snapshot: bool, grace_seconds: float | None
    ) -> UpkeepPass:
        """Run one pass of upkeep now. Raises the errors of `Upkeep.run_once`."""
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
        """Store an upload, and return the number by which later calls find the upload."""
        number = next(self._numbers)
        with self._lock:
            self._uploads[number] = checkpoint, owner, upload
        return number

    def find_upload(self, number: int) -> tuple[Checkpoint, str | None, Upload]:
        """Return an unfinished upload with its checkpoint and owner.

        Raises `CheckpointError` if the number is unknown.
        """
        with self._lock:
            known = self._uploads.get(number)
        if known is None:
            raise CheckpointError(
                f"upload {number}: expected an unfinished upload of this process, got none; write "
                f"the file again"
            )
        return known

    def end(self, number: int) -> tuple[Checkpoint, str | None, Upload] | None:
        """Remove an upload from the store, and return the upload; return None if the number is unknown."""
        with self._lock:
            return self._uploads.pop(number, None)
