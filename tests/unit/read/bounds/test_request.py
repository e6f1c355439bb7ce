"""The start of a requested range."""

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.bounds.request import RangeRequest

PARTITION = TopicPartition.parse("persistent://public/default/t")


def test_a_range_of_one_whole_ledger_begins_at_its_first_entry() -> None:
    """A message TTL may have advanced the cursor that showed the ledger."""
    for first in (Position(7, 0), Position(7, 4)):
        request = RangeRequest(PARTITION, EARLIEST, Position(7, 9), first=first)
        assert request.start_in_ledger == Position(7, 0)


def test_a_range_of_several_ledgers_begins_at_the_requested_start() -> None:
    for start, first in ((EARLIEST, Position(6, 0)), (EARLIEST, None), (Position(7, 2), Position(7, 0))):
        assert RangeRequest(PARTITION, start, Position(7, 9), first=first).start_in_ledger == start
