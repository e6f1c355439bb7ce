"""The segments of a scalable topic as brokers list them, and lists that are refused."""

from __future__ import annotations

import pytest

from pyspark_pulsar.client.broker.requests import layout_from
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import OptionError, ProtocolError, TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.topic_layout import TopicLayout, TopicSegment, readable_segments, topic_layout

TOPIC = TopicName.parse("topic://public/default/orders", scalable=True)


def listed(*segments: wire.SegmentInfoProto) -> TopicLayout:
    dag = wire.ScalableTopicDAG(epoch=1, segments=segments)
    return layout_from(wire.CommandScalableTopicUpdate(session_id=1, dag=dag), TOPIC)


def segment(
    number: int, *parents: int, sealed: bool = False, legacy: str | None = None
) -> wire.SegmentInfoProto:
    return wire.SegmentInfoProto(
        segment_id=number, hash_start=0, hash_end=65535, state=int(sealed), parent_ids=parents,
        legacy_topic_name=legacy,
    )  # fmt: skip


def test_segments_are_partitions_in_the_order_of_ids() -> None:
    layout = listed(segment(2, 0, 1), segment(0, sealed=True), segment(1, sealed=True))
    assert [each.name for each in layout.partitions] == [
        f"segment://public/default/orders/0000-ffff-{number}" for number in (0, 1, 2)
    ]
    assert layout.sealed == set(layout.partitions[:2])
    assert layout.ancestors[layout.partitions[2]] == layout.sealed


def test_segments_of_before_a_migration_are_topics_as_before() -> None:
    old = "persistent://public/default/orders-partition-0"
    layout = listed(segment(0, sealed=True, legacy=old), segment(1, 0))
    assert [each.name for each in layout.partitions] == [old, "segment://public/default/orders/0000-ffff-1"]
    assert readable_segments(layout, ()) == {layout.partitions[0]}


def test_ancestors_that_are_gone_hold_nothing_up() -> None:
    layout = listed(segment(7, 3, 4))
    assert readable_segments(layout, ()) == set(layout.partitions)


@pytest.mark.parametrize(
    "segments",
    [
        [TopicSegment(0, 0, 65535, False), TopicSegment(0, 0, 65535, False)],
        [TopicSegment(1, 0, 65535, False, (1,))],
        [TopicSegment(1, 0, 65535, False, (2,)), TopicSegment(2, 0, 65535, False)],
        [TopicSegment(0, 5, 4, False)],
        [TopicSegment(0, 0, 65536, False)],
    ],
)
def test_an_invalid_layout_is_refused(segments: list[TopicSegment]) -> None:
    with pytest.raises(ProtocolError, match="here: expected the segments"):
        topic_layout(TOPIC, segments, "here")


@pytest.mark.parametrize(("code", "kind"), [(11, TopicNotFoundError), (22, OptionError)])
def test_schemas_that_a_broker_refuses(code: int, kind: type[Exception]) -> None:
    answer = wire.CommandScalableTopicUpdate(session_id=1, error=code, message="no")
    with pytest.raises(kind, match=r"reading the segments of topic://public/default/orders.*: no"):
        layout_from(answer, TOPIC)
