"""CREATE TABLE statements that are refused before any request: no server listens at the address below."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_pulsar.catalog.properties.table_properties import TableProperties
from pyspark_pulsar.catalog.statements.create_table import _schema, create_table
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions

OPTIONS = WriteOptions(service_url="pulsar://x:6650", admin_url="http://127.0.0.1:1")


def columns(*named: tuple[str, Any]) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in named]
    return {"type": "struct", "fields": fields}


ID = columns(("id", "long"))


@pytest.mark.parametrize(
    ("topic", "schema", "properties", "partitioning", "reason"),
    [
        ("t/n/x", ID, {}, ("id",), "set the property partitions instead"),
        ("non-persistent://t/n/x", ID, {}, (), "create a persistent topic"),
        ("t/n/__change_events", ID, {}, (), "reserves for itself"),
        ("t/n/x", columns(("__key", "binary"), ("id", "long")), {}, (), "metadata columns, which every table has"),
        ("t/n/x", columns(), {}, (), "no value column"),
        ("t/n/x", ID, {"value_format": "bytes"}, (), "one column value"),
        ("t/n/x", ID, {"key_column": "ID"}, (), "is 'ID': expected"),
        ("t/n/x", columns(("id", "double")), {"key_column": "id"}, (), "have no text that all"),
        ("t/n/x", ID, {"compaction_threshold": "1GB"}, (), "set key_column too"),
        ("t/n/x", columns(("a-b", "long")), {}, (), "a_b"),
        ("t/n/x", columns(("key", "string"), ("value", ID)), {"key_value_encoding": "separated", "key_column": "key"},
         (), "separated keys"),
    ],
)  # fmt: skip
def test_invalid_statements_are_refused_without_a_request(
    topic: str, schema: dict[str, Any], properties: dict[str, str], partitioning: tuple[str, ...], reason: str
) -> None:
    with AdminClient(OPTIONS, patience_ms=1) as admin, pytest.raises(PulsarError, match=reason):
        create_table(admin, TopicName.parse(topic), schema, properties, partitioning, OPTIONS)


def test_required_columns_and_comments_are_registered() -> None:
    line = {"name": "n", "type": "integer", "nullable": False, "metadata": {"comment": "count"}}
    lines = {"type": "array", "elementType": {"type": "struct", "fields": [line]}, "containsNull": False}
    schema = {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": False, "metadata": {"comment": "the number"}},
            {"name": "lines", "type": lines, "nullable": True, "metadata": {}},
        ],
    }
    info, registers = _schema(TopicName.parse("t/n/x"), schema, TableProperties(), OPTIONS)
    assert registers
    assert '{"name":"id","type":"long","doc":"the number"}' in info.text
    assert '{"name":"n","type":"int","doc":"count"}' in info.text
