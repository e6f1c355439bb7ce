"""Tables equal to the decoded messages, for all formats and for schemas that change between rounds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from integration.official import as_base64
from integration.tier.conftest import DELTA, ENTRIES, ICEBERG, Tier, both_formats
from pulsar.schema import AvroSchema
from pyspark.sql import SparkSession

from pyspark_pulsar.errors import DecodeError, OptionError

Same = Callable[..., pa.Table]

NESTED = (
    "id", "cast(id AS int) AS number", "id % 2 = 0 AS flag", "cast(id / 7 AS double) AS ratio",
    "concat('name ', id) AS name", "cast(concat('b', id) AS binary) AS data",
    "named_struct('a', id, 'b', concat('x', id), 'deep', named_struct('c', cast(id AS float))) AS line",
    "array(id, id + 1) AS ids", "array(named_struct('k', id)) AS parts", "map('m', id) AS counts",
    "if(id % 3 = 0, null, concat('maybe ', id)) AS maybe",
)  # fmt: skip
TIMES = (
    "cast(id / 9 AS decimal(20, 4)) AS price", "date_add(DATE'2026-01-01', cast(id AS int)) AS day",
    "timestamp_micros(1700000000000000 + id) AS happened", "cast(timestamp_micros(id) AS timestamp_ntz) AS local",
)  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ((*NESTED, *TIMES), {"valueFormat": "avro"}),
        (NESTED, {"valueFormat": "json"}),
        (
            ("id", "concat('x', id) AS name", "named_struct('a', id) AS line", "array(id) AS ids"),
            {"valueFormat": "protobuf"},
        ),
        (
            ("named_struct('k', id) AS key", "named_struct('v', concat('v', id), 'n', id) AS value"),
            {"keyValueEncoding": "separated", "valueFormat": "avro"},
        ),
        (
            ("named_struct('k', id) AS key", "named_struct('v', concat('v', id)) AS value"),
            {"keyValueEncoding": "inline", "valueFormat": "json"},
        ),
        (("cast(id AS tinyint) AS value",), {}),
        (("concat('text ', id) AS value",), {}),
    ],
    ids=["avro", "json", "protobuf", "separated", "inline", "tinyint", "string"],
)
def test_every_cell_of_every_format(
    columns: tuple[str, ...], options: dict[str, str], tier: Tier, same: Same, spark: SparkSession
) -> None:
    tier.admin.create_partitioned(tier.topic, 2)
    for start in (0, 60):
        rows = spark.range(start, start + 60, numPartitions=1).selectExpr(*columns)
        writer = rows.write.format("pulsar").option("service.url", tier.server.service_url)
        writer = writer.option("admin.url", tier.server.admin_url).option("topic", tier.topic)
        writer.option("pulsar.producer.batchingMaxMessages", "2").options(**options).mode("append").save()
        tier.admin.unload(tier.topic)
        tier.run()
    assert set(tier.places()) == {"columns"}
    assert same().num_rows == 120
    for name in tier.rows().column_names[: len(columns)]:
        same(columns=name)


def document(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields)}


def inner(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"name": "line", "type": {"type": "record", "name": "Line", "fields": list(fields)}}


def field(name: str, kind: Any, **further: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **further}


def items(*fields: dict[str, Any]) -> dict[str, Any]:
    return field("items", {"type": "array", "items": {"type": "record", "name": "I", "fields": list(fields)}})


A, X = field("a", "int"), field("x", "int")
B, Y = field("b", "string", default="bee"), field("y", "string", default="why")
WHEN = field("when", {"type": "long", "logicalType": "timestamp-millis"}, default=5)
WIDE_ITEMS = items(field("x", "long"), Y)
FIRST = document(field("id", "int"), field("old", "string", default="none"), inner(A), items(X))
FIRST_WIDE = document(
    field("id", "long"), field("old", "string", default="none"), inner(A), items(field("x", "long"))
)
"""The first version for Delta tables, in which the types of columns cannot change."""
VERSIONS = [
    FIRST,
    document(
        field("id", "long"),
        field("level", "int", default=7),
        field("tag", ["null", "string"], default=None),
        inner(A, B, WHEN),
        WIDE_ITEMS,
        field(
            "more", {"type": "record", "name": "More", "fields": [field("z", "double")]}, default={"z": 1.5}
        ),
        field("list", {"type": "array", "items": "long"}, default=[1, 2]),
        field("codes", {"type": "map", "values": "int"}, default={"k": 1}),
        field("data", "bytes", default="\u00ff\u0001"),
        field("hour", {"type": "long", "logicalType": "time-micros"}, default=3_600_000_000),
        field("kind", {"type": "enum", "name": "Kind", "symbols": ["P", "Q"]}, default="Q"),
        field("either", ["null", "long", {"type": "record", "name": "E", "fields": [X]}], default=None),
    ),
    # `old` exists again: its value is the default for messages of version 2, and the written value for
    # version 1.
    document(
        field("id", "long"),
        field("old", "string", default="again"),
        field("level", "int", default=7),
        inner(A, B),
        WIDE_ITEMS,
    ),
]
ROWS: list[dict[str, Any]] = [
    {"old": "o", "line": {"a": 1}, "items": [{"x": 1}]},
    {
        "level": 1, "tag": "t", "line": {"a": 2, "b": "c", "when": 9},
        "items": [{"x": 2**40, "y": "z"}, {"x": 1, "y": "n"}],
        "more": {"z": 2.0}, "list": [], "codes": {}, "data": b"d", "hour": 5, "kind": "P", "either": None,
    },
    {"old": "p", "level": 2, "line": {"a": 3, "b": "d"}, "items": []},
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "catalog"), [("AVRO", ICEBERG), ("JSON", ICEBERG), ("AVRO", DELTA)], indirect=["catalog"]
)
def test_a_schema_that_changes_between_rounds(
    kind: str, catalog: dict[str, str], tier: Tier, same: Same
) -> None:
    allow_every_schema(tier)
    versions = [FIRST_WIDE, *VERSIONS[1:]] if catalog["type"] == DELTA else VERSIONS
    for version, (written, row) in enumerate(zip(versions, ROWS, strict=True)):
        _send(tier, kind, written, row, ENTRIES)
        tier.roll()
        tier.run()
        read = same()
        assert read.num_rows == (version + 1) * ENTRIES
        for name in ("id", "line", "items", "id,line,__messageId"):
            same(columns=name)
    assert set(tier.places()) == {"columns"}
    # Rounds did not rewrite the earlier rows: their files still lack the later fields.
    assert len(tier.table.files()) == len(versions)


@both_formats
def test_a_renamed_field_is_read_by_its_alias(tier: Tier, same: Same) -> None:
    allow_every_schema(tier)
    _send(tier, "AVRO", document(field("id", "int"), inner(A)), {"line": {"a": 1}}, ENTRIES)
    tier.roll()
    tier.run()
    renamed = inner(field("alpha", "int", aliases=["a"]))
    _send(
        tier,
        "AVRO",
        document(field("number", "int", aliases=["id"]), renamed),
        {"line": {"alpha": 2}},
        ENTRIES,
    )
    tier.roll()
    tier.run()
    assert set(tier.places()) == {"columns"}
    assert same(columns="number,line").num_rows == 2 * ENTRIES


@both_formats
def test_a_field_whose_type_changes(tier: Tier, same: Same) -> None:
    """The table has one column of the name, so the rows of the other type keep their payloads."""
    allow_every_schema(tier)
    for kind in ("int", "string", "double"):
        _send(tier, "AVRO", document(field("id", kind), field("x", "long")), {"x": 7}, ENTRIES)
        tier.roll()
        assert tier.run().rows == ENTRIES
        bad = {"mode": "PERMISSIVE", "columns": "id,x,_corrupt_record,__messageId"}
        found = same(**bad)
        # A double column holds ints, and neither int nor double is a string.
        assert found.column("id").null_count == (0 if kind == "int" else ENTRIES)
    assert set(tier.places(mode="PERMISSIVE")) == {"columns"}
    has_payloads = {file.ledgers: file.has_payloads for file in tier.table.files()}
    assert [has_payloads[bounds] for bounds in sorted(has_payloads)] == [False, True, True]


@both_formats
def test_messages_that_do_not_decode(tier: Tier, same: Same) -> None:
    tier.admin.create(tier.topic)
    tier.admin.register(tier.topic, "JSON", json.dumps(document(field("id", "int"))))
    producer = tier.official.create_producer(tier.topic, batching_enabled=False)
    for number in range(ENTRIES):
        producer.send(b"{broken" if number % 5 == 0 else b'{"id": %d}' % number)
    tier.roll()
    assert tier.run().rows == ENTRIES
    assert set(tier.places(mode="PERMISSIVE")) == {"columns"}
    same(mode="PERMISSIVE", columns="id,_corrupt_record,__messageId")
    assert same(mode="DROPMALFORMED").num_rows == ENTRIES - ENTRIES // 5
    with pytest.raises(DecodeError, match=r"ledger \d+, entry 0: not JSON.*mode=PERMISSIVE"):
        tier.rows()
    assert same(columns="__messageId").num_rows == ENTRIES


def test_fields_that_no_column_holds_are_not_in_the_table(tier: Tier, same: Same) -> None:
    written = document(field("id", "int"), field("next", ["null", "Node"], default=None))
    written["name"] = "Node"
    allow_every_schema(tier)
    _send(tier, "AVRO", written, {"next": {"id": 7, "next": None}}, ENTRIES)
    tier.roll()
    assert tier.run().rows == ENTRIES
    assert set(tier.places()) == {"columns"}
    assert same(columns="id").num_rows == ENTRIES
    assert "next" not in tier.rows().column_names
    with pytest.raises(OptionError, match="recursiveFieldMaxDepth"):
        tier.run(recursiveFieldMaxDepth="2")


def allow_every_schema(tier: Tier) -> None:
    namespace = "/".join(tier.topic.split("/")[2:4])
    policy = tier.admin.request(
        "PUT", f"namespaces/{namespace}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE"
    )
    assert policy.status < 300, policy.data
    tier.admin.create(tier.topic)


def _send(tier: Tier, kind: str, written: dict[str, Any], row: dict[str, Any], count: int) -> None:
    """Send `count` rows that differ in their first field."""
    tier.admin.register(tier.topic, kind, json.dumps(written))
    first = written["fields"][0]
    schema = {"schema": AvroSchema(None, schema_definition=written)} if kind == "AVRO" else {}
    producer = tier.official.create_producer(tier.topic, batching_enabled=False, **schema)
    for number in range(count):
        value = {first["name"]: str(number) if first["type"] == "string" else number, **row}
        if kind == "JSON":
            text = json.dumps(value, default=as_base64)
            producer.send(text.encode())
        else:
            producer.send(value)
    producer.close()
