"""The places that a range of a topic partition can be read from: the contract of every `Location`.

A location is plain data. The driver's planner makes it (`planning.placement`, `planning.tables`), it is pickled to
executors, and a task reads from it. There are two kinds: a place of entries returns entries, from which a decoder still
makes rows; a place of rows returns the rows themselves. A location's class says all that differs from place to place:
how a range is read there, what such a read promises, where else the same entries may be, and what people call the
place. Other code checks only the kind (`isinstance(location, RowLocation)`), never the class.

    class                 kind      file                    number of entries that must be read
    FromBroker            entries   sources/broker.py       not known: brokers send only what consumers may see
    FromBookies           entries   sources/bookkeeper.py   each entry of the range, once
    FromTieredStorage     entries   sources/offloaded.py    each entry of the range, once
    FromCompactedLedger   entries   sources/compacted.py    all entries of the view, whatever the range
    FromColumns           rows      sources/columns.py      -

A new place is a class in a file of its own in `read.sources`, and a line in `planning.placement`.

All ranges here are positions from `start` (inclusive) to `end` (exclusive).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions

if TYPE_CHECKING:
    from pyspark_pulsar.client.broker.client import BrokerClient
    from pyspark_pulsar.client.broker.connection.transport import EntryBatch
    from pyspark_pulsar.history.columnar.reading.request import RowRequest
    from pyspark_pulsar.history.columnar.reading.rows import RowBatch
    from pyspark_pulsar.read.sources.ahead import ConsumersAhead


@dataclass(frozen=True, slots=True)
class PartitionAccess:
    """How a task reaches one topic partition. It stays on the executor that made it."""

    options: ReadOptions
    partition: TopicPartition
    client: BrokerClient
    """Whoever made it closes it."""
    ahead: ConsumersAhead | None = None
    """Where the task has begun with further splits; likewise."""


@dataclass(frozen=True, slots=True)
class LedgerPart:
    """Entries `first` to `last` (inclusive) of one ledger."""

    ledger: int
    first: int
    last: int
    size: int
    """Bytes, by the mean size of the ledger's entries."""

    @property
    def entries(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class FilePart:
    """What a range takes of a table's data files."""

    files: int
    rows: int
    """About so many, where the range cuts a file: by the mean number of rows in an entry."""
    size: int
    """Bytes, likewise."""


@dataclass(frozen=True, slots=True)
class RangeProgress:
    """How far a range was read when its last reader had no more."""

    reached: Position
    """Behind the last entry of the range that came; its start if none came."""
    first: tuple[int, int] | None
    """Ledger and entry of the first that came from that reader, maybe from behind the range."""
    entries: int
    """Entries of the range that came from that reader."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What did not come of a range. It is lost if `ledger` is gone, and else nothing that consumers may see."""

    ledger: int
    text: str
    is_common: bool = False
    """Whether it is mostly no loss: topics with transactions have entries that consumers do not see."""


class Location(ABC):
    """A place to read from. Subclasses are frozen dataclasses, and set `name` and `title`."""

    __slots__ = ()

    name: ClassVar[str]
    """In plans, audits, metrics and errors; where option `readFrom` can name the place, its word."""
    title: ClassVar[str]
    """In sentences: "the rest comes from <title>"."""
    is_broker: ClassVar[bool] = False
    """Whether this is the broker, the last place to read from when another one fails."""

    @property
    def ledger_id(self) -> int | None:
        """The one ledger that is read; None where a range may go over several."""
        return None

    @abstractmethod
    def missing(self, start: Position, end: Position, progress: RangeProgress) -> Missing | None:
        """Return what may be lost of a range that was planned to be read from here and that no place gives to its end;
        None if nothing is."""

    @abstractmethod
    def gives(self, ledger: Ledger, start: Position, end: Position) -> bool:
        """Return whether a read of the range gives entries of this ledger of the topic partition."""

    def copy_url(self, partition: TopicPartition) -> str | None:
        """Return the URL of the copy of the ledger that is read; None where the ledger itself is read."""
        del partition
        return None

    def joined(self, following: Location, *, adjacent: bool) -> Location | None:
        """Return the place of two ranges that are read in one go; None where they are not. `adjacent`: the second
        begins exactly where the first ends."""
        return self if adjacent and following == self else None


class EntryLocation(Location):
    """A place that gives entries."""

    __slots__ = ()

    gives_whole_ledger: ClassVar[bool] = False
    """Whether a read gives all entries of the ledger, whatever the range; the reader of the range drops the others."""

    @abstractmethod
    def open(
        self, access: PartitionAccess, start: Position, end: Position
    ) -> Generator[EntryBatch, None, None]:
        """Yield the entries of the range, in order. Executor only. Nothing is opened before the first one is read.
        Close it when not all of it is wanted.

        Entries outside the range may be among them, and some twice; the reader of the range drops those. Raises
        `LedgerUnavailable`, `ConnectionFailed`, `CorruptEntryError`, `OptionError` or `PrerequisiteMissing` where the
        place does not give what it should.
        """

    @abstractmethod
    def ledger_parts(
        self, ledgers: Sequence[Ledger] | None, start: Position, end: Position
    ) -> tuple[LedgerPart, ...] | None:
        """Return the entries that a read of the range touches; None where they are not known. `ledgers`: those of the
        topic partition, None likewise."""

    def replica(self, access: PartitionAccess) -> EntryLocation | None:
        """Return another place past the broker that may have the same entries; None if no such place is known.
        Executor only. Called when a read from here has failed."""
        del access
        return None

    def expected_entries(self, start: Position, end: Position) -> int | None:
        """Return how many entries a read of the range must give, or of the ledger if `gives_whole_ledger`; None where
        it is not known."""
        del start, end
        return None

    def with_entries(self, entries: int | None) -> EntryLocation:
        """Return the same place for a range that holds this number of entries; None: it is not known."""
        del entries
        return self


class RowLocation(Location):
    """A place that gives rows."""

    __slots__ = ()

    @abstractmethod
    def rows(
        self, access: PartitionAccess, start: Position, end: Position, request: RowRequest
    ) -> Generator[RowBatch, None, None]:
        """Yield the rows of the range, in order: exactly those that decoding its entries would give. Executor only.
        Nothing is opened before the first one is read. Close it when not all of it is wanted.

        Raises `ColumnsUnavailable`, `OptionError` or `PrerequisiteMissing` where the place does not give what it
        should, and the errors of a decoder.
        """

    @abstractmethod
    def file_part(self, start: Position, end: Position) -> FilePart:
        """Return what a read of the range takes of data files."""


def entry_range(ledger: Ledger, start: Position, end: Position) -> tuple[int, int]:
    """The first and the last entry (inclusive) of the ledger that have messages of the range, which touches it. The
    last is before the first if there is none."""
    first = start.entry if start.ledger == ledger.id else 0
    if end.ledger != ledger.id:
        return first, ledger.entries - 1
    # An end in the middle of a batched entry lies behind messages of that entry.
    last = end.entry - (end.batch_index == 0)
    # The open ledger may have grown since its entries were counted.
    return first, last if ledger.is_open else min(last, ledger.entries - 1)


def ledger_parts(ledgers: Sequence[Ledger], start: Position, end: Position) -> tuple[LedgerPart, ...]:
    """The entries of these ledgers that hold messages of the range."""
    parts: list[LedgerPart] = []
    for ledger in ledgers:
        first, last = entry_range(ledger, start, end)
        if start.ledger <= ledger.id <= end.ledger and first <= last:
            size = round(ledger.size / ledger.entries * (last - first + 1)) if ledger.entries else 0
            parts.append(LedgerPart(ledger.id, first, last, size))
    return tuple(parts)


def touches(ledger: Ledger, start: Position, end: Position) -> bool:
    """Whether the range goes over entries of the ledger."""
    return start < Position(ledger.id, ledger.entries) and end > Position(ledger.id, 0)
