"""Errors for refused changes, missing files, and callers that do not own the checkpoint."""

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
    Outcome.EXISTS: (CheckpointPathExists, "expected a free path, got a file or folder"),
    Outcome.NOT_FOUND: (CheckpointPathNotFound, "expected a file or folder, got none"),
    Outcome.IS_DIRECTORY: (CheckpointIsDirectory, "expected a file or a free path, got a folder"),
    Outcome.NOT_DIRECTORY: (CheckpointNotDirectory, "expected folders above this path, got a file"),
    Outcome.NOT_EMPTY: (
        CheckpointNotEmpty,
        "expected an empty folder, got one that contains files or folders",
    ),
    Outcome.INVALID: (
        CheckpointError,
        "expected a target outside of the renamed path, got one at or below that path",
    ),
    Outcome.STALE: (
        CheckpointError,
        (
            "expected the chunks to be kept until the file is complete, but the owner's upkeep did not know the upload "
            "and released the chunks; write the file again"
        ),
    ),
}


def refusal(outcome: Outcome, path: str) -> CheckpointError:
    """Return the error for an outcome. `path` begins with the name of the checkpoint."""
    kind, text = _REFUSALS[outcome]
    return kind(f"{path}: {text}")


def path_not_found(path: str) -> CheckpointPathNotFound:
    """Return the error for a path that does not exist."""
    return CheckpointPathNotFound(f"{path}: expected a file or folder, got none")


def file_gone(path: str, file_id: str) -> CheckpointPathNotFound:
    """Return the error for an opened file that does not exist any more."""
    return CheckpointPathNotFound(
        f"{path}: expected the file {file_id}, got none. The file was deleted or replaced; open the path again"
    )


def require_owner(checkpoint: str, owner: str | None, present: str) -> None:
    """Raise an error unless `owner` is `present`, which is the checkpoint's owner.

    Raises:
        PermissionDenied: The caller names no owner.
        CheckpointTakenOver: Another owner has taken the checkpoint over.

    """
    if owner is None:
        raise PermissionDenied(
            f"{checkpoint}: expected a caller that has taken the checkpoint over, got one that only reads; start the "
            f"query, which takes over, or use the command pyspark-pulsar checkpoint"
        )
    if owner != present:
        raise CheckpointTakenOver(
            f"{checkpoint}: expected the owner {owner}, got {present or 'another owner'}, which has taken the "
            f"checkpoint over. No write of this application counts any more; stop one of the two queries, or use a "
            f"separate checkpoint for each"
        )
