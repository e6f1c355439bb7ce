"""`topicsPattern`: the namespaces and topics that a pattern matches, and patterns that are refused."""

from __future__ import annotations

import pytest

from pyspark_pulsar.errors import OptionError, TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.options.values.topic_pattern import TopicPattern

SHOP = tuple(Namespace("shop", name) for name in ("us", "eu", "eu-test", "a.b"))


def namespaces(text: str) -> list[str]:
    def of_tenant(tenant: str) -> tuple[Namespace, ...]:
        assert tenant == "shop"
        return SHOP

    return [str(each) for each in TopicPattern.parse(text).namespaces(of_tenant)]


def matches(pattern: str, topic: str) -> bool:
    return TopicPattern.parse(pattern).matches(TopicName.parse(topic))


@pytest.mark.parametrize(
    ("pattern", "only"),
    [
        ("orders-.*", "public/default"),
        ("shop/eu/orders-.*", "shop/eu"),
        ("persistent://shop/eu/orders-.*", "shop/eu"),
        ("persistent://shop/a.b/orders", "shop/a.b"),
    ],
)
def test_one_plain_namespace_needs_no_list_of_namespaces(pattern: str, only: str) -> None:
    def unexpected(tenant: str) -> tuple[Namespace, ...]:
        raise AssertionError(tenant)

    assert [str(each) for each in TopicPattern.parse(pattern).namespaces(unexpected)] == [only]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("persistent://shop/.*/orders-.*", ["shop/a.b", "shop/eu", "shop/eu-test", "shop/us"]),
        ("shop/(eu|us)/orders-.*", ["shop/eu", "shop/us"]),
        ("shop/eu.*/.*", ["shop/eu", "shop/eu-test"]),
        ("shop/[a-e]u/.*", ["shop/eu"]),
        # The slash is inside a group: nothing is known of the namespace alone.
        ("shop/(eu/orders|us/bills)", ["shop/a.b", "shop/eu", "shop/eu-test", "shop/us"]),
    ],
)
def test_several_namespaces_of_a_tenant(pattern: str, found: list[str]) -> None:
    assert namespaces(pattern) == found


@pytest.mark.parametrize(
    ("pattern", "topic", "does"),
    [
        ("orders-.*", "orders-1", True),
        ("orders-.*", "my-orders-1", False),
        ("orders-.", "orders-12", False),
        ("orders|bills", "bills", True),
        ("orders|bills", "billsX", False),
        ("orders-.*", "shop/eu/orders-1", False),
        ("shop/eu/orders|bills", "shop/eu/bills", True),
        ("shop/eu/.*", "shop/eu/__change_events", False),
        ("persistent://shop/.*/orders-.*", "persistent://shop/eu/orders-1", True),
        ("persistent://shop/.*/orders-.*", "persistent://shopping/eu/orders-1", False),
        ("shop/(eu/orders|us/bills)", "shop/us/bills", True),
        ("shop/(eu/orders|us/bills)", "shop/eu/bills", False),
        ("orders-.*", "orders-has space\nand a line", True),
        ("orders", "orders-partition-01", False),
        ("shop/a.b/x", "shop/a.b/x", True),
        ("shop/a.b/x", "shop/aXb/x", False),
        (r"shop/eu/[/\]]?x", "shop/eu/x", True),
    ],
)
def test_the_whole_name_is_matched(pattern: str, topic: str, does: bool) -> None:
    assert matches(pattern, topic) is does


@pytest.mark.parametrize(
    "pattern",
    [
        "non-persistent://shop/eu/x",
        ".*/eu/x",
        "persistent://(a|b)/eu/x",
        "persistent://shop",
        "shop/eu/(",
        "shop/(/x",
    ],
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(OptionError, match="topicsPattern"):
        TopicPattern.parse(pattern)


def test_scalable_topics_are_named() -> None:
    with pytest.raises(
        OptionError, match=r"a pattern does not find scalable topics: list their names in option 'topics'"
    ):
        TopicPattern.parse("topic://shop/eu/x.*")


@pytest.mark.parametrize("pattern", ["../eu/x", "shop/../x", "persistent://shop/./.*"])
def test_folders_are_no_names(pattern: str) -> None:
    with pytest.raises(TopicNameError):
        TopicPattern.parse(pattern)
