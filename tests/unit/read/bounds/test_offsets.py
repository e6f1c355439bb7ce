"""Bounds of offsets: symbols and JSON, and every way in which JSON may not fit the topics."""

import json

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.offset_bound import OffsetBound
from pyspark_pulsar.read.bounds.offsets import check_reachable, resolve_bound

A = TopicPartition.parse("persistent://public/default/a")
B = TopicPartition.parse("persistent://public/default/b-partition-1")
ENDS = {A: Position(5, 10), B: EARLIEST}


def resolve(
    key: str, text: str, partitions: list[TopicPartition], ends: dict[TopicPartition, Position]
) -> dict[TopicPartition, Position]:
    return resolve_bound(key, OffsetBound.parse(key, text), partitions, ends)


def test_symbols_are_resolved() -> None:
    assert resolve("startingOffsets", "Earliest", [A, B], ENDS) == {A: EARLIEST, B: EARLIEST}
    assert resolve("endingOffsets", "latest", [A, B], ENDS) == ENDS


def test_json_may_contain_short_names_and_symbols() -> None:
    text = json.dumps({"a": "5:3:2", "b-partition-1": "latest"})
    assert resolve("startingOffsets", text, [A, B], ENDS) == {A: Position(5, 3, 2), B: EARLIEST}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("yesterday", "expected earliest or latest, or JSON"),
        ("[1]", "expected earliest or latest, or JSON"),
        ('{"a": 5}', "expected earliest or latest, or JSON"),
        ('{"a": "5"}', "'5' is no position"),
        ('{"a/b": "5:1"}', "topic"),
    ],
)
def test_a_malformed_bound_is_refused(text: str, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        OffsetBound.parse("startingOffsets", text)
    assert words in str(caught.value)
    assert "startingOffsets" in str(caught.value)


def test_json_must_name_exactly_the_partitions() -> None:
    with pytest.raises(OptionError, match=r"none for .*b-partition-1"):
        resolve("startingOffsets", '{"a": "5:1"}', [A, B], ENDS)
    with pytest.raises(OptionError, match=r"one for .*/c, which the query does not read"):
        resolve("startingOffsets", '{"a": "5:1", "c": "1:1"}', [A], ENDS)


def test_a_position_after_the_last_message_is_refused() -> None:
    check_reachable("endingOffsets", {A: Position(5, 10)}, ENDS)
    with pytest.raises(OptionError, match=r"at most 5:10:0 .*, got 5:10:1"):
        check_reachable("endingOffsets", {A: Position(5, 10, 1)}, ENDS)


def test_a_star_is_the_bound_of_all_other_partitions() -> None:
    named = '{"a": "1:2", "*": "earliest"}'
    assert resolve("startingOffsets", named, [A, B], ENDS) == {A: Position(1, 2), B: EARLIEST}
    named = '{"b-partition-1": "1:2", "*": "latest"}'
    assert resolve("startingOffsets", named, [A, B], ENDS) == {A: ENDS[A], B: Position(1, 2)}
    # Each named topic partition must still exist.
    with pytest.raises(OptionError, match="one for persistent://public/default/other"):
        resolve("startingOffsets", '{"other": "1:2", "*": "earliest"}', [A, B], ENDS)
    with pytest.raises(OptionError, match=r"for '\*', .*: expected earliest or latest"):
        OffsetBound.parse("startingOffsets", '{"*": "1:2"}')
