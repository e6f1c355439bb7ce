"""The service of the checkpoint process (`spark.service`), which runs many calls of the module `calls` in parallel.

The first frame contains the settings of the cluster: `{"settings": {...}}`. A call does not wait for a thread, and the
deadline of the call is `CALL_SECONDS` after its start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark_pulsar.checkpoint.clients import CALL_SECONDS, ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.errors import (
    CheckpointIsDirectory,
    CheckpointLost,
    CheckpointNotDirectory,
    CheckpointNotEmpty,
    CheckpointPathExists,
    CheckpointPathNotFound,
    CheckpointTakenOver,
    CorruptEntryError,
    DataLossError,
    OptionError,
    PermissionDenied,
    PulsarError,
)
from pyspark_pulsar.spark.service import FAILED, Answer, describe_error, find_call

if TYPE_CHECKING:
    from pyspark_pulsar.checkpoint.store import Store

_KINDS: Final = (
    (CheckpointPathNotFound, "NotFound"),
    (CheckpointPathExists, "Exists"),
    (CheckpointIsDirectory, "IsDirectory"),
    (CheckpointNotDirectory, "NotDirectory"),
    (CheckpointNotEmpty, "NotEmpty"),
    (CheckpointTakenOver, "TakenOver"),
    (CheckpointLost, "Lost"),
    (CorruptEntryError, "Lost"),
    (DataLossError, "Lost"),
    (PermissionDenied, "Denied"),
    (OptionError, "Invalid"),
)


class CheckpointService:
    """The service that runs the JVM's calls for the checkpoints of one cluster."""

    threads = 32
    idle_seconds: float | None = None

    _settings: ClusterSettings
    _store: Store

    def start(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Parse the settings in the first frame. Raises `OptionError`."""
        given = settings.get("settings")
        if not isinstance(given, dict):
            raise OptionError("the first frame: expected the settings of the cluster, got another frame")
        self._settings = ClusterSettings.parse(given)
        return {}

    def open(self) -> None:
        """Create the store, before the first call."""
        from pyspark_pulsar.checkpoint.store import Store

        self._store = Store(self._settings)

    def answer(self, call: str, arguments: Mapping[str, Any], body: bytes) -> Answer:
        """Run one call. Raises `OptionError` if an argument is missing, and the errors of the call."""
        from pyspark_pulsar.checkpoint.process.calls import CALLS

        deadline = Deadline.after(CALL_SECONDS)
        try:
            return find_call(CALLS, call)(self._store, arguments, body, deadline)
        except KeyError as fault:
            raise OptionError(f"call {call}: expected the argument {fault}, got none") from fault

    def error(self, call: str, fault: Exception) -> dict[str, str]:
        """Describe an error in the form of the protocol."""
        del call
        return describe_error(fault, _kind)

    def close(self) -> None:
        """Close the store."""
        self._store.close()


def _kind(fault: PulsarError) -> str:
    return next((kind for leaf, kind in _KINDS if isinstance(fault, leaf)), FAILED)
