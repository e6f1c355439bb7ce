"""Identifiers of Spark and names of Pulsar."""

import pytest

from pyspark_pulsar.catalog.names import Table, parse_namespace, parse_table, tenant_of
from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName

HERE = ["public/default"]


@pytest.mark.parametrize("parts", [["a/b"], ["a", "b"]])
def test_both_forms_of_a_namespace(parts: list[str]) -> None:
    assert parse_namespace(parts) == Namespace("a", "b")
    assert tenant_of(parts) is None


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [""],
        ["a"],
        ["a/"],
        ["/b"],
        ["a/b/c"],
        ["a", "b", "c"],
        ["a/b", "c"],
        ["a b", "c"],
        ["a\n", "c"],
        ["ä/b"],
    ],
)
def test_no_namespace(parts: list[str]) -> None:
    with pytest.raises(TopicNameError):
        parse_namespace(parts)


def test_a_tenant_alone() -> None:
    assert tenant_of(["a"]) == "a"


@pytest.mark.parametrize(
    ("table", "topic", "system"),
    [
        ("Orders.2026-1", "persistent://public/default/Orders.2026-1", None),
        ("a%2Fb", "persistent://public/default/a%2Fb", None),
        ("x-partition-3", "persistent://public/default/x-partition-3", None),
        ("non-persistent://x", "non-persistent://public/default/x", None),
        ("a$segments", "persistent://public/default/a", "segments"),
        ("a$$segments", "persistent://public/default/a$segments", None),
        ("a$$$segments", "persistent://public/default/a$", "segments"),
        ("a$$$$offsets", "persistent://public/default/a$$offsets", None),
        ("$$schemas", "persistent://public/default/$schemas", None),
        ("a$$segments$offsets", "persistent://public/default/a$segments", "offsets"),
        ("a$Segments", "persistent://public/default/a$Segments", None),
        ("a$segments2", "persistent://public/default/a$segments2", None),
        ("segments", "persistent://public/default/segments", None),
        ("a b", "persistent://public/default/a b", None),
        (" a\n$offsets", "persistent://public/default/ a\n", "offsets"),
        ("a$schemas ", "persistent://public/default/a$schemas ", None),
        ("non-persistent://a$subscriptions", "non-persistent://public/default/a", "subscriptions"),
    ],
)
def test_a_table_and_back(table: str, topic: str, system: str | None) -> None:
    assert parse_table(HERE, table) == Table(TopicName.parse(topic), system)
    assert Table(TopicName.parse(topic), system).name == table


@pytest.mark.parametrize(
    "table",
    [
        "",
        "a/b",
        " ",
        "\n$offsets",
        "..",
        ".",
        "a\0",
        "-partition-3",
        "$segments",
        "persistent://a",
        "non-persistent://",
    ],
)
def test_no_table(table: str) -> None:
    with pytest.raises(TopicNameError):
        parse_table(HERE, table)
