"""Topics that are named where one does not exist."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pyspark_pulsar.client.broker.missing_topic import missing_topic, near_names
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.topic import TopicName

ORDERS = TopicName.parse("persistent://public/default/order")


def names(*local: str) -> list[TopicName]:
    return [TopicName.parse(f"persistent://public/default/{each}") for each in local]


@pytest.mark.parametrize(
    ("listed", "near"),
    [
        (["orders", "payments"], ["orders"]),
        (["Order", "ordre"], ["Order", "ordre"]),
        (["orders-partition-0", "orders-partition-1"], ["orders"]),
        (["orders", "order1", "order2", "order3"], None),
        (["payments"], []),
        (["__order", "__pyspark-pulsar-order-begun"], []),
        ([], []),
    ],
)
def test_similar_names(listed: list[str], near: list[str] | None) -> None:
    found = near_names(ORDERS, names(*listed))
    if near is None:
        assert len(found) == 3
    else:
        assert found == [f"persistent://public/default/{each}" for each in near]


def test_too_many_names_are_not_compared() -> None:
    assert near_names(ORDERS, names("orders", *(f"t{number}" for number in range(20_000)))) == []


def test_the_error() -> None:
    text = str(missing_topic(ORDERS, lambda: names("orders", "orderz")))
    assert text == (
        "topic persistent://public/default/order does not exist; create it, or correct the name (a read never creates "
        "a topic); did you mean 'persistent://public/default/orders' or 'persistent://public/default/orderz'?"
    ) or text.endswith(
        "did you mean 'persistent://public/default/orderz' or 'persistent://public/default/orders'?"
    )


def test_a_role_that_may_not_list_topics_is_shown_none() -> None:
    def refused() -> Iterable[TopicName]:
        raise PermissionDenied("not you")

    assert str(missing_topic(ORDERS, refused)).endswith("(a read never creates a topic)")
