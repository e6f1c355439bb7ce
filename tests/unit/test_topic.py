"""Topic names: every form parses to one name, and what is no name is refused with words."""

import pytest

from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.topic import Namespace, TopicName, TopicPartition


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("orders", "persistent://public/default/orders"),
        ("acme/sales/orders", "persistent://acme/sales/orders"),
        ("persistent://acme/sales/orders", "persistent://acme/sales/orders"),
        ("non-persistent://acme/sales/orders", "non-persistent://acme/sales/orders"),
        (" orders ", "persistent://public/default/orders"),
        ("Große.Straße-1", "persistent://public/default/Große.Straße-1"),
    ],
)
def test_every_form_of_a_name(text: str, full: str) -> None:
    assert str(TopicName.parse(text)) == full
    assert TopicName.parse(full) == TopicName.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a/b",
        "kafka://a/b/c",
        "persistent://a/b",
        "persistent://a/b/",
        "a/b/c/d",
        "a b",
        "ä/b/c",
        "//",
        "a//c",
    ],
)
def test_a_bad_name_is_refused(text: str) -> None:
    with pytest.raises(TopicNameError, match="topic"):
        TopicName.parse(text)


def test_partition_suffix() -> None:
    name = TopicName.parse("orders-partition-12")
    assert name.partition == 12
    assert name.without_partition().local == "orders"
    assert name.without_partition().with_partition(12) == name
    assert TopicName.parse("orders-partition-x").partition == -1


def test_a_topic_partition_prints_as_the_broker_knows_it() -> None:
    for text in ("persistent://a/b/c", "persistent://a/b/c-partition-0"):
        assert TopicPartition.parse(text).name == text
    assert TopicPartition.parse("persistent://a/b/c").partition == -1


@pytest.mark.parametrize(
    ("local", "system"),
    [
        ("__change_events", True),
        ("__transaction_buffer_snapshot-partition-0", True),
        ("orders-sub__transaction_pending_ack", True),
        ("orders", False),
        ("my__orders", False),
    ],
)
def test_system_topics(local: str, system: bool) -> None:
    assert TopicName("persistent", Namespace("a", "b"), local).is_system is system
