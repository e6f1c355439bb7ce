"""Replaying the records of an index log into its state. No I/O.

    state      meaning                               ends with                                           next state
    searching  records are kept                      FORMAT as the first record; or all parts of a       known
                                                     snapshot whose anchor was kept
    known      each record changes the state         a record whose writer had seen a missing record     `RecordsMissed`

Why no missing record stays undetected
    At the front: only a FORMAT, or a snapshot with all records from its anchor on, makes a state. A log that was
        emptied, or has lost its beginning, makes none. A reader that reaches its end without a state raises.
    In between: each record names the last record that its writer had applied. If that record is later than the last one
        read here, it was removed. `follower` decides whether its effect is lost, or is in a snapshot.
    After a pause: a resuming reader begins at the last record that it has applied, and checks that the record exists
        (`follower`).
"""

from __future__ import annotations

from collections import OrderedDict

from pyspark_pulsar.checkpoint.index.records import Kind, Record
from pyspark_pulsar.checkpoint.index.snapshot import SnapshotParts
from pyspark_pulsar.checkpoint.index.state import IndexState
from pyspark_pulsar.checkpoint.index.tree import File, Outcome
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, parse_position, position_text
from pyspark_pulsar.errors import CheckpointLost

CACHE_BYTES = 128 * 1024 * 1024


class RecordsMissed(CheckpointLost):
    """An error for records that did not reach this reader.

    The missed records are directly before the record at `before`. Two such errors differ only in this
    position.
    """

    def __init__(self, message: str, before: MessagePosition) -> None:
        super().__init__(message)
        self.before = before


class Bodies:
    """A cache of the most recently used small files: the bytes of each file, by file id."""

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._most_bytes = most_bytes
        self._nbytes = 0

    def put(self, file_id: str, body: bytes) -> None:
        """Add a file, and drop the least recently used files while the cache exceeds its limit."""
        self.drop(file_id)
        self._bodies[file_id] = body
        self._nbytes += len(body)
        while self._nbytes > self._most_bytes:
            _, dropped = self._bodies.popitem(last=False)
            self._nbytes -= len(dropped)

    def get(self, file_id: str) -> bytes | None:
        """Return the bytes of a file, or None."""
        body = self._bodies.get(file_id)
        if body is not None:
            self._bodies.move_to_end(file_id)
        return body

    def drop(self, file_id: str) -> None:
        """Remove the bytes of a file, if it has any."""
        dropped = self._bodies.pop(file_id, None)
        self._nbytes -= len(dropped) if dropped is not None else 0


class Replay:
    """The state of an index, and how its records led to it. Threads must not share it without a lock."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.state: IndexState | None = None
        """The state; None while searching."""
        self.last: MessagePosition | None = None
        """Position of the last record that was applied or kept."""
        self.first: MessagePosition | None = None
        """Position of the record that the state began with: FORMAT, or the anchor."""
        self.anchor: MessagePosition | None = None
        """Anchor of the last complete snapshot."""
        self.bodies = Bodies()
        self.records_since = 0
        """The number of records since that anchor, or since the beginning."""
        self.bytes_since = 0
        """The bytes of small files in those records."""
        self._kept: list[tuple[MessagePosition, Record]] = []
        self._parts: dict[str, SnapshotParts] = {}

    @property
    def searched_from(self) -> MessagePosition | None:
        """Position of the first record that was read, while searching."""
        return self._kept[0][0] if self._kept else None

    def take(self, position: MessagePosition, record: Record) -> Outcome | None:
        """Add the next record, and return its outcome, or None while searching.

        Raises:
            RecordsMissed: Records before this one are missing.
            CheckpointLost: The record itself is wrong.

        """
        try:
            if self.state is None:
                self._search(position, record)
                outcome = None
            else:
                outcome = self._apply(self.state, position, record)
        except (ValueError, KeyError, TypeError) as fault:
            raise CheckpointLost(
                f"{self._topic}, message {position_text(position)}: expected a {record.kind} record of "
                f"pyspark-pulsar, got one with another form ({fault!r}); let only pyspark-pulsar write to this topic"
            ) from None
        self.last = position
        return outcome

    def _search(self, position: MessagePosition, record: Record) -> None:
        if not self._kept and record.kind is Kind.FORMAT:
            self.state, self.first = IndexState(), position
            self._apply(self.state, position, record)
            return
        self._kept.append((position, record))
        parts = self._add_part(position, record)
        if parts is None or all(kept != parts.anchor for kept, _ in self._kept):
            return
        self.state, bodies = parts.load()
        self.first = self.anchor = parts.anchor
        for file_id, body in bodies.items():
            self.bodies.put(file_id, body)
        kept, self._kept = self._kept, []
        self.last = parts.anchor
        for at, kept_record in kept:
            if at > parts.anchor:
                self._apply(self.state, at, kept_record)
                self.last = at

    def _apply(self, state: IndexState, position: MessagePosition, record: Record) -> Outcome:
        if record.seen is not None and (self.last is None or record.seen > self.last):
            raise RecordsMissed(
                f"{self._topic}: expected the record at {position_text(record.seen)} before the record at "
                f"{position_text(position)}, got {position_text(self.last)} as the last record before. Cause: "
                f"records of the index were removed by truncation, expiry or the loss of a ledger; restore the "
                f"checkpoint from a copy (pyspark-pulsar checkpoint copy)",
                position,
            )
        outcome = state.apply(position, record)
        self.records_since += 1
        if record.kind is Kind.SNAPSHOT:
            self._end_snapshot(self._add_part(position, record))
        elif outcome is Outcome.DONE and record.kind in {Kind.PUT, Kind.PUT_IF_ABSENT}:
            self._keep_body(state, record)
        return outcome

    def _keep_body(self, state: IndexState, record: Record) -> None:
        file = state.tree.files.get(record.id)
        if isinstance(file, File) and not file.chunks:
            self.bodies.put(record.id, record.body)
            self.bytes_since += len(record.body)

    def _add_part(self, position: MessagePosition, record: Record) -> SnapshotParts | None:
        """Add a part of a snapshot, and return the snapshot if it is complete now."""
        if record.kind is not Kind.SNAPSHOT:
            return None
        snapshot_id = str(record.details["snapshot"])
        parts = self._parts.setdefault(snapshot_id, SnapshotParts.from_record(record))
        parts.add(position, record)
        if not parts.is_complete:
            return None
        # Older unfinished snapshots are of no use after a complete one.
        self._parts = {key: other for key, other in self._parts.items() if other.anchor > parts.anchor}
        return parts

    def _end_snapshot(self, parts: SnapshotParts | None) -> None:
        """Record that small files are in the snapshot now, so that no record before the anchor is needed."""
        if parts is None or (self.anchor is not None and parts.anchor <= self.anchor) or self.state is None:
            return
        self.anchor = parts.anchor
        self.records_since = self.bytes_since = 0
        loaded, _ = parts.load()
        for file_id, file in loaded.tree.files.items():
            own = self.state.tree.files.get(file_id)
            if own is not None and file.inline_at is not None:
                own.inline_at = file.inline_at


def anchors_in(record: Record) -> list[MessagePosition]:
    """Return the positions that a record offers as the start of a search, the best one first.

    Raises `CheckpointLost`.
    """
    anchors = [record.anchor]
    if record.kind is Kind.SNAPSHOT:
        try:
            ends = record.details["part"] == record.details["parts"] - 1
            anchors = [parse_position(record.details["anchor"]) if ends else None, record.anchor]
        except (ValueError, KeyError, TypeError):
            # The search reports what is wrong with the record.
            pass
    return [anchor for anchor in anchors if anchor is not None]
