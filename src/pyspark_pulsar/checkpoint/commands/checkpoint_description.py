"""The lines that describe a checkpoint, each a pair of a name and a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.clients import CALL_SECONDS
from pyspark_pulsar.checkpoint.commands.copying import Entry
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.replay import Replay
from pyspark_pulsar.checkpoint.messages.message_position import position_text


def describe(checkpoint: Checkpoint, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Yield the lines that describe a checkpoint.

    Args:
        checkpoint: The checkpoint.
        entries: The files and folders to count, either from the whole checkpoint or from one folder.

    """
    logs = checkpoint.current(Deadline.after(CALL_SECONDS))

    def look(replay: Replay) -> tuple[str, str, str, int, dict[int, int]]:
        state = replay.state
        assert state is not None  # noqa: S101 -- `current` has found a state
        anchor, floor = position_text(replay.anchor) or "none yet", position_text(state.floor) or "none yet"
        return state.owner, anchor, floor, replay.records_since, dict(state.written)

    owner, anchor, floor, records, written = logs.index.look_at_replay(look)
    files = [entry for entry in entries if entry.id]
    inline = [entry for entry in files if not entry.chunks]
    yield "checkpoint", str(checkpoint.name)
    yield "owner", owner or "none"
    yield "files", f"{len(files)}, {sum(entry.length for entry in files)} bytes"
    yield "in the index", f"{len(inline)}, {sum(entry.length for entry in inline)} bytes"
    yield "index", f"{logs.index_partition}"
    yield "last snapshot", f"anchor {anchor}, {records} records since"
    yield "content", f"{logs.content_partition}"
    yield "kept from", f"{floor}: {sum(written.values())} bytes in {len(written)} ledgers"
