"""The catalog's process over its pipes, as the JVM drives it, against a real server."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pulsar as official_client
import pytest
from fixtures.secured_pulsar import NAMESPACE, STRANGER, SecuredPulsar
from fixtures.service_process import Refused, ServiceProcess
from integration.official import ONE_RECORD, Admin
from pulsar.schema import StringSchema

from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.tools.standalone import LocalPulsar

HERE = ["public/default"]
_DEADLINE_SECONDS = 30.0


class Catalog(ServiceProcess):
    """The process of one catalog; `call` returns the result, or raises `Refused`."""

    def __init__(self, **settings: str) -> None:
        super().__init__("pyspark_pulsar.catalog", {"catalog": "pulsar", "settings": settings})

    def refused(self, call: str, **arguments: Any) -> Refused:
        with pytest.raises(Refused) as caught:
            self.call(call, **arguments)
        return caught.value

    def kind(self, call: str, **arguments: Any) -> str:
        """Return the kind of the error."""
        return self.refused(call, **arguments).kind


@pytest.fixture(scope="module")
def catalog(pulsar: LocalPulsar) -> Iterator[Catalog]:
    """A catalog with all permissions."""
    opened = Catalog(**{"service.url": pulsar.service_url, "ADMIN.URL": pulsar.admin_url})
    assert opened.ready == {"ready": True}
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def plain(pulsar: LocalPulsar) -> Iterator[Catalog]:
    """A catalog without the admin REST API."""
    opened = Catalog(**{"service.url": pulsar.service_url})
    yield opened
    opened.close()


@pytest.fixture
def both(catalog: Catalog, plain: Catalog) -> list[Catalog]:
    return [catalog, plain]


@pytest.fixture
def named(topic: str) -> Callable[[str], str]:
    """Return `named(end)`, which returns the name of a table of this test."""
    return lambda end: TopicName.parse(topic).local + end


@pytest.mark.parametrize("end", ["-Upper.Case", "%2F", "$segments", "$$offsets", "-partition-3", ""])
def test_names_are_kept(
    both: list[Catalog], named: Callable[[str], str], end: str, official: official_client.Client
) -> None:
    local = named(end)
    official.create_producer(f"persistent://public/default/{local}").send(b"x")
    table = named({"$segments": "$$segments", "$$offsets": "$$$$offsets"}.get(end, end))
    for catalog in both:
        assert table in catalog.call("list_tables", namespace=HERE)
        found = catalog.call("load_table", namespace=["public", "default"], table=table)
        assert found["topic"] == f"persistent://public/default/{local}"
        assert found["schema"]["fields"][0]["name"] == "value"
        assert found["read_options"]["topic"] == found["topic"]
        if end:
            assert catalog.kind("load_table", namespace=HERE, table=table.swapcase()) == "NoSuchTable"


def test_partitions_are_tables_that_are_not_listed(
    both: list[Catalog], named: Callable[[str], str], admin: Admin, official: official_client.Client
) -> None:
    admin.create_partitioned(f"persistent://public/default/{named('')}", 4)
    official.create_producer(f"persistent://public/default/{named('')}").send(b"x")
    for catalog in both:
        listed = [each for each in catalog.call("list_tables", namespace=HERE) if named("") in each]
        assert listed == [named("")]
        part = catalog.call("load_table", namespace=HERE, table=named("-partition-3"))
        assert part["topic"].endswith("-partition-3")
        assert catalog.kind("load_table", namespace=HERE, table=named("-partition-7")) == "NoSuchTable"
        rows = catalog.call("rows", namespace=HERE, table=named("$offsets"))
        assert [row[0] for row in rows] == [0, 1, 2, 3]
        rows = catalog.call("rows", namespace=HERE, table=named("-partition-3$offsets"))
        assert [row[0] for row in rows] == [3]


def test_a_non_persistent_topic(
    catalog: Catalog, plain: Catalog, named: Callable[[str], str], official: official_client.Client
) -> None:
    name = f"non-persistent://public/default/{named('')}"
    producer = official.create_producer(name, schema=StringSchema())
    table = f"non-persistent://{named('')}"
    assert table in catalog.call("list_tables", namespace=HERE)
    for each in (catalog, plain):
        found = each.call("load_table", namespace=HERE, table=table)
        assert found["topic"] == name
        assert found["schema"]["fields"][0]["type"] == "string"
        assert each.kind("load_table", namespace=HERE, table=named("")) == "NoSuchTable"
    producer.close()


def test_two_versions_of_a_schema(
    catalog: Catalog, topic: str, named: Callable[[str], str], admin: Admin
) -> None:
    record = json.loads(ONE_RECORD)
    more = {"name": "more", "type": ["null", "string"], "default": None}
    admin.create(topic)
    for fields, names in (
        (record["fields"], ["id", "name"]),
        ([*record["fields"], more], ["id", "name", "more"]),
    ):
        admin.register(topic, "AVRO", json.dumps(record | {"fields": fields}))
        found = catalog.call("load_table", namespace=HERE, table=named(""))
        assert [each["name"] for each in found["schema"]["fields"]] == names

    system = catalog.call("load_table", namespace=HERE, table=named("$schemas"))
    columns = [each["name"] for each in system["schema"]["fields"]]
    rows = [
        dict(zip(columns, row, strict=True))
        for row in catalog.call("rows", namespace=HERE, table=named("$schemas"))
    ]
    assert [row["version"] for row in rows] == [0, 1]
    assert [row["columns"] for row in rows] == ["id int, name string", "id int, name string, more string"]
    assert all(row["registered"].endswith("Z") and row["type"] == "AVRO" for row in rows)
    assert json.loads(rows[1]["document"])["fields"][2] == more

    shown = catalog.call("table_properties", namespace=HERE, table=named(""))
    assert shown["pulsar.topic"] == topic
    assert shown["pulsar.schema.type"] == "AVRO"
    assert shown["pulsar.schema.version"] == "1"
    assert shown["value_format"] == "avro"
    assert shown["partitions"] == "0"


def test_batches_in_the_system_tables(
    catalog: Catalog,
    plain: Catalog,
    topic: str,
    named: Callable[[str], str],
    official: official_client.Client,
) -> None:
    consumer = official.subscribe(topic, "reads", consumer_type=official_client.ConsumerType.Shared)
    producer = official.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=600_000)
    before = time.time()
    for number in range(30):
        producer.send_async(str(number).encode(), lambda *_: None)
    producer.flush()
    for _ in range(30):
        consumer.acknowledge(consumer.receive(60_000))

    ((partition, earliest, latest, entries, size, published),) = catalog.call(
        "rows", namespace=HERE, table=named("$offsets")
    )
    ledger = latest.split(":")[0]
    assert (partition, earliest, latest) == (-1, f"{ledger}:0:0", f"{ledger}:{entries}:0")
    assert size > 0
    assert published.startswith(time.strftime("%Y-%m-%dT", time.gmtime(before)))
    ((*_, entries, size, published),) = plain.call("rows", namespace=HERE, table=named("$offsets"))
    assert (entries, size) == (None, None)
    assert published is not None

    def subscription() -> list[Any]:
        rows = catalog.call("rows", namespace=HERE, table=named("$subscriptions"))
        # The broker removes the subscription of a reader, such as that in `published`, after it has reported
        # its closing.
        (row,) = [list(row) for row in rows if row[0] == "reads"]
        return row

    deadline = time.monotonic() + _DEADLINE_SECONDS
    while subscription()[5] != latest and time.monotonic() < deadline:
        time.sleep(0.1)
    name, partition, kind, durable, backlog, position, unacknowledged, connected, consumed, rate = (
        subscription()
    )
    assert (name, partition, kind, durable) == ("reads", -1, "Shared", True)
    assert (backlog, position, unacknowledged, connected) == (0, latest, 0, 1)
    assert consumed.endswith("Z")
    assert rate >= 0

    (row,) = catalog.call("rows", namespace=HERE, table=named("$segments"))
    assert (row[0], row[1], str(row[2])) == (topic, -1, ledger)
    assert "admin.url" in plain.refused("rows", namespace=HERE, table=named("$segments")).message
    consumer.close()


def test_an_empty_topic(catalog: Catalog, topic: str, named: Callable[[str], str], admin: Admin) -> None:
    admin.create(topic)
    ((_, earliest, latest, entries, _, published),) = catalog.call(
        "rows", namespace=HERE, table=named("$offsets")
    )
    assert (earliest, latest, entries, published) == ("earliest", "earliest", 0, None)
    for table in ("$subscriptions", "$schemas"):
        assert catalog.call("rows", namespace=HERE, table=named(table)) == []


def test_namespaces(catalog: Catalog, plain: Catalog) -> None:
    assert ["public", "default"] in catalog.call("list_namespaces", parent=[])
    assert ["pulsar", "system"] not in catalog.call("list_namespaces", parent=[])
    assert ["public", "default"] in catalog.call("list_namespaces", parent=["public"])
    assert catalog.call("list_tables", namespace=["public"]) == []
    assert plain.call("list_namespaces", parent=[]) == [["public", "default"]]
    assert catalog.kind("list_namespaces", parent=["nobody"]) == "NoSuchNamespace"
    assert catalog.kind("list_tables", namespace=["public/nowhere"]) == "NoSuchNamespace"
    assert catalog.kind("list_tables", namespace=["a", "b", "c"]) == "NoSuchNamespace"
    assert catalog.kind("load_table", namespace=["public/nowhere"], table="x") == "NoSuchTable"
    assert catalog.kind("load_table", namespace=["public"], table="x") == "NoSuchTable"


def test_a_schema_that_columns_cannot_have(
    catalog: Catalog, topic: str, named: Callable[[str], str], admin: Admin
) -> None:
    """Is no reason not to list it, nor to end the process."""
    admin.create(topic)
    taken = json.loads(ONE_RECORD) | {"fields": [{"name": "__key", "type": "int"}]}
    admin.register(topic, "AVRO", json.dumps(taken))
    error = catalog.refused("load_table", namespace=HERE, table=named(""))
    assert error.kind == "Failed"
    assert "__key" in error.message
    assert named("") in catalog.call("list_tables", namespace=HERE)


def test_a_wrong_setting_ends_the_process(pulsar: LocalPulsar) -> None:
    catalog = Catalog(**{"service.url": pulsar.service_url, "starting.offsets": "earliest"})
    assert "did you mean 'startingOffsets'" in catalog.ready["error"]["message"]
    catalog.close()


def test_an_admin_api_that_is_away_does_not_hang(pulsar: LocalPulsar, filled: str) -> None:
    catalog = Catalog(**{"service.url": pulsar.service_url, "admin.url": "http://127.0.0.1:1"})
    begun = time.monotonic()
    error = catalog.refused("load_table", namespace=HERE, table=TopicName.parse(filled).local)
    assert "admin.url" in error.message
    assert time.monotonic() - begun < 25
    catalog.close()


def test_rights(secured: SecuredPulsar) -> None:
    """A role that may consume can query a table, with its key column, and list tables; a role without
    permissions gets an error.
    """
    table = f"rights-{time.monotonic_ns()}"
    secured.request("PUT", f"persistent/{NAMESPACE}/{table}")
    secured.request(
        "PUT", f"persistent/{NAMESPACE}/{table}/properties", {"pyspark-pulsar.key_column": "value"}
    )
    secured.request("POST", f"namespaces/{NAMESPACE}/permissions/reader", ["consume"])
    of_table = {"namespace": [NAMESPACE], "table": table}

    for admin in (True, False):
        reader = Catalog(**secured.options("reader", admin=admin), defaultNamespace=NAMESPACE)
        assert reader.call("list_namespaces", parent=[]) == [NAMESPACE.split("/")]
        assert table in reader.call("list_tables", namespace=[NAMESPACE])
        assert ("keyColumn" in reader.call("load_table", **of_table)["write_options"]) == admin
        assert "pulsar.topic" in reader.call("table_properties", **of_table)
        rows = reader.call("rows", namespace=[NAMESPACE], table=f"{table}$offsets")
        assert rows[0][:3] == [-1, "earliest", "earliest"]
        assert reader.call("load_namespace", namespace=[NAMESPACE]) is not None
        reader.close()

        stranger = Catalog(**secured.options(STRANGER, admin=admin), defaultNamespace=NAMESPACE)
        assert stranger.call("list_namespaces", parent=[]) == [NAMESPACE.split("/")]
        assert stranger.kind("list_tables", namespace=[NAMESPACE]) == "Denied"
        error = stranger.refused("load_table", **of_table)
        assert error.kind == "Denied"
        assert "not authorized" in error.message
        assert secured.token(STRANGER) not in str(error)
        stranger.close()
