"""Options that scalable topics do not support, and the advice in their errors."""

from __future__ import annotations

import pytest

from pyspark_pulsar.errors import OptionError, TopicNameError
from pyspark_pulsar.history.tiering.topic_rounds import tiered_topics
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.bounds.topics import named_topics

TOPIC = {"service.url": "pulsar://h:1", "admin.url": "http://h:2", "topic": "topic://public/default/orders"}


@pytest.mark.parametrize("allowed", [{}, {"readFrom": "broker"}, {"startingOffsets": "latest"}])
def test_a_scalable_topic_is_read_from_brokers(allowed: dict[str, str]) -> None:
    assert [str(topic) for topic in named_topics(parse_options(ReadOptions, TOPIC | allowed))] == [
        TOPIC["topic"]
    ]


@pytest.mark.parametrize(
    ("refused", "advice"),
    [
        ({"readFrom": "bookie"}, "leave readFrom out"),
        ({"readFrom": "tiered"}, "leave readFrom out"),
        ({"readCompacted": "true"}, "leave readCompacted out"),
        ({"subscriptionName": "s"}, "start at startingOffsets or at a time"),
        ({"startingSubscription": "s"}, "start at startingOffsets or at a time"),
    ],
)
def test_an_unsupported_option_is_refused(refused: dict[str, str], advice: str) -> None:
    (key, value) = next(iter(refused.items()))
    with pytest.raises(
        OptionError, match=rf"topic://public/default/orders .*without {key}={value}.*{advice}"
    ):
        named_topics(parse_options(ReadOptions, TOPIC | refused))


def test_a_scalable_topic_cannot_be_tiered() -> None:
    with pytest.raises(TopicNameError, match="supports no other operation"):
        tiered_topics(parse_options(ReadOptions, TOPIC))
