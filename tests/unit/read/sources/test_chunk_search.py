"""The starts of a search for chunks: each is earlier, no ledger is searched twice, the last is before all."""

from itertools import pairwise

from hypothesis import given, strategies as st

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.read.sources.chunk_search import starts_before


@given(
    ledgers=st.lists(st.integers(0, 2**40), min_size=1, unique=True).map(sorted),
    entry=st.integers(0, 10_000),
    reach=st.integers(1, 100),
)
def test_starts_grow_to_the_beginning(ledgers: list[int], entry: int, reach: int) -> None:
    last = ledgers[-1]
    asked: list[Position] = []

    def first_at(position: Position) -> Position:
        """Return the first entry of the next existing ledger, like a broker."""
        asked.append(position)
        return next(Position(ledger, 0) for ledger in ledgers if ledger >= position.ledger)

    starts = list(starts_before(last, entry, reach, first_at))
    assert all(late > early for late, early in pairwise(starts))
    assert all(start < Position(last, entry) for start in starts)
    first = Position(ledgers[0], 0)
    if first < Position(last, entry):
        assert starts[-1] in {first, EARLIEST}
    else:
        assert starts == []
    assert len(asked) <= 42


def test_the_reach_grows_within_the_ledger_first() -> None:
    ledgers = {900: 0, 400: 0, 7: 3}

    def first_at(position: Position) -> Position:
        ledger = min(ledger for ledger in ledgers if ledger >= position.ledger)
        return Position(ledger, ledgers[ledger])

    starts = [str(start) for start in starts_before(900, 2000, 16, first_at)]
    assert starts == ["900:1984:0", "900:1872:0", "900:976:0", "900:0:0", "400:0:0", "earliest"]


def test_a_topic_that_begins_with_the_message_is_not_searched_for_earlier_ledgers() -> None:
    asked: list[Position] = []

    def first_at(position: Position) -> Position:
        asked.append(position)
        return Position(10**6, 0)

    starts = [str(start) for start in starts_before(10**6, 20, 16, first_at)]
    assert starts == ["1000000:4:0", "1000000:0:0"]
    assert asked == [Position(10**6 - 1, 0), EARLIEST]
