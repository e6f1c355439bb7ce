"""The output of DESCRIBE EXTENDED, as far as a role may see it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from unit.catalog.stand_ins import Admin, Broker, cluster_of

from pyspark_pulsar.catalog.statements import describe_table
from pyspark_pulsar.catalog.statements.describe_table import table_properties, version_number
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied, ProtocolError, TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

HERE = ["public/default"]
ORDERS = "persistent://public/default/orders"
STRING = SchemaInfo("s", SchemaType.STRING, version=(2).to_bytes(8, "big"))
THERE = Broker(there={ORDERS: (4, STRING)})
OF_BROKER = {
    "partitions": "4",
    "value_format": "string",
    "pulsar.topic": ORDERS,
    "pulsar.schema.type": "STRING",
    "pulsar.schema.version": "2",
}
OF_STATS = {
    "pulsar.backlog.messages": "7",
    "pulsar.backlog.bytes": "70",
    "pulsar.storage.bytes": "100",
    "pulsar.subscriptions": "a, b",
}


class Stats(Admin):
    @property
    def topics(self) -> Any:
        return SimpleNamespace(stats=self._stats, properties=self._topic_properties)

    def _stats(self, topic: TopicName, partitions: int) -> dict[str, Any]:
        self.note("stats")
        assert partitions == 4
        subscriptions = {"b": {"msgBacklog": 7}, "a": {"msgBacklog": 1}}
        return {"subscriptions": subscriptions, "backlogSize": 70, "storageSize": 100}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return the write side's properties, or the error that refuses them."""

    def give(found: dict[str, str] | Exception) -> None:
        def properties(admin: Any, topic: TopicName, partitions: int) -> dict[str, str]:
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(describe_table, "stored_properties", properties)

    return give


def test_all_of_it(stored: Callable[..., None]) -> None:
    stored({"partitions": "4", "retention_time": "7d", "comment": "x"})
    shown = table_properties(cluster_of(THERE, Stats()), HERE, "orders")
    assert shown == OF_BROKER | OF_STATS | {"retention_time": "7d", "comment": "x"}


def test_without_admin_url() -> None:
    assert table_properties(cluster_of(THERE), HERE, "orders") == OF_BROKER


@pytest.mark.parametrize("fault", [PermissionDenied("no"), ProtocolError("405"), TopicNotFoundError("no")])
def test_topics_that_a_role_may_not_see_are_left_out(stored: Callable[..., None], fault: Exception) -> None:
    stored(fault)
    assert table_properties(cluster_of(THERE, Stats()), HERE, "orders") == OF_BROKER | OF_STATS
    own = {ORDERS: {"pyspark-pulsar.key_column": "value", "pyspark-pulsar.other": "x", "comment": "x"}}
    shown = table_properties(cluster_of(THERE, Stats(properties=own)), HERE, "orders")
    assert shown == OF_BROKER | OF_STATS | {"key_column": "value", "comment": "x"}
    stored({"comment": "x"})
    admin = Stats(refuses={"stats": PermissionDenied("no")})
    assert table_properties(cluster_of(THERE, admin), HERE, "orders") == OF_BROKER | {"comment": "x"}


def test_what_cannot_be_reached_is_no_lack_of_properties(stored: Callable[..., None]) -> None:
    """SHOW CREATE TABLE would show another table."""
    stored(ConnectionFailed("away"))
    with pytest.raises(ConnectionFailed):
        table_properties(cluster_of(THERE, Stats()), HERE, "orders")


def test_a_system_table() -> None:
    assert table_properties(cluster_of(THERE), HERE, "orders$offsets") == {"pulsar.topic": ORDERS}


def test_versions_of_other_registries() -> None:
    assert version_number((12).to_bytes(8, "big")) == "12"
    assert version_number(b"\x01\xff") == "01ff"
