"""Tables and namespaces that are created, changed and dropped on a real server, and the server's view of
them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pulsar as official_client
import pytest

from pyspark_pulsar.catalog.properties.table_properties import format_properties, stored_properties
from pyspark_pulsar.catalog.statements.alter_table import alter_table
from pyspark_pulsar.catalog.statements.create_table import create_table
from pyspark_pulsar.catalog.statements.drop_table import drop_table
from pyspark_pulsar.catalog.statements.namespaces import (
    alter_namespace,
    create_namespace,
    drop_namespace,
    load_namespace,
)
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import (
    CatalogUnsupported,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    OptionError,
    PulsarError,
    SchemaError,
    TopicExistsError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import split
from pyspark_pulsar.tools.standalone import LocalPulsar


@pytest.fixture(scope="module")
def options(pulsar: LocalPulsar) -> WriteOptions:
    return WriteOptions(service_url=pulsar.service_url, admin_url=pulsar.admin_url)


@pytest.fixture(scope="module")
def admin_client(options: WriteOptions) -> Iterator[AdminClient]:
    with AdminClient(options) as admin:
        yield admin


@pytest.fixture
def namespace(admin_client: AdminClient) -> Iterator[Namespace]:
    made = Namespace("public", f"made-{uuid.uuid4().hex[:10]}")
    admin_client.namespaces.create(made)
    yield made
    drop_namespace(admin_client, made, cascade=True)


def columns(*fields: tuple[str, Any] | tuple[str, Any, bool]) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": each[0], "type": each[1], "nullable": each[2] if len(each) > 2 else True, "metadata": {}}
            for each in fields
        ],
    }


ORDER = columns(("id", "long", False), ("item", "string"))


def fields(admin_client: AdminClient, topic: TopicName) -> list[dict[str, Any]]:
    info = admin_client.schemas.latest(topic)
    assert info is not None
    found: list[dict[str, Any]] = json.loads(info.text)["fields"]
    return found


def test_a_table_has_the_given_columns_and_settings(
    admin_client: AdminClient, options: WriteOptions, namespace: Namespace
) -> None:
    topic = TopicName("persistent", namespace, "Orders.x%2Fy")
    given = {
        "partitions": "2",
        "key_column": "id",
        "retention_time": "7d",
        "message_ttl": "12h",
        "compaction_threshold": "100MB",
        "comment": "of the shop",
        "team/a b": "ü",
        "provider": "pulsar",
        "owner": "me",
        "pulsar.topic": "ignored",
    }
    create_table(admin_client, topic, ORDER, given, (), options)
    assert admin_client.topics.partitions(topic) == 2
    assert admin_client.topics.of_namespace(namespace) == {topic}
    stored = stored_properties(admin_client, topic, 2)
    kept = {key: value for key, value in given.items() if key not in ("provider", "owner", "pulsar.topic")}
    assert stored == kept | {"retention_size": "infinite"}
    assert fields(admin_client, topic)[0] == {"name": "id", "type": "long"}
    with pytest.raises(TopicExistsError):
        create_table(admin_client, topic, ORDER, {}, (), options)
    assert drop_table(admin_client, topic) is True
    assert drop_table(admin_client, topic) is False
    assert admin_client.schemas.versions(topic) == ()


@pytest.mark.parametrize(
    ("schema", "properties", "kind"),
    [
        (ORDER, {"value_format": "json"}, SchemaType.JSON),
        (ORDER, {"value_format": "protobuf"}, SchemaType.PROTOBUF_NATIVE),
        (columns(("value", "string")), {"value_format": "string"}, SchemaType.STRING),
        (columns(("value", "long")), {}, SchemaType.INT64),
        (columns(("value", "binary")), {"value_format": "bytes"}, None),
        (columns(("key", "string"), ("value", ORDER)), {"key_value_encoding": "separated"}, SchemaType.KEY_VALUE),
        (
            columns(("key", ORDER), ("value", ORDER)),
            {"key_value_encoding": "inline", "value_format": "json"},
            SchemaType.KEY_VALUE,
        ),
        (
            columns(("key", "long"), ("value", ORDER)),
            {"key_value_encoding": "inline", "value_format": "protobuf"},
            SchemaType.KEY_VALUE,
        ),
    ],
)  # fmt: skip
def test_schemas_of_every_format(
    admin_client: AdminClient,
    options: WriteOptions,
    namespace: Namespace,
    schema: dict[str, Any],
    properties: dict[str, str],
    kind: SchemaType | None,
) -> None:
    topic = TopicName("persistent", namespace, "formats")
    create_table(admin_client, topic, schema, properties, (), options)
    info = admin_client.schemas.latest(topic)
    assert (None if info is None else info.type) is kind
    made = format_properties(info)
    assert made.items() >= properties.items()
    if info is not None and kind is SchemaType.KEY_VALUE:
        pair = split(info, topic="x")
        assert pair.value.name.endswith("_value")
        assert pair.value.document
    assert stored_properties(admin_client, topic, 0)["retention_time"] == "infinite"


def test_a_table_that_cannot_be_set_up_leaves_no_topic(
    admin_client: AdminClient, options: WriteOptions, namespace: Namespace
) -> None:
    topic = TopicName("persistent", namespace, "half")
    admin_client.schemas.register(topic, SchemaInfo("half", SchemaType.STRING))
    with pytest.raises(SchemaError, match="exists schema type STRING, new schema type AVRO"):
        create_table(admin_client, topic, ORDER, {}, (), options)
    assert admin_client.topics.partitions(topic) is None


def test_columns_change_and_the_newest_version_has_them(
    admin_client: AdminClient, options: WriteOptions, namespace: Namespace
) -> None:
    topic = TopicName("persistent", namespace, "evolves")
    create_table(admin_client, topic, ORDER, {"key_column": "id"}, (), options)
    add = {"change": "add", "column": ["note"], "type": "string", "nullable": True, "comment": "free text"}
    alter_table(
        admin_client,
        topic,
        [
            {**add, "position": {"after": "id"}},
            {"change": "comment", "column": ["id"], "comment": "its number"},
        ],
    )
    assert [each["name"] for each in fields(admin_client, topic)] == ["id", "note", "item"]
    assert len(admin_client.schemas.versions(topic)) == 2
    # Equal to the first version, and so nothing new to the registry.
    alter_table(admin_client, topic, [{"change": "drop", "column": ["note"], "if_exists": False}])
    assert [each["name"] for each in fields(admin_client, topic)] == ["id", "item"]
    alter_table(admin_client, topic, [{"change": "comment", "column": ["item"], "comment": "what"}])
    assert fields(admin_client, topic)[1]["doc"] == "what"
    alter_table(admin_client, topic, [{"change": "comment", "column": ["item"], "comment": "which"}])
    assert fields(admin_client, topic)[1]["doc"] == "which"
    assert fields(admin_client, topic)[0]["doc"] == "its number"
    with pytest.raises(CatalogUnsupported, match="unset the property key_column"):
        alter_table(admin_client, topic, [{"change": "drop", "column": ["id"]}])


def test_the_broker_has_the_last_word_on_types(
    admin_client: AdminClient, options: WriteOptions, namespace: Namespace
) -> None:
    topic = TopicName("persistent", namespace, "typed")
    create_table(admin_client, topic, columns(("n", "integer")), {}, (), options)
    wider = [
        {"change": "type", "column": ["n"], "type": "long"},
        {"change": "set", "property": "a", "value": "b"},
    ]
    with pytest.raises(SchemaError, match=r"strategy FULL.*compatibility strategy for the namespace"):
        alter_table(admin_client, topic, wider)
    assert "a" not in admin_client.topics.properties(topic)
    admin_client.change(
        "PUT", f"namespaces/{namespace}/schemaCompatibilityStrategy", "setting it", "BACKWARD"
    )
    alter_table(admin_client, topic, wider)
    assert fields(admin_client, topic)[0]["type"] == ["null", "long"]
    assert admin_client.topics.properties(topic)["a"] == "b"


def test_properties_change(admin_client: AdminClient, options: WriteOptions, namespace: Namespace) -> None:
    topic = TopicName("persistent", namespace, "kept")
    create_table(admin_client, topic, ORDER, {"partitions": "1", "x": "1"}, (), options)

    def change(given: dict[str, str], *removed: str) -> dict[str, str]:
        sets = [{"change": "set", "property": key, "value": value} for key, value in given.items()]
        removes = [{"change": "remove", "property": key} for key in removed]
        alter_table(admin_client, topic, [*sets, *removes])
        count = admin_client.topics.partitions(topic)
        assert count is not None
        return stored_properties(admin_client, topic, count)

    found = change({"partitions": "3", "retention_size": "20GB", "message_ttl": "30s", "comment": "c"}, "x")
    assert found == {
        "partitions": "3", "retention_time": "infinite", "retention_size": "20GB", "message_ttl": "30s",
        "comment": "c",
    }  # fmt: skip
    with pytest.raises(OptionError, match="must exceed configured backlog quota"):
        change({"retention_size": "1MB"})
    found = change({"key_column": "item", "compaction_threshold": "1MB"}, "message_ttl", "comment")
    assert (found["key_column"], found["compaction_threshold"]) == ("item", "1MB")
    with pytest.raises(CatalogUnsupported, match="compaction_threshold"):
        change({}, "key_column")
    found = change({}, "key_column", "compaction_threshold", "retention_size", "retention_time")
    assert found == {"partitions": "3", "retention_time": "infinite", "retention_size": "infinite"}
    with pytest.raises(CatalogUnsupported):
        change({"partitions": "2"})
    with pytest.raises(TopicNotFoundError):
        alter_table(admin_client, TopicName("persistent", namespace, "none"), [])


def test_namespaces(admin_client: AdminClient, options: WriteOptions) -> None:
    namespace = Namespace("public", f"own-{uuid.uuid4().hex[:10]}")
    create_namespace(admin_client, namespace, {"retention_time": "1h", "a/b": "c d", "owner": "me"})
    with pytest.raises(NamespaceExistsError):
        create_namespace(admin_client, namespace, {})
    with pytest.raises(NamespaceNotFoundError, match="nobody"):
        create_namespace(admin_client, Namespace("nobody", "x"), {})
    assert load_namespace(admin_client, namespace) == {
        "retention_time": "1h", "retention_size": "infinite", "a/b": "c d",
    }  # fmt: skip
    alter_namespace(admin_client, namespace, {"message_ttl": "1d", "comment": "ö"}, ["a/b", "retention_time"])
    assert load_namespace(admin_client, namespace) == {"message_ttl": "1d", "comment": "ö"}
    for name, partitions in (("a", "0"), ("b", "2")):
        given = {"partitions": partitions, "retention_time": "1d"}
        create_table(admin_client, TopicName("persistent", namespace, name), ORDER, given, (), options)
    with pytest.raises(NamespaceNotEmptyError, match="2 topics"):
        drop_namespace(admin_client, namespace, cascade=False)
    assert drop_namespace(admin_client, namespace, cascade=True) is True
    assert drop_namespace(admin_client, namespace, cascade=False) is False
    with pytest.raises(NamespaceNotFoundError):
        admin_client.topics.of_namespace(namespace)
    with pytest.raises(NamespaceNotFoundError):
        create_table(admin_client, TopicName("persistent", namespace, "a"), ORDER, {}, (), options)
    assert not admin_client.namespaces.exists(namespace)
    assert admin_client.tenants.exists("public")
    assert not admin_client.tenants.exists("nobody")
    assert "public" in admin_client.tenants.names()


def test_a_topic_in_use_does_not_keep_the_other_topics_of_its_namespace(
    admin_client: AdminClient, options: WriteOptions, official: official_client.Client
) -> None:
    namespace = Namespace("public", f"used-{uuid.uuid4().hex[:10]}")
    create_namespace(admin_client, namespace, {})
    used, *others = (TopicName("persistent", namespace, f"t{number:02}") for number in range(40))
    for topic in (used, *others):
        create_table(admin_client, topic, ORDER, {"partitions": "0"}, (), options)
    consumer = official.subscribe(str(used), "reads")
    with pytest.raises(CatalogUnsupported, match="t00: expected a topic without clients"):
        drop_namespace(admin_client, namespace, cascade=True)
    assert admin_client.topics.of_namespace(namespace) == {used}
    consumer.close()
    assert drop_namespace(admin_client, namespace, cascade=True)


def test_a_missing_topic_is_reported_immediately(admin_client: AdminClient, namespace: Namespace) -> None:
    topic = TopicName("persistent", namespace, "none")
    for ask in (
        lambda: admin_client.topics.set_properties(topic, {"a": "b"}),
        lambda: admin_client.topics.remove_property(topic, "a"),
        lambda: admin_client.policies.set_retention(topic, -1, -1),
        lambda: admin_client.topics.stats(topic, 0),
    ):
        with pytest.raises(PulsarError):
            ask()
    assert admin_client.topics.partitions(topic) is None
    assert admin_client.schemas.latest(topic) is None
    assert admin_client.topics.delete(topic, partitioned=False) is False
