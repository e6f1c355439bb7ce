"""Messages with content that the columns of their time cannot hold: the table keeps their payloads for later
schemas.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from integration.tier.conftest import Tier, both_formats, on_delta
from integration.tier.test_schemas import Same, allow_every_schema, document, field
from pulsar.schema import AvroSchema, BytesSchema
from pyspark.sql import SparkSession

from pyspark_pulsar.errors import DecodeError, OptionError, SchemaError
from pyspark_pulsar.history.columnar.layout import PartitionField
from pyspark_pulsar.history.tiering.definition import TableSettings


def _send(tier: Tier, written: dict[str, Any], *rows: dict[str, Any]) -> None:
    """Send rows by a producer that keeps this schema, whatever the topic's latest schema is."""
    schema = AvroSchema(None, schema_definition=written)
    producer = tier.official.create_producer(tier.topic, schema=schema, batching_enabled=False)
    for row in rows:
        producer.send(row)
    producer.close()


def _send_json(tier: Tier, *rows: Any) -> None:
    producer = tier.official.create_producer(tier.topic, batching_enabled=False)
    for row in rows:
        producer.send(row if isinstance(row, bytes) else json.dumps(row).encode())
    producer.close()


def _register(tier: Tier, kind: str, *fields: dict[str, Any]) -> None:
    tier.admin.register(tier.topic, kind, json.dumps(document(*fields)))


def _tier(tier: Tier, count: int) -> None:
    tier.roll()
    assert tier.run().rows == count
    assert set(tier.places()) == {"columns"}


ID, NAME = field("id", "int"), field("name", ["null", "string"], default=None)


@both_formats
def test_a_field_missing_at_tiering_is_read_later(tier: Tier, same: Same) -> None:
    allow_every_schema(tier)
    first = document(ID, NAME)
    _send(tier, first, {"id": 0, "name": "a"})
    _register(tier, "AVRO", ID)
    # This producer still uses the earlier schema.
    _send(tier, first, {"id": 1, "name": "b"}, {"id": 2, "name": None})
    _send(tier, document(ID), {"id": 3})
    _tier(tier, 4)
    assert same().column("id").to_pylist() == [0, 1, 2, 3]
    _register(
        tier, "AVRO", ID, field("name", ["null", "string"], default=None), field("more", "int", default=5)
    )
    assert same().column("name").to_pylist() == ["a", "b", None, None]
    assert (
        same(columns="name").num_rows == same(columns="more").num_rows == same(columns="__key").num_rows == 4
    )


@both_formats
def test_a_changed_default_applies_to_tiered_messages(tier: Tier, same: Same) -> None:
    allow_every_schema(tier)
    _send(tier, document(ID), {"id": 0})
    _register(tier, "AVRO", ID, field("level", "int", default=7))
    _tier(tier, 1)
    assert same().column("level").to_pylist() == [7]
    _register(tier, "AVRO", ID, field("level", "int", default=8))
    assert same().column("level").to_pylist() == [8]


@both_formats
def test_an_enum_symbol_unknown_at_tiering_is_read_later(tier: Tier, same: Same) -> None:
    def kind(*symbols: str) -> dict[str, Any]:
        return field(
            "kind", {"type": "enum", "name": "Kind", "symbols": list(symbols), "default": symbols[0]}
        )

    allow_every_schema(tier)
    _send(tier, document(ID, kind("P", "Q", "R")), {"id": 0, "kind": "R"}, {"id": 1, "kind": "Q"})
    _register(tier, "AVRO", ID, kind("P", "Q"))
    _tier(tier, 2)
    assert same().column("kind").to_pylist() == ["P", "Q"]
    _register(tier, "AVRO", ID, kind("Q", "R"))
    assert same().column("kind").to_pylist() == ["R", "Q"]


@both_formats
def test_json_members_without_a_field_are_read_later(tier: Tier, same: Same) -> None:
    allow_every_schema(tier)
    _register(tier, "JSON", ID)
    _send_json(
        tier, {"id": 0}, {"id": 1, "name": "b"}, {"name": None, "id": 2}, {"id": 3, "other": {"name": 1}}
    )
    _tier(tier, 4)
    assert same().column("id").to_pylist() == [0, 1, 2, 3]
    _register(tier, "JSON", ID, NAME)
    assert same().column("name").to_pylist() == [None, "b", None, None]
    assert same(columns="name,__messageId", mode="PERMISSIVE").num_rows == 4


