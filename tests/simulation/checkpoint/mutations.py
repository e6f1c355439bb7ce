"""Mutations of checkpoints in Pulsar: each removes one protection. The simulation must find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark_pulsar.checkpoint import checkpoint
from pyspark_pulsar.checkpoint.index.log import IndexLog
from pyspark_pulsar.checkpoint.index.records import Kind
from pyspark_pulsar.checkpoint.index.replay import Replay
from pyspark_pulsar.checkpoint.index.state import IndexState
from pyspark_pulsar.checkpoint.index.tree import Outcome, Tree
from pyspark_pulsar.checkpoint.upkeep import upkeep_thread

Patch = tuple[object, str, Any]


def _put_replaces(original: Any) -> Any:
    def put(self: Any, path: Any, file: Any, *, replace: bool) -> Any:
        return original(self, path, file, replace=True)

    return put


def _without_owners(original: Any) -> Any:
    def apply(self: Any, position: Any, record: Any) -> Any:
        obeyed = record if record.kind is Kind.TAKEOVER else replace(record, owner=self.owner)
        return original(self, position, obeyed)

    return apply


def _keeper_at_the_end(original: Any) -> Any:
    def write_snapshot(checkpoint: Any, logs: Any, owner: Any, deadline: Any) -> Any:
        original(checkpoint, logs, owner, deadline)
        last = logs.index.look_at_replay(lambda replay: replay.last)
        return (last[0], last[1] + 1)

    return write_snapshot


MUTATIONS: dict[str, Callable[[], list[Patch]]] = {
    "put-if-absent replaces a file": lambda: [(Tree, "put", _put_replaces(Tree.put))],
    "previous owners are obeyed": lambda: [(IndexState, "apply", _without_owners(IndexState.apply))],
    "the index is not read to its end": lambda: [(IndexLog, "_reach", lambda *_: True)],
    "a receipt counts as the outcome": lambda: [(IndexLog, "_outcome", lambda *_: Outcome.DONE)],
    "the floor passes needed chunks": lambda: [(IndexState, "first_needed", lambda _: None)],
    "the keeper passes the anchor": lambda: [
        (upkeep_thread, "write_snapshot", _keeper_at_the_end(upkeep_thread.write_snapshot))
    ],
    "moved chunks are not looked up again": lambda: [
        (checkpoint.Checkpoint, "_find_present", checkpoint.Checkpoint._find_known)
    ],
    "small files stay in removed records": lambda: [(Replay, "_end_snapshot", lambda *_: None)],
    "stale chunks are accepted": lambda: [(IndexState, "_is_stale", lambda *_: False)],
    "a hidden index counts as emptied": lambda: [(checkpoint, "has_entries", lambda *_: False)],
}
