"""What a range of a topic partition says of where it begins."""

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.bounds.request import RangeRequest

PARTITION = TopicPartition.parse("persistent://public/default/t")


def test_all_of_one_ledger_begins_at_its_first_entry() -> None:
    """Also where a message TTL has moved the cursor that told the ledger."""
    for first in (Position(7, 0), Position(7, 4)):
        request = RangeRequest(PARTITION, EARLIEST, Position(7, 9), first=first)
        assert request.start_in_ledger == Position(7, 0)


def test_where_there_may_be_more_ledgers_it_begins_where_it_was_asked_for() -> None:
    for start, first in ((EARLIEST, Position(6, 0)), (EARLIEST, None), (Position(7, 2), Position(7, 0))):
        assert RangeRequest(PARTITION, start, Position(7, 9), first=first).start_in_ledger == start
