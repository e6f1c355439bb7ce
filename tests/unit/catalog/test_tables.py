"""The namespaces and tables that are listed, and the description of a table that a query gets."""

import json

import pytest
from unit.catalog.stand_ins import URLS, Admin, Broker, cluster_of

from pyspark_pulsar.catalog.tables import list_namespaces, list_tables, load_table
from pyspark_pulsar.errors import (
    ConnectionFailed,
    NamespaceNotFoundError,
    PermissionDenied,
    TopicNameError,
    TopicNotFoundError,
)
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

ORDERS = "persistent://public/default/orders"
RECORD = json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}).encode()
AVRO = SchemaInfo("orders", SchemaType.AVRO, RECORD, version=bytes(8))
HERE = ["public/default"]
DENIED = PermissionDenied("no")
NAMESPACES = {"a/x": [], "a/y": [], "public/default": [], "public/functions": [], "pulsar/system": []}


# Namespaces


def test_the_namespaces_of_all_tenants() -> None:
    admin = Admin(topics_there=NAMESPACES)
    assert list_namespaces(cluster_of(admin=admin), []) == [
        ["a", "x"],
        ["a", "y"],
        ["public", "default"],
    ]
    assert admin.counts["tenants"] == 1
    assert admin.counts["namespaces"] == 2


def test_the_namespaces_of_one_tenant() -> None:
    cluster = cluster_of(admin=Admin(topics_there=NAMESPACES))
    assert list_namespaces(cluster, ["a"]) == [["a", "x"], ["a", "y"]]
    assert list_namespaces(cluster, ["a", "x"]) == []
    with pytest.raises(NamespaceNotFoundError, match="tenant 'b'"):
        list_namespaces(cluster, ["b"])


def test_namespaces_that_pulsar_uses_internally() -> None:
    cluster = cluster_of(admin=Admin(topics_there=NAMESPACES), systemTopics="true")
    assert ["pulsar", "system"] in list_namespaces(cluster, [])
    assert ["public", "functions"] in list_namespaces(cluster, ["public"])


def test_a_role_that_may_list_no_tenants() -> None:
    admin = Admin(topics_there=NAMESPACES, refuses={"tenants": DENIED})
    assert list_namespaces(cluster_of(admin=admin), []) == [["public", "default"]]
    cluster = cluster_of(admin=admin, defaultNamespace="a/x")
    assert list_namespaces(cluster, []) == [["a", "x"], ["a", "y"]]
    cluster = cluster_of(admin=admin, tenants="a,public,gone")
    assert list_namespaces(cluster, []) == [["a", "x"], ["a", "y"], ["public", "default"]]


def test_a_role_that_may_list_nothing() -> None:
    admin = Admin(topics_there=NAMESPACES, refuses={"tenants": DENIED, "namespaces": DENIED})
    cluster = cluster_of(admin=admin, defaultNamespace="a/x")
    assert list_namespaces(cluster, []) == [["a", "x"]]
    assert list_namespaces(cluster, ["a"]) == [["a", "x"]]
    with pytest.raises(PermissionDenied):
        list_namespaces(cluster, ["public"])


def test_a_refused_tenant_hides_no_other() -> None:
    admin = Admin(topics_there=NAMESPACES, refuses={"namespaces of a": DENIED})
    assert list_namespaces(cluster_of(admin=admin), []) == [["public", "default"]]


def test_namespaces_without_admin_url() -> None:
    assert list_namespaces(cluster_of(), []) == [["public", "default"]]


# Lists of tables


def test_three_thousand_topics_are_one_question() -> None:
    names = [f"persistent://public/default/t{number:04}" for number in range(3_000)]
    admin = Admin(topics_there={"public/default": [*names, "__change_events"]})
    broker = Broker()
    found = list_tables(cluster_of(broker, admin), HERE)
    assert found == [f"t{number:04}" for number in range(3_000)]
    assert admin.counts == {"topics": 1}
    assert not broker.counts


def test_names_as_tables() -> None:
    names = ["B.2", "a$segments", "non-persistent://public/default/n", "__change_events"]
    admin = Admin(topics_there={"public/default": names})
    shown = ["B.2", "a$$segments", "non-persistent://n"]
    assert list_tables(cluster_of(admin=admin), ["public", "default"]) == shown
    cluster = cluster_of(admin=admin, systemTopics="true")
    assert list_tables(cluster, HERE) == sorted([*shown, "__change_events"])


