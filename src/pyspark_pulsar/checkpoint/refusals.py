"""What users are told when a change did not count."""

from __future__ import annotations

from typing import Final

from pyspark_pulsar.checkpoint.index.tree import Outcome
from pyspark_pulsar.errors import (
    CheckpointError,
    CheckpointIsDirectory,
    CheckpointNotDirectory,
    CheckpointNotEmpty,
    CheckpointPathExists,
    CheckpointPathNotFound,
    CheckpointTakenOver,
    PermissionDenied,
)

_REFUSALS: Final[dict[Outcome, tuple[type[CheckpointError], str]]] = {
    Outcome.EXISTS: (CheckpointPathExists, "expected nothing there, got a file or folder"),
    Outcome.NOT_FOUND: (CheckpointPathNotFound, "expected a file or folder, got none"),
    Outcome.IS_DIRECTORY: (CheckpointIsDirectory, "expected a file, or nothing, there, got a folder"),
    Outcome.NOT_DIRECTORY: (CheckpointNotDirectory, "expected folders above it, got a file"),
    Outcome.NOT_EMPTY: (CheckpointNotEmpty, "expected an empty folder, got one that is not"),
    Outcome.INVALID: (CheckpointError, "expected another place than itself or one below it, got that"),
    Outcome.STALE: (
        CheckpointError,
        (
            "expected its chunks to be kept until it is whole, but the owner gave them up meanwhile, as the upload was "
            "not known; write it again"
        ),
    ),
}


def refusal(outcome: Outcome, path: str) -> CheckpointError:
    """`path`: with its checkpoint."""
    kind, text = _REFUSALS[outcome]
    return kind(f"{path}: {text}")


def not_there(path: str) -> CheckpointPathNotFound:
    return CheckpointPathNotFound(f"{path}: expected a file or folder, got none")


def gone(path: str, file_id: str) -> CheckpointPathNotFound:
    return CheckpointPathNotFound(
        f"{path}: expected the file {file_id}, got none: it was deleted or replaced"
    )


def not_mine(checkpoint: str, owner: str | None, present: str) -> None:
    """Raises unless `owner` is the present one."""
    if owner is None:
        raise PermissionDenied(
            f"{checkpoint}: expected a caller that has taken the checkpoint over, got one that only reads; start the "
            f"query, which takes over, or use pyspark-pulsar checkpoint"
        )
    if owner != present:
        raise CheckpointTakenOver(
            f"{checkpoint}: expected to be its owner as {owner}, but {present or 'nobody'} has taken it over; nothing "
            f"that this application writes counts any more. Stop one of the two queries, or give each a checkpoint of "
            f"its own"
        )
