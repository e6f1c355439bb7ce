"""The locations that a range of a topic partition can be read from: the contract of every `Location`.

A location is a plain data object. The driver's planner creates the location (`planning.placement`, `planning.tables`).
Pickle carries the location to an executor, where a task reads from it. There are two kinds of locations. An entry
location returns entries, and a decoder makes rows from them. A row location returns the rows themselves. The class of a
location defines how a range is read, and the guarantees of such a read. The class also defines other copies of the same
entries, and the name that users see. Other code checks only the kind (`isinstance(location, RowLocation)`), never the
class.

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
    """Access of a task to one topic partition. The access stays on the executor that created it."""

    options: ReadOptions
    partition: TopicPartition
    client: BrokerClient
    """Connections to brokers. The creator of this object closes them."""
    ahead: ConsumersAhead | None = None
    """The consumers that the task has already started for later splits. The creator of this object closes them, too."""


@dataclass(frozen=True, slots=True)
class LedgerPart:
    """The entries `first` to `last` (inclusive) of one ledger."""

    ledger: int
    first: int
    last: int
    size: int
    """Size of the entries in bytes, estimated from the mean size of the ledger's entries."""

    @property
    def entries(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class FilePart:
    """The part of a range that is in a table's data files."""

    files: int
    rows: int
    """Number of rows. If the range cuts a file, the number is estimated from the mean number of rows per entry."""
    size: int
    """Size of the rows in bytes. If the range cuts a file, the size is estimated, too."""


@dataclass(frozen=True, slots=True)
class RangeProgress:
    """The progress in a range when its last reader had no more entries."""

    reached: Position
    """The position after the last entry of the range that was read; the start of the range if no entry was read."""
    first: tuple[int, int] | None
    """Ledger id and entry id of the first entry that this reader returned. The entry may be after the range."""
    entries: int
    """Number of entries of the range that this reader returned."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The part of a range that no location returned.

    The part is lost if `ledger` no longer exists. Otherwise the part contains only entries that consumers may not see.
    """

    ledger: int
    text: str
    is_common: bool = False
    """True if a missing part is usually no loss: topics with transactions have entries that consumers do not see."""


class Location(ABC):
    """A place to read from. Subclasses are frozen dataclasses that set `name` and `title`."""

    __slots__ = ()

    name: ClassVar[str]
    """Name in plans, audits, metrics and errors.

    If option `readFrom` has a value for the location, the value is this name.
    """
    title: ClassVar[str]
    """Name for sentences such as "Reading the rest of a range from <title>"."""
    is_broker: ClassVar[bool] = False
    """True if this is the broker, the last resort after another location fails."""

    @property
    def ledger_id(self) -> int | None:
        """The id of the only ledger that is read; None if a range may include several ledgers."""
        return None

    @abstractmethod
    def missing(self, start: Position, end: Position, progress: RangeProgress) -> Missing | None:
        """Return the part of a range that may be lost; None if nothing is lost.

        The range was planned for this location.

        The method is called if no location returned the range up to its end.
        """

    @abstractmethod
    def gives(self, ledger: Ledger, start: Position, end: Position) -> bool:
        """Return whether a read of the range returns entries of `ledger`, a ledger of the topic partition."""

    def copy_url(self, partition: TopicPartition) -> str | None:
        """Return the URL of the copy of the ledger that is read; None if the ledger itself is read."""
        del partition
        return None

    def joined(self, following: Location, *, adjacent: bool) -> Location | None:
        """Return the location for two ranges that one read can cover; None if the ranges need two reads.

        `adjacent` means that the second range begins exactly where the first range ends.
        """
        return self if adjacent and following == self else None


class EntryLocation(Location):
    """A location that returns entries."""

    __slots__ = ()

    returns_whole_ledger: ClassVar[bool] = False
    """True if a read always returns all entries of the ledger.

    The reader then drops the entries outside of its range.
    """

    @abstractmethod
    def open(
        self, access: PartitionAccess, start: Position, end: Position
    ) -> Generator[EntryBatch, None, None]:
        """Yield the entries of the range, in order. The method runs only on executors.

        Nothing is opened before the first entry is read. Close the generator if you stop before its end. The generator
        may also yield entries outside of the range, and repeated entries. The reader of the range drops such entries.

        Raises:
            LedgerUnavailable, ConnectionFailed, CorruptEntryError, OptionError, PrerequisiteMissing: The location does
                not return all entries of the range.

        """

    @abstractmethod
    def ledger_parts(
        self, ledgers: Sequence[Ledger] | None, start: Position, end: Position
    ) -> tuple[LedgerPart, ...] | None:
        """Return the entries that a read of the range returns, by ledger; None if they are unknown.

        `ledgers` contains the ledgers of the topic partition. None means that the ledgers are unknown.
        """

    def replica(self, access: PartitionAccess) -> EntryLocation | None:
        """Return another location, except the broker, that may have the same entries; None if no other is known.

        The method is called only on executors, after a read from this location failed.
        """
        del access
        return None

    def expected_entries(self, start: Position, end: Position) -> int | None:
        """Return the number of entries that a read of the range must return; None if the number is unknown.

        With `returns_whole_ledger`, the result is the number of entries of the ledger.
        """
        del start, end
        return None

    def with_entries(self, entries: int | None) -> EntryLocation:
        """Return the location for a range with this number of entries. `entries` is None if the number is unknown."""
        del entries
        return self


class RowLocation(Location):
    """A location that returns rows."""

    __slots__ = ()

    @abstractmethod
    def rows(
        self, access: PartitionAccess, start: Position, end: Position, request: RowRequest
    ) -> Generator[RowBatch, None, None]:
        """Yield the rows of the range, in order: the same rows that decoding the range's entries would yield.

        The method runs only on executors. Nothing is opened before the first row is read. Close the generator if you
        stop before its end.

        Raises:
            ColumnsUnavailable, OptionError, PrerequisiteMissing: The location does not return all rows of the range.
            PulsarError: For the same reasons as a decoder.

        """

    @abstractmethod
    def file_part(self, start: Position, end: Position) -> FilePart:
        """Return the number of files, rows and bytes that a read of the range needs."""


def entry_range(ledger: Ledger, start: Position, end: Position) -> tuple[int, int]:
    """Return the first and the last entry (inclusive) of the ledger that contain messages of the range.

    The range must include positions of the ledger. If no entry contains such messages, the returned last entry is
    before the first entry.
    """
    first = start.entry if start.ledger == ledger.id else 0
    if end.ledger != ledger.id:
        return first, ledger.entries - 1
    # An end in the middle of a batched entry is after some messages of that entry.
    last = end.entry - (end.batch_index == 0)
    # The open ledger may have grown after its entries were counted.
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
