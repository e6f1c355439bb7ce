"""Writing a snapshot of an index, and deciding when to write the next snapshot."""

from __future__ import annotations

from typing import Final

from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.records import Kind, new_id
from pyspark_pulsar.checkpoint.index.replay import Replay
from pyspark_pulsar.checkpoint.index.snapshot import Snapshot
from pyspark_pulsar.checkpoint.index.tree import File
from pyspark_pulsar.checkpoint.logs import Logs
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.errors import CheckpointError

LEAST_RECORDS: Final = 1_000
LEAST_BYTES: Final = 4 * 1024 * 1024


def is_due(replay: Replay) -> bool:
    """Return whether a snapshot would be smaller than the records since the last snapshot.

    Below `LEAST_RECORDS` records and `LEAST_BYTES` bytes, no snapshot is due.
    """
    state = replay.state
    if state is None:
        return False
    files = state.tree.files
    if replay.records_since > max(LEAST_RECORDS, len(files)):
        return True
    if replay.bytes_since <= LEAST_BYTES:
        return False
    return replay.bytes_since > sum(file.length for file in files.values() if not file.chunks)


def write_snapshot(checkpoint: Checkpoint, logs: Logs, owner: str, deadline: Deadline) -> MessagePosition:
    """Write a snapshot of the present state, and return the anchor of the snapshot.

    Raises:
        CheckpointLost: The content of a small file was removed.
        PulsarError: Appending failed.

    """

    def take_snapshot(replay: Replay) -> Snapshot | None:
        if replay.state is None or replay.last is None:
            return None
        return Snapshot.from_state(replay.state, replay.last)

    snapshot = logs.index.look_at_replay(take_snapshot)
    if snapshot is None:
        raise CheckpointError(f"{checkpoint.name}: expected an index with a state, got none; try again")

    def body(file: File) -> bytes:
        return logs.inline.read(file, f"{checkpoint.name}, file {file.id}", deadline)

    # `append` waits until each part is applied. So all parts are applied before the caller moves the keeper
    # subscription.
    for details, bodies in snapshot.parts(new_id(), body):
        logs.index.append(Kind.SNAPSHOT, owner, deadline, details, bodies)
    return snapshot.anchor
