"""Topic names: every form parses to one name, and what is no name is refused with words."""

import pytest

from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName, TopicPartition, parse_listed


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("orders", "persistent://public/default/orders"),
        ("acme/sales/orders", "persistent://acme/sales/orders"),
        ("persistent://acme/sales/orders", "persistent://acme/sales/orders"),
        ("non-persistent://acme/sales/orders", "non-persistent://acme/sales/orders"),
        (" orders ", "persistent://public/default/ orders "),
        ('has space\t"%2F?#\n', 'persistent://public/default/has space\t"%2F?#\n'),
        ("\N{NO-BREAK SPACE}", "persistent://public/default/\N{NO-BREAK SPACE}"),
        ("a/b/...", "persistent://a/b/..."),
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
        " ",
        "\n\u3000",
        "-partition-3",
        " -partition-0",
        "-partition-\uff11",
        ".",
        "..",
        "persistent://a/b/..",
        "persistent://../../tenants",
        "persistent://a/./c",
        "nul\0",
        "half a pair \ud800",
        "persistent://a/b\n/c",
        "persistent://a/cluster/b/c",
        "persistent://a/b/c://d",
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


@pytest.mark.parametrize(
    "suffix",
    [
        "01",
        "00",
        "+1",
        "-1",
        "",
        "99999999999",
        "2147483648",
        "\u0663",
        "\uff11",
        "1\n",
        "1 ",
        "1-y",
        "1_",
    ],
)
def test_a_suffix_that_names_no_partition(suffix: str) -> None:
    name = TopicName.parse(f"orders-partition-{suffix}")
    assert name.partition == -1
    assert name.without_partition() == name
    assert TopicPartition.parse(str(name)).name == str(name)


def test_unusable_names_of_a_list_are_returned_separately() -> None:
    topics, unusable = parse_listed(["persistent://a/b/c d", "persistent://a/b/..", "persistent://a/x/b/c"])
    assert topics == [TopicName.parse("persistent://a/b/c d")]
    assert unusable == ["persistent://a/b/..", "persistent://a/x/b/c"]


@pytest.mark.parametrize("text", ["a", "a/b/c", "../b", "a/..", "a/", "a b/c", "a/b\n", "ä/b"])
def test_no_namespace(text: str) -> None:
    with pytest.raises(TopicNameError, match="namespace"):
        Namespace.parse(text)


def test_a_topic_partition_prints_as_the_broker_knows_it() -> None:
    for text in ("persistent://a/b/c", "persistent://a/b/c-partition-0"):
        assert TopicPartition.parse(text).name == text
    assert TopicPartition.parse("persistent://a/b/c").index == -1


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


def test_a_scalable_topic_is_refused_unless_it_is_expected() -> None:
    text = "topic://public/default/orders"
    with pytest.raises(TopicNameError, match=r"got a scalable topic of Pulsar 5.* can be read"):
        TopicName.parse(text)
    topic = TopicName.parse(text, scalable=True)
    assert topic.is_scalable
    assert not topic.is_persistent
    assert str(topic) == text
    assert topic.as_scalable == TopicName.parse("orders").as_scalable == topic


@pytest.mark.parametrize("scalable", [True, False])
def test_a_segment_is_no_topic(scalable: bool) -> None:
    with pytest.raises(TopicNameError, match="name the topic: topic://public/default/orders"):
        TopicName.parse("segment://public/default/orders/0000-7fff-1", scalable=scalable)


@pytest.mark.parametrize(
    "text", ["topic://a/b/x-partition-0", "topic://a/b", "topic://a/b/c/d", "topic://a/b/"]
)
def test_a_bad_name_of_a_scalable_topic(text: str) -> None:
    with pytest.raises(TopicNameError):
        TopicName.parse(text, scalable=True)


def test_a_segment_is_a_partition_of_its_topic() -> None:
    name = "segment://public/default/orders/0000-7fff-12"
    segment = TopicPartition.parse(name)
    assert segment.is_segment
    assert (str(segment.topic), segment.index, segment.hashes) == (
        "topic://public/default/orders",
        12,
        (0, 0x7FFF),
    )
    assert segment.name == name
    assert segment.as_topic.local == "orders/0000-7fff-12"
    assert (
        sorted([segment, TopicPartition.parse("segment://public/default/orders/8000-ffff-2")])[1] == segment
    )
    assert TopicPartition.parse("topic://public/default/orders") == TopicPartition(segment.topic, -1)


@pytest.mark.parametrize(
    "descriptor", ["0000-7fff", "0000-7FFF-1", "0-7fff-1", "0000-7fff-01", "0000-7fff--1", ""]
)
def test_a_bad_name_of_a_segment(descriptor: str) -> None:
    with pytest.raises(TopicNameError):
        TopicPartition.parse(f"segment://public/default/orders/{descriptor}")
