"""From what an index log holds to the state that it stands for. No I/O.

    state      is                                        ends with                                      and then is
    searching  what comes is kept                        FORMAT as the first record; or all parts of a  known
                                                         snapshot whose anchor was kept
    known      each record changes the state             a record whose writer had seen one that did    `RecordsMissed`
                                                         not come

Why nothing is missed in silence
    At the front: only a FORMAT, or a snapshot with all from its anchor on, makes a state. A log that was emptied, or
    has lost its beginning, makes none, and whoever reads it to its end raises.
    In between: each record names the last one that its writer had applied. One that is later than the last that came
    here has been removed. Whether it is lost, or a snapshot says what it said, `follower` sees.
    After a pause: whoever reads on begins with the last record that it has applied, and looks whether it is there
    (`log`).
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
    """Records right before the one at `before` did not come to this reader. `before` is all that tells two apart."""

    def __init__(self, message: str, before: MessagePosition) -> None:
        super().__init__(message)
        self.before = before


class Bodies:
    """What lies inline, by the files' ids, as far as `CACHE_BYTES` hold it; the last used stay."""

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._most_bytes = most_bytes
        self._nbytes = 0

    def put(self, file_id: str, body: bytes) -> None:
        self.drop(file_id)
        self._bodies[file_id] = body
        self._nbytes += len(body)
        while self._nbytes > self._most_bytes:
            _, gone = self._bodies.popitem(last=False)
            self._nbytes -= len(gone)

    def get(self, file_id: str) -> bytes | None:
        body = self._bodies.get(file_id)
        if body is not None:
            self._bodies.move_to_end(file_id)
        return body

    def drop(self, file_id: str) -> None:
        gone = self._bodies.pop(file_id, None)
        self._nbytes -= len(gone) if gone is not None else 0


class Replay:
    """Not safe to use from several threads."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.state: IndexState | None = None
        """None while searching."""
        self.last: MessagePosition | None = None
        """Of the last record that came."""
        self.first: MessagePosition | None = None
        """Of the record that the state began with: FORMAT, or the anchor."""
        self.anchor: MessagePosition | None = None
        """Of the last snapshot that is complete."""
        self.bodies = Bodies()
        self.records_since = 0
        """Records since that anchor, or the beginning."""
        self.bytes_since = 0
        """What lies inline in them."""
        self._kept: list[tuple[MessagePosition, Record]] = []
        self._parts: dict[str, SnapshotParts] = {}

    @property
    def searched_from(self) -> MessagePosition | None:
        """The first record that came, while searching."""
        return self._kept[0][0] if self._kept else None

    def take(self, position: MessagePosition, record: Record) -> Outcome | None:
        """The next record; None while searching. Raises `RecordsMissed`, and `CheckpointLost` for a record that is
        wrong in itself."""
        try:
            if self.state is None:
                self._search(position, record)
                outcome = None
            else:
                outcome = self._apply(self.state, position, record)
        except (ValueError, KeyError, TypeError) as fault:
            raise CheckpointLost(
                f"{self._topic}, message {position_text(position)}: expected a {record.kind} record of pyspark-pulsar, "
                f"got one with another form ({fault!r}); nothing but pyspark-pulsar may write to this topic"
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
                f"{self._topic}: expected the record at {position_text(record.seen)}, which the writer of the one at "
                f"{position_text(position)} has seen, but the last one before is at {position_text(self.last)}: "
                f"records of the index were removed, by a truncation, an expiry or the loss of a ledger; restore the "
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
        """The snapshot that is complete now."""
        if record.kind is not Kind.SNAPSHOT:
            return None
        snapshot_id = str(record.details["snapshot"])
        parts = self._parts.setdefault(snapshot_id, SnapshotParts.of(record))
        parts.add(position, record)
        if not parts.is_complete:
            return None
        # What others began before is of no use once there is a whole one.
        self._parts = {key: other for key, other in self._parts.items() if other.anchor > parts.anchor}
        return parts

    def _end_snapshot(self, parts: SnapshotParts | None) -> None:
        """Bytes of inline files move with it, so that what lies before the anchor is not needed."""
        if parts is None or (self.anchor is not None and parts.anchor <= self.anchor) or self.state is None:
            return
        self.anchor = parts.anchor
        self.records_since = self.bytes_since = 0
        loaded, _ = parts.load()
        for file_id, file in loaded.tree.files.items():
            mine = self.state.tree.files.get(file_id)
            if mine is not None and file.inline_at is not None:
                mine.inline_at = file.inline_at


def anchors_in(record: Record) -> list[MessagePosition]:
    """Where a search may begin, as far as this record tells, the best position first. Raises `CheckpointLost`."""
    anchors = [record.anchor]
    if record.kind is Kind.SNAPSHOT:
        try:
            ends = record.details["part"] == record.details["parts"] - 1
            anchors = [parse_position(record.details["anchor"]) if ends else None, record.anchor]
        except (ValueError, KeyError, TypeError):
            # The search says what is wrong with it.
            pass
    return [anchor for anchor in anchors if anchor is not None]
