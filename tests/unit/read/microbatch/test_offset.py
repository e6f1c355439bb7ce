"""Stream offsets: the JSON that Spark stores, and the errors for a newer or foreign checkpoint."""

import pytest

from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST, FROM_LATEST
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.microbatch.offset import StreamOffset

A = TopicPartition.parse("persistent://public/default/a-partition-0")
B = TopicPartition.parse("persistent://public/default/b")


def test_the_document_is_readable_and_stable() -> None:
    offset = StreamOffset({B: Position(3, 4, 5), A: EARLIEST}, {A: Position(1, 2)})
    assert offset.to_json() == {
        "version": 1,
        "positions": {A.name: "earliest", B.name: "3:4:5"},
        "from": {A.name: "1:2:0"},
    }
    assert StreamOffset.from_json(offset.to_json()) == offset


def test_the_symbol_of_a_query_that_has_not_started() -> None:
    assert StreamOffset(start=FROM_LATEST).to_json() == {"version": 1, "start": "latest"}
    assert StreamOffset.from_json({"version": 1, "start": "latest"}).start == FROM_LATEST


def test_starts_of_partitions() -> None:
    former = StreamOffset({B: Position(3, 4)})
    reached = StreamOffset({A: Position(9, 9), B: Position(5, 0)})
    assert reached.start_of(B, former) == Position(3, 4)
    assert reached.start_of(A, former) == EARLIEST
    assert StreamOffset({A: Position(9, 9)}, {A: Position(1, 0)}).start_of(A, StreamOffset()) == Position(
        1, 0
    )


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"version": 4, "positions": {}},
        {"version": 3, "positions": {}, "drained": 5},
        {"version": 3, "positions": {}, "drained": ["segment://a"]},
        {"version": 2, "positions": {}},
        {"version": 2, "positions": {}, "publishedFrom": "noon"},
        {"version": 2, "positions": {}, "publishedFrom": {"a": None}},
        {"version": 1},
        {"version": 1, "positions": {"a": "x"}},
    ],
)
def test_a_foreign_offset_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(ProtocolError, match="checkpoint"):
        StreamOffset.from_json(document)


def test_every_offset_keeps_the_time_and_older_versions_refuse_it() -> None:
    for time in (TimeBound(all=5), TimeBound(by_name=((A, 7),))):
        first = StreamOffset(start=FROM_EARLIEST, published_from=time)
        later = StreamOffset({A: Position(3, 4)}, published_from=time)
        assert StreamOffset.from_json(first.to_json()) == first
        assert StreamOffset.from_json(later.to_json()) == later
        assert first.to_json()["version"] == later.to_json()["version"] == 2


def test_an_offset_without_news_is_recognized() -> None:
    former = StreamOffset({A: Position(1, 2)}, {A: EARLIEST})
    assert StreamOffset({A: Position(1, 2)}).goes_no_further_than(former)
    assert not StreamOffset({A: Position(1, 3)}).goes_no_further_than(former)
    # Partitions that are read again or appear are news, and so is the start of a query.
    assert not StreamOffset({A: Position(1, 2)}, {A: EARLIEST}).goes_no_further_than(former)
    assert not StreamOffset({A: Position(1, 2), B: EARLIEST}).goes_no_further_than(former)
    assert not StreamOffset().goes_no_further_than(StreamOffset(start=FROM_LATEST))


def test_older_versions_refuse_segments() -> None:
    parent, child = (
        TopicPartition.parse(f"segment://public/default/orders/{name}")
        for name in ("0000-ffff-0", "0000-7fff-1")
    )
    offset = StreamOffset({parent: Position(1, 5), child: EARLIEST}, drained=frozenset({parent}))
    assert offset.to_json() == {
        "version": 3,
        "drained": [parent.name],
        "positions": {parent.name: "1:5:0", child.name: "earliest"},
    }
    assert StreamOffset.from_json(offset.to_json()) == offset
    timed = StreamOffset({child: Position(2, 0)}, published_from=TimeBound(all=5))
    assert timed.to_json()["version"] == 3
    assert StreamOffset.from_json(timed.to_json()) == timed


def test_a_segment_that_is_drained_now_is_news() -> None:
    parent = TopicPartition.parse("segment://public/default/orders/0000-ffff-0")
    former = StreamOffset({parent: Position(1, 5)})
    assert former.goes_no_further_than(former)
    assert not StreamOffset({parent: Position(1, 5)}, drained=frozenset({parent})).goes_no_further_than(
        former
    )
