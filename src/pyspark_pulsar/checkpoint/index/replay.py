"""Computing the state of an index from its records. This module does no I/O.

    state      meaning                               ends with                                           next state
    searching  records are buffered                  FORMAT as the first record; or all parts of a       known
                                                     snapshot, if the record at its anchor is buffered
    known      each record is applied to the state   a record whose writer had applied a record that     `RecordsMissed`
                                                     this reader has not read

How missing records are detected
    At the beginning: a state begins with FORMAT, or with a snapshot and all records from its anchor on. If records at
        the beginning were removed, the log may contain neither of them. A reader that reaches the end of such a log
        without finding a state raises an error.
    Later: each record names the last record that its writer had applied. If this reader has not read the named record,
        that record was removed. `follower` decides whether the effect of the removed record is lost, or is in a
        snapshot.
    After a lost connection: a reader resumes at the last record that it has applied, and checks that this record still
        exists (`follower`).
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
    """An error for records that this reader did not receive.

    `before` is the position of the first record after the missed records.
    """

    def __init__(self, message: str, before: MessagePosition) -> None:
        super().__init__(message)
        self.before = before


class Bodies:
    """A cache of the most recently used small files: a map from the file's id to the file's bytes."""

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._most_bytes = most_bytes
        self._nbytes = 0

    def put(self, file_id: str, body: bytes) -> None:
        """Add a file. While the cache exceeds its limit, drop the least recently used file."""
        self.drop(file_id)
        self._bodies[file_id] = body
        self._nbytes += len(body)
        while self._nbytes > self._most_bytes:
            _, dropped = self._bodies.popitem(last=False)
            self._nbytes -= len(dropped)

    def get(self, file_id: str) -> bytes | None:
        """Return the bytes of a file; None if the cache does not contain the file."""
        body = self._bodies.get(file_id)
        if body is not None:
            self._bodies.move_to_end(file_id)
        return body

    def drop(self, file_id: str) -> None:
        """Remove a file from the cache, if the cache contains the file."""
        dropped = self._bodies.pop(file_id, None)
        self._nbytes -= len(dropped) if dropped is not None else 0


class Replay:
    """The state of an index, computed from its records. Threads share an instance only under a lock."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.state: IndexState | None = None
        """The state; None while the beginning of a state is being searched."""
        self.last: MessagePosition | None = None
        """Position of the last record that was passed to `take`; None before the first one."""
        self.first: MessagePosition | None = None
        """Position of the record at which the state began: the FORMAT record, or an anchor."""
        self.anchor: MessagePosition | None = None
        """Anchor of the last complete snapshot; None if no snapshot was read."""
        self.bodies = Bodies()
        self.records_since = 0
        """The number of records since the last complete snapshot; without a snapshot, since the FORMAT record."""
        self.bytes_since = 0
        """The number of bytes of small files in the records since the last complete snapshot."""
        self._kept: list[tuple[MessagePosition, Record]] = []
        self._parts: dict[str, SnapshotParts] = {}

    @property
    def searched_from(self) -> MessagePosition | None:
        """Position of the first record of the present search; None if no search is in progress."""
        return self._kept[0][0] if self._kept else None

    def take(self, position: MessagePosition, record: Record) -> Outcome | None:
        """Add the next record, and return its outcome; return None while there is no state.

        Raises:
            RecordsMissed: Records before this record are missing.
            CheckpointLost: The record has another form than pyspark-pulsar writes.

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
        """Add the part of a snapshot that a record contains.

        Return the snapshot if the part completes the snapshot; otherwise None.
        """
        if record.kind is not Kind.SNAPSHOT:
            return None
        snapshot_id = str(record.details["snapshot"])
        parts = self._parts.setdefault(snapshot_id, SnapshotParts.from_record(record))
        parts.add(position, record)
        if not parts.is_complete:
            return None
        # After a complete snapshot, unfinished snapshots with earlier anchors are not needed.
        self._parts = {key: other for key, other in self._parts.items() if other.anchor > parts.anchor}
        return parts

    def _end_snapshot(self, parts: SnapshotParts | None) -> None:
        """Set the position of each small file to the position of its copy in the snapshot.

        Afterwards, no file needs a record before the snapshot's anchor.
        """
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
    """Return the anchors in a record at which a search can begin, the best anchor first.

    Raises `CheckpointLost`.
    """
    anchors = [record.anchor]
    if record.kind is Kind.SNAPSHOT:
        try:
            ends = record.details["part"] == record.details["parts"] - 1
            anchors = [parse_position(record.details["anchor"]) if ends else None, record.anchor]
        except (ValueError, KeyError, TypeError):
            # The later search reports the error in this record.
            pass
    return [anchor for anchor in anchors if anchor is not None]
