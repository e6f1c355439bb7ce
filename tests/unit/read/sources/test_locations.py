"""A location is one class. Readers, planner, audit and display use its methods, and no code checks its class."""

from __future__ import annotations

import pickle
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from fixtures.plans import plan_of

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.policy import TieredStore
from pyspark_pulsar.inspect.planned_splits import planned_splits
from pyspark_pulsar.inspect.segments import reader_of
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import ALL_TIMES
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import EntryLocation, PartitionAccess
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan
from pyspark_pulsar.read.planning.splits.packing import Limits, PartitionRange, cut
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.closed_ledger import ClosedLedger
from pyspark_pulsar.read.sources.compacted import FromCompactedLedger
from pyspark_pulsar.read.sources.offloaded import FromTieredStorage
from pyspark_pulsar.read.task.audit import SplitAudit
from pyspark_pulsar.read.task.fallback import RangeReader

PARTITION = TopicPartition.parse("persistent://public/default/t")
LEDGER = Ledger(7, 10, 1000, None, 1, offload_id="u")
PLACES: tuple[EntryLocation, ...] = (
    FromBroker(3),
    FromBookies(LEDGER, ("b:1",)),
    FromTieredStorage(LEDGER, TieredStore("s3://b")),
    FromCompactedLedger(LEDGER),
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_a_location_is_pickled(place: EntryLocation) -> None:
    assert pickle.loads(pickle.dumps(place)) == place


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_the_attributes_of_a_location_agree(place: EntryLocation) -> None:
    start, end = Position(7, 2), Position(7, 6, 1)
    expected, parts = place.expected_entries(start, end), place.ledger_parts((LEDGER,), start, end)
    assert parts is not None
    entries = sum(part.entries for part in parts)
    assert expected in (None, entries)
    assert entries == (10 if place.returns_whole_ledger else 5)
    assert place.gives(LEDGER, start, end)
    assert isinstance(place, ClosedLedger) <= (expected is not None)
    assert (place.ledger_id is None) == place.is_broker


def test_adjacent_ranges_of_a_location_are_joined() -> None:
    broker, bookies, tiered, _ = PLACES
    assert broker.joined(FromBroker(4), adjacent=False) == FromBroker(7)
    assert broker.joined(FromBroker(), adjacent=True) == FromBroker()
    assert broker.joined(bookies, adjacent=True) is None
    assert bookies.joined(bookies, adjacent=True) == bookies
    assert bookies.joined(bookies, adjacent=False) is None
    assert bookies.joined(tiered, adjacent=True) is None


@dataclass(frozen=True, slots=True)
class FromShelf(ClosedLedger):
    """A kind of location that the product does not know."""

    name: ClassVar[str] = "shelf"
    title: ClassVar[str] = "the shelf"

    def stored_entries(
        self, access: PartitionAccess, first: int, last: int
    ) -> Generator[EntryBatch, None, None]:
        batch = EntryBatch()
        for entry in range(first, last + 1):
            batch.push(self.ledger.id, entry, b"")
        yield batch


def test_a_new_kind_of_location_is_one_class() -> None:
    located = LedgerRange(Position(7, 0), Position(7, 10), LEDGER, FromShelf(LEDGER))
    asked = PartitionRange(PARTITION, EARLIEST, Position(7, 10), (located,), 1.0, ALL_TIMES)
    splits = cut([asked], Limits(max_bytes=500))
    plan = plan_of(PartitionPlan(PARTITION, EARLIEST, Position(7, 10), None, tuple(splits)))
    assert [(split.readers, split.entries) for split in planned_splits(plan)] == [(("shelf",), 5)] * 2
    assert reader_of(LEDGER, splits[1].ranges) == "shelf"
    no_client: Any = None
    access = PartitionAccess(ReadOptions(service_url="pulsar://x:1", topic="t"), PARTITION, no_client)
    for split in splits:
        audit = SplitAudit(split)
        (entries,) = RangeReader(access, audit).entries(split.ranges[0])
        assert (len(entries), entries.unfiltered) == (5, True)
        assert [(part.reader, part.entries, part.short) for part in audit.document(None).parts] == [
            ("shelf", 5, False)
        ]