@both_formats
def test_bad_messages_follow_the_mode_of_each_read(tier: Tier, same: Same) -> None:
    """Read a topic that has a field of its own with the default name of the column for corrupt records."""
    mine = field("_corrupt_record", ["null", "string"], default=None)
    allow_every_schema(tier)
    _register(tier, "JSON", ID, mine)
    _send_json(tier, {"id": 0, "_corrupt_record": "mine"}, {"id": 1 << 40}, b"{broken", {"id": 3})
    _tier(tier, 4)
    bad = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad", "columns": "*,bad,__messageId"}
    assert [cell is None for cell in same(**bad).column("bad").to_pylist()] == [True, False, False, True]
    assert same(mode="DROPMALFORMED").column("_corrupt_record").to_pylist() == ["mine", None]
    with pytest.raises(
        DecodeError, match=r"ledger \d+, entry 1: the JSON does not fit its schema in field id"
    ):
        tier.rows()
    with pytest.raises(OptionError, match="although the table keeps the payloads"):
        tier.run(mode="DROPMALFORMED")
    # With another schema the second message is a good row.
    _register(tier, "JSON", field("id", "long"), mine)
    found = same(**bad)
    assert [cell is None for cell in found.column("bad").to_pylist()] == [True, True, False, True]
    assert found.column("id").to_pylist() == [0, 1 << 40, None, 3]


@both_formats
def test_a_field_named_like_the_payload_column(tier: Tier) -> None:
    allow_every_schema(tier)
    _register(tier, "JSON", field("__payload", "int"))
    _send_json(tier, {"__payload": 0})
    tier.roll()
    with pytest.raises(
        SchemaError, match="other names than __payload and __tieredBy, which are columns of each table"
    ):
        tier.run()


@both_formats
def test_kept_payloads_survive_compaction_and_repartitioning(tier: Tier, same: Same) -> None:
    from pyspark_pulsar.history.tiering.upkeep import compact

    allow_every_schema(tier)
    _register(tier, "JSON", ID)
    for start in (0, 10, 20):
        _send_json(tier, {"id": start}, {"id": start + 1, "name": "n"})
        tier.roll()
        tier.run()
    assert compact(tier.table) == (3, 1)
    _register(tier, "JSON", ID, NAME)
    assert same().column("name").to_pylist() == [None, "n"] * 3


def test_messages_without_a_schema_version(tier: Tier, same: Same) -> None:
    """Messages without a schema version are read by the topic's schema at the time of the read."""
    import io

    import fastavro

    allow_every_schema(tier)
    _register(tier, "AVRO", ID)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(document(ID, NAME)), {"id": 4, "name": "x"})
    producer = tier.official.create_producer(tier.topic, schema=BytesSchema(), batching_enabled=False)
    producer.send(out.getvalue())
    producer.close()
    _tier(tier, 1)
    _register(tier, "AVRO", ID, NAME)
    assert same().column("name").to_pylist() == ["x"]


@on_delta
def test_a_null_value_keeps_the_schema_of_its_partition(tier: Tier, same: Same, spark: SparkSession) -> None:
    """Files of Delta tables lack partition columns. A null value has no defaults, but it has these columns."""
    allow_every_schema(tier)
    rows = spark.sql("SELECT id, cast('k' AS binary) AS __key FROM VALUES (1L), (2L) AS t(id)")
    tombstone = spark.sql("SELECT cast(null AS bigint) AS id, cast('k' AS binary) AS __key")
    for frame in (rows, tombstone):
        writer = frame.coalesce(1).write.format("pulsar").option("service.url", tier.server.service_url)
        writer = writer.options(topic=tier.topic, valueFormat="avro", writeTombstones="true")
        writer.option("admin.url", tier.server.admin_url).mode("append").save()
    tier.roll()
    assert tier.run(TableSettings((PartitionField.parse("__partition"),))).rows == 3
    assert set(tier.places()) == {"columns"}
    assert same(columns="id,__partition,__key").column("__partition").to_pylist() == [-1, -1, -1]
