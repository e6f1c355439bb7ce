"""The locations that a range of a topic partition can be read from: the contract of every `Location`.

A location is plain data. The driver's planner creates it (`planning.placement`, `planning.tables`), pickle carries it
to an executor, and a task reads from it. There are two kinds. An entry location returns entries, and a decoder makes
rows from them. A row location returns the rows themselves. The class of a location defines how a range is read, and the
guarantees of such a read. The class also defines other copies of the same entries, and the name for users. Other code
checks only the kind (`isinstance(location, RowLocation)`), never the class.

    class                 kind      file                    number of entries that must be read
    FromBroker            entries   sources/broker.py       unknown: brokers send only what consumers may see
    FromBookies           entries   sources/bookkeeper.py   each entry of the range, once
    FromTieredStorage     entries   sources/offloaded.py    each entry of the range, once
    FromCompactedLedger   entries   sources/compacted.py    all entries of the view, for any range
    FromColumns           rows      sources/columns.py      -

A new location is a class in its own file in `read.sources`, and a line in `planning.placement`.

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
    from pyspark_pulsar.read.sources.consumers_ahead import ConsumersAhead


@dataclass(frozen=True, slots=True)
class PartitionAccess:
    """Access of a task to one topic partition. It stays on the executor that created it."""

    options: ReadOptions
    partition: TopicPartition
    client: BrokerClient
    """Connections to brokers. The creator of this object closes them."""
    ahead: ConsumersAhead | None = None
    """The consumers that the task has already started for later splits. The creator closes them, too."""


@dataclass(frozen=True, slots=True)
class LedgerPart:
    """Entries `first` to `last` (inclusive) of one ledger."""

    ledger: int
    first: int
    last: int
    size: int
    """Bytes, estimated from the mean size of the ledger's entries."""

    @property
    def entries(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class FilePart:
    """The share of a range in a table's data files."""

    files: int
    rows: int
    """Number of rows; where the range cuts a file, estimated from the mean number of rows per entry."""
    size: int
    """Bytes, estimated likewise."""


@dataclass(frozen=True, slots=True)
class RangeProgress:
    """The progress in a range when its last reader had no more entries."""

    reached: Position
    """The position after the last entry of the range that was read; the start of the range if none was."""
    first: tuple[int, int] | None
    """Ledger and entry of the first entry that this reader returned, possibly from after the range."""
    entries: int
    """Number of entries of the range that this reader returned."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The part of a range that no location returned.

    It is lost if `ledger` no longer exists. Otherwise it contains only entries that consumers may not see.
    """

    ledger: int
    text: str
    is_common: bool = False
    """True if this is usually no loss: topics with transactions have entries that consumers do not see."""


class Location(ABC):
    """A place to read from. Subclasses are frozen dataclasses that set `name` and `title`."""

    __slots__ = ()

    name: ClassVar[str]
    """Name in plans, audits, metrics and errors. It is the word of option `readFrom`, if the option has one for it."""
    title: ClassVar[str]
    """Name in sentences: "the rest comes from <title>"."""
    is_broker: ClassVar[bool] = False
    """True if this is the broker, the last resort after another location fails."""

    @property
    def ledger_id(self) -> int | None:
        """The id of the only ledger that is read; None if a range may span several ledgers."""
        return None

    @abstractmethod
    def missing(self, start: Position, end: Position, progress: RangeProgress) -> Missing | None:
        """Return what may be lost of a range that was planned for this location.

        It is called if no location returned the range up to its end. None means that nothing is lost.
        """

    @abstractmethod
    def gives(self, ledger: Ledger, start: Position, end: Position) -> bool:
        """Return whether a read of the range returns entries of this ledger of the topic partition."""

    def copy_url(self, partition: TopicPartition) -> str | None:
        """Return the URL of the ledger's copy that is read; None if the ledger itself is read."""
        del partition
        return None

    def joined(self, following: Location, *, adjacent: bool) -> Location | None:
        """Return the location for two ranges that one read can cover; None if they need two reads.

        `adjacent` means that the second range begins exactly where the first one ends.
        """
        return self if adjacent and following == self else None


class EntryLocation(Location):
    """A location that returns entries."""

    __slots__ = ()

    returns_whole_ledger: ClassVar[bool] = False
    """True if a read always returns all entries of the ledger. The reader of the range drops the other ones."""

    @abstractmethod
    def open(
        self, access: PartitionAccess, start: Position, end: Position
    ) -> Generator[EntryBatch, None, None]:
        """Yield the entries of the range, in order. It runs on executors only.

        Nothing is opened before the first entry is read. Close the generator if you do not read all of it. Entries
        outside the range may be among them, and some entries may be repeated. The reader of the range drops those.

        Raises:
            LedgerUnavailable, ConnectionFailed, CorruptEntryError, OptionError, PrerequisiteMissing: The location
                does not return what it should.

        """

    @abstractmethod
    def ledger_parts(
        self, ledgers: Sequence[Ledger] | None, start: Position, end: Position
    ) -> tuple[LedgerPart, ...] | None:
        """Return the entries that a read of the range touches; None if they are unknown.

        `ledgers` contains the ledgers of the topic partition, or is None if they are unknown.
        """

    def replica(self, access: PartitionAccess) -> EntryLocation | None:
        """Return another location that may have the same entries, besides the broker; None if none is known.

        It is called on executors only, after a read from this location failed.
        """
        del access
        return None

    def expected_entries(self, start: Position, end: Position) -> int | None:
        """Return the number of entries that a read of the range must return; None if it is unknown.

        With `returns_whole_ledger`, it is the number of entries of the ledger.
        """
        del start, end
        return None

    def with_entries(self, entries: int | None) -> EntryLocation:
        """Return the same location for a range with this number of entries; None if the number is unknown."""
        del entries
        return self


class RowLocation(Location):
    """A location that returns rows."""

    __slots__ = ()

    @abstractmethod
    def rows(
        self, access: PartitionAccess, start: Position, end: Position, request: RowRequest
    ) -> Generator[RowBatch, None, None]:
        """Yield the rows of the range, in order: exactly the rows that decoding its entries would yield.

        It runs on executors only. Nothing is opened before the first row is read. Close the generator if you do not
        read all of it.

        Raises:
            ColumnsUnavailable, OptionError, PrerequisiteMissing: The location does not return what it should.
            PulsarError: As a decoder raises it.

        """

    @abstractmethod
    def file_part(self, start: Position, end: Position) -> FilePart:
        """Return the files, rows and bytes that a read of the range needs."""


def entry_range(ledger: Ledger, start: Position, end: Position) -> tuple[int, int]:
    """Return the first and the last entry (inclusive) of the ledger with messages of the range.

    The range must touch the ledger. The last entry is before the first one if no entry has such messages.
    """
    first = start.entry if start.ledger == ledger.id else 0
    if end.ledger != ledger.id:
        return first, ledger.entries - 1
    # An end in the middle of a batched entry is after some messages of that entry.
    last = end.entry - (end.batch_index == 0)
    # The open ledger may have grown since its entries were counted.
    return first, last if ledger.is_open else min(last, ledger.entries - 1)


def ledger_parts(ledgers: Sequence[Ledger], start: Position, end: Position) -> tuple[LedgerPart, ...]:
    """Return the entries of these ledgers that contain messages of the range."""
    parts: list[LedgerPart] = []
    for ledger in ledgers:
        first, last = entry_range(ledger, start, end)
        if start.ledger <= ledger.id <= end.ledger and first <= last:
            size = round(ledger.size / ledger.entries * (last - first + 1)) if ledger.entries else 0
            parts.append(LedgerPart(ledger.id, first, last, size))
    return tuple(parts)


def touches(ledger: Ledger, start: Position, end: Position) -> bool:
    """Return whether the range includes entries of the ledger."""
    return start < Position(ledger.id, ledger.entries) and end > Position(ledger.id, 0)
