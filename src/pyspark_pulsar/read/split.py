"""Splits: what one Spark task reads, and from where. Made on the driver, pickled to executors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.policy import TieredStore
from pyspark_pulsar.position import Position
from pyspark_pulsar.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.topic import TopicPartition


@dataclass(frozen=True, slots=True)
class FromBroker:
    """The broker that owns the topic partition."""

    entries: int | None = None
    """How many entries lie in the piece, also those that consumers do not see; None where that is not known."""
    name = "broker"


@dataclass(frozen=True, slots=True)
class FromBookies:
    """The bookies that store the closed ledger."""

    ledger: Ledger
    bookies: tuple[str, ...] = ()
    """The ids of all bookies that are known, for a ledger whose striping is not."""
    name = "bookie"


@dataclass(frozen=True, slots=True)
class FromTieredStorage:
    """The offloaded copy of the closed ledger (`ledger.offload_id` is set)."""

    ledger: Ledger
    store: TieredStore
    name = "tiered"


@dataclass(frozen=True, slots=True)
class FromCompactedLedger:
    """The compacted view of the topic up to its compaction horizon, on bookies.

    `ledger.ledger` is not one of the topic's own: its entries wrap messages with the ids that they had.
    """

    ledger: Ledger
    bookies: tuple[str, ...] = ()
    """As in `FromBookies`; its striping is never known."""
    name = "compacted"


Location: TypeAlias = FromBroker | FromBookies | FromTieredStorage | FromCompactedLedger


@dataclass(frozen=True, slots=True)
class SplitRange:
    """A part of a split that lies in one place: from `start` (inclusive) to `end` (exclusive).

    From anywhere but the broker, both lie in one ledger.
    """

    start: Position
    end: Position
    location: Location


@dataclass(frozen=True, slots=True)
class Split:
    """The messages of one topic partition from `start` (inclusive) to `end` (exclusive).

    `ranges` cover the range without gap or overlap, in order; none means that all of it comes from the broker.
    """

    partition: TopicPartition
    start: Position
    end: Position
    ranges: tuple[SplitRange, ...] = ()
    window: TimeWindow = ALL_TIMES
    """Of these messages, only those that lie in it."""
    from_earliest: bool = False
    """Whether the range that this is a part of begins at earliest (or at a time): a message of which retention has
    removed the first chunks is then no loss."""
    keys: frozenset[bytes] | None = None
    """Of these messages, only those whose `__key` is one of these."""
    slots: tuple[int, int] | None = None
    """Of these messages, only those whose key lies in these hash slots (`codec.row_filter`)."""

    def parts(self) -> tuple[SplitRange, ...]:
        """The pieces, at least one."""
        return self.ranges or (SplitRange(self.start, self.end, FromBroker()),)
