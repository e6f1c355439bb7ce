"""Checkpoints of other topics: refused, or continued if an option allows it."""

from __future__ import annotations

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.topic_pattern import TopicPattern
from pyspark_pulsar.read.microbatch.topics.checkpoint_topics import abandoned_topics

A, B = TopicPartition.parse("a"), TopicPartition.parse("b")
P0, P1 = (TopicPartition.parse(f"p-partition-{index}") for index in range(2))


def abandoned(
    *held: TopicPartition, gone: tuple[TopicPartition, ...] = (), **options: object
) -> frozenset[TopicPartition]:
    given = ReadOptions(service_url="pulsar://h:1", **options)  # type: ignore[arg-type]

    def deleted(partitions: set[TopicPartition]) -> set[TopicPartition]:
        assert partitions
        return partitions & set(gone)

    return abandoned_topics(given, dict.fromkeys(held, Position(12, 7)), deleted)


@pytest.mark.parametrize(
    ("held", "options"),
    [
        ((), {"topic": "a"}),
        ((A,), {"topic": "a"}),
        ((A,), {"topic": "persistent://public/default/a"}),
        ((A,), {"topic": "public/default/a"}),
        ((A,), {"topics": ("b", "a")}),
        ((A,), {"topics_pattern": TopicPattern.parse(".*")}),
        ((P0, P1), {"topic": "p"}),
        ((P0,), {"topic": "p-partition-0"}),
        ((P0,), {"topic": "p"}),
        ((P0, P1), {"topics": ("p-partition-1", "p-partition-0")}),
        ((P0, P1), {"topics_pattern": TopicPattern.parse("persistent://public/default/[a-p]")}),
    ],
)
def test_options_that_name_all_topics_of_the_checkpoint(
    held: tuple[TopicPartition, ...], options: dict[str, object]
) -> None:
    assert abandoned(*held, **options) == frozenset()


@pytest.mark.parametrize(
    ("held", "options", "key", "missing"),
    [
        ((A,), {"topic": "b"}, "'topic'.*'b'", "default/a"),
        ((A, B), {"topics": ("b", "c")}, "'topics'.*'b,c'", "default/a"),
        ((A,), {"topic": "t/n/a"}, "'topic'.*'t/n/a'", "default/a"),
        ((P0, P1), {"topic": "p-partition-0"}, "'topic'.*'p-partition-0'", "p-partition-1"),
        ((A, P0), {"topics_pattern": TopicPattern.parse("[b-z]")}, "'topicsPattern'.*'.b-z.'", "default/a"),
    ],
)
def test_topics_that_are_no_longer_named_are_refused_or_abandoned(
    held: tuple[TopicPartition, ...],
    options: dict[str, object],
    key: str,
    missing: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(
        OptionError, match=rf"option {key}.*{missing} \(read up to 12:7:0\).*allowDifferentTopics"
    ):
        abandoned(*held, **options)
    found = abandoned(*held, different_topics=True, **options)
    assert [each.name for each in found] == [TopicPartition.parse(missing.removeprefix("default/")).name]
    assert f"{missing} (read up to 12:7:0)" in caplog.text


def test_topics_that_no_longer_exist_are_a_data_loss() -> None:
    assert abandoned(A, gone=(A,), topic="b") == frozenset()
    assert abandoned(A, gone=(A,), topics_pattern=TopicPattern.parse("[b-z]")) == frozenset()
    with pytest.raises(OptionError, match="default/b"):
        abandoned(A, B, gone=(A,), topic="c")


def test_the_error_names_some_of_many_topics() -> None:
    held = [TopicPartition.parse(f"t{number:04}") for number in range(3_000)]
    with pytest.raises(OptionError, match=r"t0009 \(read up to 12:7:0\) and 2990 more: expected") as caught:
        abandoned(*held, topic="b")
    assert len(str(caught.value)) < 2_000
