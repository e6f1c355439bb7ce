"""A plan in numbers: which entries each piece of a split touches, and about how many bytes these are. Driver only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.batch.plan import BatchPlan
from pyspark_pulsar.read.planning.planner import PartitionPlan
from pyspark_pulsar.read.split import FromBroker, FromTieredStorage, Split, SplitRange


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
class PlannedRange:
    """A piece and what it touches; `parts` None where the ledgers are not known."""

    split_range: SplitRange
    parts: tuple[LedgerPart, ...] | None
    copy: str | None = None
    """Where the copy in tiered storage lies that it is read from."""

    @property
    def entries(self) -> int | None:
        return None if self.parts is None else sum(part.entries for part in self.parts)

    @property
    def size(self) -> int | None:
        return None if self.parts is None else sum(part.size for part in self.parts)


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """One task. `number` counts from 0 over all topic partitions, as Spark numbers its tasks."""

    number: int
    split: Split
    ranges: tuple[PlannedRange, ...]

    @property
    def readers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.split_range.location.name for each in self.ranges))

    @property
    def entries(self) -> int | None:
        return _sum([each.entries for each in self.ranges])

    @property
    def size(self) -> int | None:
        return _sum([each.size for each in self.ranges])


def planned_splits(plan: BatchPlan) -> list[PlannedSplit]:
    """In the order of the plan."""
    found = ((partition, split) for partition in plan.partitions for split in partition.splits)
    return [
        PlannedSplit(number, split, tuple(_split_ranges(partition, split)))
        for number, (partition, split) in enumerate(found)
    ]


def ledger_parts(ledgers: Sequence[Ledger], start: Position, end: Position) -> tuple[LedgerPart, ...]:
    """The entries of these ledgers that hold messages from `start` (inclusive) to `end` (exclusive)."""
    found: list[LedgerPart] = []
    for ledger in ledgers:
        first = start.entry if start.ledger == ledger.id else 0
        last = ledger.entries - 1
        if end.ledger == ledger.id:
            # An end in the middle of a batched entry lies behind messages of that entry. The open ledger may have
            # grown since its entries were counted.
            behind = end.entry - (end.batch_index == 0)
            last = behind if ledger.is_open else min(last, behind)
        if start.ledger <= ledger.id <= end.ledger and first <= last:
            size = round(ledger.size / ledger.entries * (last - first + 1)) if ledger.entries else 0
            found.append(LedgerPart(ledger.id, first, last, size))
    return tuple(found)


def _split_ranges(plan: PartitionPlan, split: Split) -> Iterator[PlannedRange]:
    for split_range in split.parts():
        location = split_range.location
        if isinstance(location, FromBroker):
            known = plan.ledgers.ledgers if plan.ledgers is not None else None
            yield PlannedRange(
                split_range,
                None if known is None else ledger_parts(known, split_range.start, split_range.end),
            )
        elif isinstance(location, FromTieredStorage):
            name = location.store.name_of(split.partition, location.ledger)
            yield PlannedRange(
                split_range, _of_one(split_range, location.ledger), f"{location.store.url}/{name}"
            )
        else:
            yield PlannedRange(split_range, _of_one(split_range, location.ledger))


def _of_one(split_range: SplitRange, ledger: Ledger) -> tuple[LedgerPart, ...]:
    if split_range.location.name == "compacted":
        # Its ids are not those of the topic's entries, and which of them lie in the piece is seen when they are read.
        return (LedgerPart(ledger.id, 0, ledger.entries - 1, ledger.size),) if ledger.entries else ()
    return ledger_parts((ledger,), split_range.start, split_range.end)


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