@pytest.mark.parametrize("admin", [None, Admin(refuses={"topics": DENIED})])
def test_lists_by_the_broker(admin: Admin | None) -> None:
    there = dict.fromkeys(
        [
            ORDERS,
            "persistent://public/default/parts",
            "persistent://public/default/parts-partition-0",
            "persistent://public/default/lone-partition-3",
            "persistent://public/default/__change_events",
            "persistent://other/default/x",
        ],
        (0, None),
    )
    broker = Broker(there=there | {"persistent://public/default/parts": (4, None)})
    listed = Broker(
        there={name: found for name, found in broker.there.items() if not name.endswith("/parts")}
    )
    broker.listings = listed.listings  # type: ignore[method-assign]
    assert list_tables(cluster_of(broker, admin), HERE) == ["lone-partition-3", "orders", "parts"]
    assert broker.counts == {"partitions": 1}


def test_a_missing_namespace_or_tenant_is_reported() -> None:
    cluster = cluster_of(admin=Admin(topics_there=NAMESPACES))
    assert list_tables(cluster, ["a"]) == []
    with pytest.raises(NamespaceNotFoundError):
        list_tables(cluster, ["b"])
    with pytest.raises(NamespaceNotFoundError):
        list_tables(cluster, ["a/z"])
    with pytest.raises(TopicNameError):
        list_tables(cluster, ["a", "x", "y"])


# Tables


def test_a_table() -> None:
    admin = Admin(
        properties={ORDERS: {"pyspark-pulsar.key_column": "id", "comment": "All orders", "other": "x"}}
    )
    broker = Broker(there={ORDERS: (4, AVRO)})
    found = load_table(cluster_of(broker, admin, startingOffsets="latest"), HERE, "orders")
    assert found["topic"] == ORDERS
    assert found["comment"] == "All orders"
    assert found["read_options"] == URLS | {"startingOffsets": "latest", "topic": ORDERS}
    assert found["write_options"] == URLS | {"topic": ORDERS, "keyColumn": "id"}
    assert found["schema"]["fields"] == [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]
    assert len(found["metadata"]["fields"]) == 15
    written = [each["name"] for each in found["writable"]["fields"]]
    assert "__deliverAt" in written
    assert "__topic" not in written
    assert json.loads(json.dumps(found)) == found
    assert admin.counts == {"topic_properties": 1}
    assert broker.counts == {"partitions": 1, "schemas": 1}


@pytest.mark.parametrize("admin", [None, Admin(), Admin(refuses={"topic_properties": DENIED})])
def test_a_role_that_may_only_consume(admin: Admin | None) -> None:
    found = load_table(cluster_of(Broker(there={ORDERS: (0, None)}), admin), HERE, "orders")
    assert [each["name"] for each in found["schema"]["fields"]] == ["value"]
    assert "keyColumn" not in found["write_options"]
    assert found["comment"] is None


def test_an_admin_api_that_is_away_is_reported() -> None:
    """Rows would be written without keys."""
    admin = Admin(refuses={"topic_properties": ConnectionFailed("away")})
    with pytest.raises(ConnectionFailed):
        load_table(cluster_of(Broker(there={ORDERS: (0, None)}), admin), HERE, "orders")


@pytest.mark.parametrize(
    "whole", ["persistent://public/default/x", "persistent://public/default/x-partition-3"]
)
def test_the_key_column_of_a_partition(whole: str) -> None:
    """The same holds for a topic whose name only looks like such a name."""
    name = "persistent://public/default/x-partition-3"
    admin = Admin(properties={whole: {"pyspark-pulsar.key_column": "id"}})
    there = {name: (0, None), "persistent://public/default/x": (0, AVRO)}
    found = load_table(cluster_of(Broker(there=there), admin), HERE, "x-partition-3")
    assert found["topic"] == name
    assert found["write_options"]["keyColumn"] == "id"


def test_a_non_persistent_topic() -> None:
    name = "non-persistent://public/default/n"
    found = load_table(cluster_of(Broker(there={name: (0, AVRO)})), HERE, "non-persistent://n")
    assert found["topic"] == name
    assert found["schema"]["fields"][0]["name"] == "id"


def test_the_column_of_bad_rows() -> None:
    cluster = cluster_of(Broker(there={ORDERS: (0, AVRO)}), mode="PERMISSIVE")
    found = load_table(cluster, HERE, "orders")
    assert [each["name"] for each in found["schema"]["fields"]] == ["id"]
    assert found["metadata"]["fields"][-1]["name"] == "_corrupt_record"


def test_a_system_table() -> None:
    cluster = cluster_of(Broker(there={ORDERS: (0, AVRO)}))
    found = load_table(cluster, HERE, "orders$offsets")
    assert found["system"] == "offsets"
    assert found["schema"]["fields"][0]["name"] == "partition"
    assert found.keys() == {"system", "schema"}


@pytest.mark.parametrize("table", ["gone", "gone$offsets"])
def test_no_table(table: str) -> None:
    with pytest.raises(TopicNotFoundError):
        load_table(cluster_of(), HERE, table)
