"""The idle consumer of one topic partition, and what its answers prove. The head of `log_end` has the theory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pyspark_pulsar.client.broker.consumer import EntryConsumer, LogEnd
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.model.position import Position


@dataclass(frozen=True, slots=True)
class _Proof:
    """That nothing was removed unread from `stand` up to `upto`: told by a cursor that stood at `stand`."""

    stand: Position
    upto: Position
    consumer: EntryConsumer


@dataclass(slots=True)
class PartitionCursor:
    """What is known of one topic partition: see the head of `log_end`."""

    consumer: EntryConsumer | None = None
    """None before it is subscribed, and when it was let go."""
    log_end: LogEnd | None = None
    """The last answer."""
    answered: float = -math.inf
    """When that came, by `time.monotonic`."""
    acknowledged: Position | None = None
    """Up to where `consumer` has acknowledged; None where it stands as it was put."""
    proof: _Proof | None = None
    """The last one; it may be of another stand, or of a former consumer."""

    @property
    def is_open(self) -> bool:
        return self.consumer is not None and self.consumer.is_open

    def is_fresh(self, since: float) -> bool:
        """Whether it is open, and its last answer is not older."""
        return self.is_open and self.answered >= since

    @property
    def mark_delete(self) -> Position:
        """M of the last answer, which there must have been."""
        if self.log_end is None:
            raise ValueError("expected a broker to have told where the log ends")
        return self.log_end.mark_delete

    def close(self) -> None:
        if self.consumer is not None:
            self.consumer.close()
        self.consumer = self.acknowledged = None

    def acknowledge(self, stand: Position) -> None:
        if self.consumer is None or self.acknowledged == stand:
            return
        try:
            self.consumer.acknowledge_cumulative(stand)
        except ConnectionFailed:
            return  # The next trigger finds the consumer closed.
        self.acknowledged = stand

    def prove(self, start: Position) -> None:
        """Conclude from the last answer what is proved for a query that stands at `start`."""
        stand, mark_delete, proof = _whole_entry(start), self.mark_delete, self.proof
        if self.consumer is None:
            return
        if mark_delete <= stand:
            self.proof = _Proof(stand, stand, self.consumer)
        elif (
            proof is not None
            and proof.stand == stand
            and proof.consumer is self.consumer
            and mark_delete.entry == 0
        ):
            self.proof = _Proof(stand, max(mark_delete, proof.upto), self.consumer)

    def proved(self, start: Position) -> Position | None:
        """Up to where nothing was removed unread behind `start`; None where that is `start` itself."""
        proof = self.proof
        if proof is None or proof.stand != _whole_entry(start) or proof.upto == proof.stand:
            return None
        return proof.upto

    def is_in_doubt(self, start: Position) -> bool:
        """Whether the last answer lies behind what is proved for a query that stands at `start`."""
        stand, proof = _whole_entry(start), self.proof
        upto = proof.upto if proof is not None and proof.stand == stand else stand
        return self.mark_delete > upto


def _whole_entry(position: Position) -> Position:
    """Cursors know no messages inside an entry."""
    return Position(position.ledger, position.entry)
