"""Columns of table files in SQL: schemas that change, formats, removed ledgers, and tables changed by other
engines.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from integration.tier.conftest import ENTRIES, in_sql
from integration.tier.sql_table import METADATA, SqlTable, cells, files_read, numbered, scans, write
from integration.tier.test_schemas import (
    ROWS,
    VERSIONS,
    A,
    _send as send,
    allow_every_schema,
    document,
    field,
    inner,
)
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import EqualTo
from pyspark.errors import PySparkException

from pyspark_pulsar.history.tiering.definition import parse_table_settings

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
# These columns are in no file, or in some alone, and are neither null nor simple there; and times of day.
OF_THE_SOURCE = [set(), {"line", "items", "more", "list", "codes", "data", "hour"}, {"line", "items"}]


def test_a_schema_that_changes_between_rounds(sql: SqlTable) -> None:
    tier = sql.tier
    allow_every_schema(tier)
    for version, (written, row) in enumerate(zip(VERSIONS, ROWS, strict=True)):
        send(tier, "AVRO", written, row, ENTRIES)
        tier.roll()
        tier.run()
        # If rows of an earlier version are tiered late, they lose the fields that the topic's schema lacks by then.
        if version == len(VERSIONS) - 1:
            send(tier, "AVRO", written, row, 3)
        names = [column["name"] for column in written["fields"]]
        scanned = [name for name in names if name not in OF_THE_SOURCE[version]]
        assert sql.same(lambda frame: frame.selectExpr("*", "__messageId"))
        # Some versions of Spark omit defaults in other reads if columns of the file follow.
        for vectorized in ("true", "false") if version else ("true",):
            with sql.conf(VECTORIZED, vectorized):
                assert sql.same(lambda frame, names=scanned: frame.select(*names, "__messageId"))
                sql.same(lambda frame: frame.where("id > 3 and id < 9000000000").select("id"))
                if version == 1:
                    assert bool(scans(sql.frame().select("level", "__messageId"))) == (vectorized == "true")
        assert {name for name in names if not scans(sql.frame().select(name))} == OF_THE_SOURCE[version]
        assert bool(scans(sql.frame())) != bool(OF_THE_SOURCE[version])
    for condition in (
        "level = 7",
        "level <> 7",
        "level is null",
        "level in (1, 7)",
        "old = 'again'",
        "old < 'b'",
    ):
        read = sql.frame().where(condition)
        assert scans(read.select("id"))
        assert cells(read.select("id", "level", "old")) == cells(
            sql.frame(readFrom="broker").where(condition).select("id", "level", "old")
        ), condition
    assert files_read(sql.frame().where("id < 0").select("id")) == [0]


DEFAULTS = [
    field("an_int", "int", default=-7),
    field("a_long", "long", default=2**40),
    field("a_float", "float", default=0.1),
    field("a_double", "double", default=-1e-300),
    field("a_boolean", "boolean", default=True),
    field("a_text", "string", default="with blanks ä"),
    field("an_empty_text", "string", default=""),
    field("a_quoted_text", "string", default="it's"),
    field("an_option", ["null", "string"], default=None),
    field("an_enum", {"type": "enum", "name": "E", "symbols": ["P", "Q"]}, default="Q"),
    field(
        "a_decimal",
        {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        default="\u0007",
    ),
    field("bytes", "bytes", default="\u0000"),
    field("a_day", {"type": "int", "logicalType": "date"}, default=-200_000),
]


ADDED = field("added", ["null", "long"], default=None)
OTHERS = {"a_quoted_text", "bytes", "a_day"}


def test_defaults_of_every_simple_type(sql: SqlTable) -> None:
    tier = sql.tier
    allow_every_schema(tier)
    send(tier, "AVRO", document(field("id", "int"), inner(A)), {"line": {"a": 1}}, ENTRIES)
    tier.roll()
    tier.run()
    # The table lacks the new fields until the next round.
    later = document(field("id", "int"), inner(A, ADDED), *DEFAULTS)
    tier.admin.register(tier.topic, "AVRO", json.dumps(later))
    names = [column["name"] for column in DEFAULTS]
    _check_defaults(sql, names, ("true",))
    row = {column["name"]: column["default"] for column in DEFAULTS} | {"bytes": b"", "a_day": 3}
    row |= {"an_int": 8, "a_float": 0.5, "an_enum": "P", "a_decimal": Decimal("1.25")}
    send(tier, "AVRO", later, row | {"line": {"a": 2, "added": None}}, ENTRIES)
    tier.roll()
    tier.run()
    _check_defaults(sql, names, ("true", "false"))


def _check_defaults(sql: SqlTable, names: list[str], vectorized_or_not: tuple[str, ...]) -> None:
    scanned = [name for name in names if name not in OTHERS]
    for vectorized in vectorized_or_not:
        with sql.conf(VECTORIZED, vectorized):
            sql.same(lambda frame: frame.select(*scanned, "__messageId", "id"))
            sql.same(lambda frame: frame.where("an_int = -7 or a_float > 0.3").select("id", "an_int"))
    sql.same(lambda frame: frame.select("*"))
    # If older files have none of a struct's selected fields, Spark must still know whether the struct is
    # null.
    assert sql.same(lambda frame: frame.where("line is not null and line.added is null").select("id"))
    assert sql.same(lambda frame: frame.selectExpr("line.added", "line is null"))
    assert scans(sql.frame().where("line is not null and line.added is null").select("id"))
    sql.same(lambda frame: frame.where("a_boolean is null or a_decimal is null").select("id"))
    assert sql.same(lambda frame: frame.where("an_option is null").select("id"))
    assert {name for name in names if not scans(sql.frame().select(name))} == OTHERS


def test_tinyint_is_stored_as_int(sql: SqlTable) -> None:
    for start in (0, 60):
        write(sql.tier, pa.table({"value": pa.array(range(start, start + 60), pa.int8())}))
        if start == 0:
            sql.tier.roll()
            sql.tier.run()
    assert scans(sql.frame())
    assert len(sql.same(lambda frame: frame.select("value", "__messageId"))) == 120
    assert len(sql.same(lambda frame: frame.where("value > 7 and value < 100Y").select("value"))) == 92


def test_times_of_day_are_read_by_the_data_source(sql: SqlTable) -> None:
    hour = field("hour", {"type": "long", "logicalType": "time-micros"})
    send(sql.tier, "AVRO", document(field("id", "int"), hour), {"hour": 5}, ENTRIES)
    sql.tier.roll()
    sql.tier.run()
    assert sql.same(lambda frame: frame.select("id", "hour"))
    assert not scans(sql.frame().select("hour"))
    assert scans(sql.frame().select("id", "__key"))


def test_a_renamed_field_is_read_by_the_data_source(sql: SqlTable) -> None:
    tier = sql.tier
    allow_every_schema(tier)
    other = field("other", "string", default="o")
    send(
        tier, "AVRO", document(field("id", "int"), inner(A), other), {"line": {"a": 1}, "other": "x"}, ENTRIES
    )
    tier.roll()
    tier.run()
    renamed = [field("number", "int", aliases=["id"]), inner(field("alpha", "int", aliases=["a"])), other]
    send(tier, "AVRO", document(*renamed), {"line": {"alpha": 2}, "other": "y"}, ENTRIES)
    tier.roll()
    tier.run()
    assert len(sql.same(lambda frame: frame)) == 2 * ENTRIES
    for name, is_scanned in (("number", False), ("line.alpha", False), ("other", True)):
        assert bool(scans(sql.frame().selectExpr(name))) == is_scanned, name
        sql.same(lambda frame, name=name: frame.selectExpr(name))


def test_bad_rows_are_read_by_the_data_source(sql: SqlTable) -> None:
    tier = sql.tier
    tier.admin.create(tier.topic)
    tier.admin.register(tier.topic, "JSON", json.dumps(document(field("id", "int"))))
    producer = tier.official.create_producer(tier.topic, batching_enabled=False)
    for number in range(ENTRIES):
        producer.send(b"{broken" if number % 5 == 0 else b'{"id": %d}' % number)
    tier.roll()
    tier.run(mode="PERMISSIVE")
    for mode, rows in (("PERMISSIVE", ENTRIES), ("DROPMALFORMED", ENTRIES - ENTRIES // 5)):
        with in_sql(sql.spark, tier, mode=mode) as permissive:
            assert len(permissive.same(lambda frame: frame.select("id"))) == rows
            assert permissive.frame().count() == rows
            assert not scans(permissive.frame())
            assert scans(permissive.frame().select("__messageId"))
            permissive.same(lambda frame: frame.select("__messageId"))
    for query in (sql.frame().select("id"), sql.frame().groupBy().count()):
        with pytest.raises(PySparkException, match="DecodeError"):
            query.collect()
    assert scans(sql.frame().select("__messageId"))


def test_tiered_ledgers_may_be_removed(sql: SqlTable) -> None:
    tier = sql.tier
    write(tier, numbered(range(300)))
    tier.roll()
    tier.run()
    everything = cells(sql.frame())
    assert len(everything) == 300
    # The broker deletes an empty ledger after the end of the table when it loads the topic.
    for _ in range(2):
        tier.roll()
        assert cells(sql.frame()) == everything
        assert tier.run().rows == 0
    tier.trim()
    assert cells(sql.frame()) == everything
    assert cells(sql.spark.table(sql.columns)) == everything
    write(tier, numbered(range(300, 310)))
    assert sql.frame().count() == 310
    assert sql.frame(startingTimestamp="2020-01-01T00:00:00Z").count() == 310


def test_errors_name_lost_rows_and_topics_made_again(sql: SqlTable) -> None:
    tier = sql.tier
    write(tier, numbered(range(100)))
    tier.roll()
    tier.run()
    write(tier, numbered(range(100, 900)))
    tier.roll()
    write(tier, numbered(range(900, 910)))
    tier.trim()
    with pytest.raises(PySparkException, match="removed by retention"):
        sql.frame().select("id").collect()
    assert sql.frame(failOnDataLoss="false").select("id").count() == 110
    assert sql.spark.table(sql.columns).count() == 100
    tier.admin.delete(tier.topic)
    write(tier, numbered(range(100)))
    with pytest.raises(PySparkException, match="deleted and made again"):
        sql.frame().select("id").collect()


def test_tables_changed_by_other_engines_are_read_correctly(sql: SqlTable) -> None:
    tier = sql.tier
    for number in range(3):
        write(tier, numbered(range(number * 100, number * 100 + 100)))
        tier.roll()
        tier.run()
    table = load_catalog("default", **tier.catalog).load_table(tier.table.name)
    # The other engine writes one file, in another order.
    rows = table.scan().to_arrow()
    table.overwrite(rows.take(pa.array([(index * 7) % 300 for index in range(300)])))
    assert len(sql.same(lambda frame: frame.selectExpr("*", *METADATA))) == 300
    # pyiceberg does not record which ledgers are in its files.
    assert not scans(sql.frame())
    # The scan omits the deleted rows, and so does the data source.
    table.delete(EqualTo("id", 7))  # type: ignore[call-arg]
    assert sql.frame().count() == 299
    assert cells(sql.frame().select("id")) == cells(_read_by_data_source(sql).select("id"))
    # The other engine adds rows without a message, which the data source leaves out.
    table.append(rows.slice(0, 1).set_column(0, rows.schema.field(0), pa.array([12345], pa.int64())))
    behind = rows.slice(0, 5).drop_columns(["__messageId", "__partition"])
    table.append(behind)
    assert not scans(sql.frame())
    assert "12345" in "".join(cells(_read_by_data_source(sql).select("id")))
    assert cells(sql.frame().select("id")) == cells(_read_by_data_source(sql).select("id"))


def _read_by_data_source(sql: SqlTable) -> Any:
    return sql.spark.read.format("pulsar").options(**sql.tier.texts()).load()


def test_a_table_keeps_the_users_partitioning_and_sort_order(sql: SqlTable) -> None:
    write(sql.tier, numbered(range(400)))
    sql.tier.roll()
    sql.tier.run(parse_table_settings("day(__eventTime),flag", "name"))
    write(sql.tier, numbered(range(400, 420)))
    assert len(sql.same(lambda frame: frame.selectExpr("*", *METADATA))) == 420
    half = len(sql.tier.table.files()) // 2
    assert files_read(sql.frame().where("flag")) == [half]
    assert sql.same(lambda frame: frame.where("flag and id > 100").select("id"))
