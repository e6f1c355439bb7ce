"""A Delta table as our catalog makes and finds it, its columns, and tables that are not read."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import DeltaTable, TableFeatures
from fixtures.columnar import (
    COLUMNS,
    IDENTIFIER,
    TOPIC,
    add_ledger,
    append_commit,
    definition,
    deletion_vector,
    layout_of,
    ledgers,
    loaded,
    new_schema,
    positions_after,
    rows_of,
    values,
    written,
)

from pyspark_pulsar.errors import ColumnsUnavailable, OptionError, SchemaError, TierMismatch
from pyspark_pulsar.history.columnar.delta.table import DeltaFolder
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.history.columnar.table import TableMoved
from pyspark_pulsar.history.columnar.tiered_schema import parse_tiered_schema


def test_a_table_is_what_it_was_made_as(folder: DeltaFolder) -> None:
    made = folder.create(
        IDENTIFIER, definition("day(__publishTime)", "item", **{"delta.targetFileSize": "1000"})
    )
    table = loaded(folder)
    for one in (made, table):
        assert (one.format, one.topic, one.schema_texts) == ("delta", TOPIC, {})
        assert one.positions == TieredPositions()
        assert one.files() == ()
        assert one.columns == COLUMNS
        assert one.version == made.version
    layout = layout_of(table)
    assert layout.schema.names == [*(name for name in COLUMNS.names if name != "item"), "__tieredBy"]
    assert layout.file_bytes == 1000
    assert [str(field) for field in layout.partition_fields] == ["day(__publishTime)", "item"]
    with pytest.raises(TableMoved, match="already exists"):
        folder.create(IDENTIFIER, definition())


def test_files_are_described_by_the_log(folder: DeltaFolder) -> None:
    table = folder.create(IDENTIFIER, definition("day(__publishTime)", "item", "__partition"))
    for item in ("a b/c=%", None, "ä"):
        add_ledger(table, 7, item=item)
    files = {dict(file.constants)["item"]: file for file in loaded(folder).files()}
    assert files.keys() == {"a b/c=%", None, "ä"}
    for file in files.values():
        assert (file.rows, file.partitions, file.ledgers, file.entries) == (3, (0, 0), (7, 7), (0, 2))
        assert file.published == (1_700_000_000_000, 1_700_000_000_002)
        assert file.has_payloads is False
        assert file.url in table.known_urls()
        with table.rows.storage.open_input(file.url) as source:
            assert source.size() == file.size
    assert values(table) == sorted(ledgers(7) * 3)


def test_bad_rows_are_reported(folder: DeltaFolder) -> None:
    columns = pa.schema([*COLUMNS, ("__payload", pa.binary())])
    table = folder.create(IDENTIFIER, definition(columns=columns))
    add_ledger(table, 1, __payload=b"?")
    table.commit(
        written(table, rows_of(2).append_column("__payload", pa.nulls(3, pa.binary()))), positions_after(2)
    )
    assert [file.has_payloads for file in sorted(table.files(), key=lambda file: file.first)] == [True, False]


def test_the_existing_tables_are_listed(folder: DeltaFolder, table: Any) -> None:
    assert folder.present([IDENTIFIER, "ns.u", "other.t"]) == {IDENTIFIER}
    assert folder.load("ns.u") is None
    assert folder.load("other.t") is None


def test_a_table_is_dropped(folder: DeltaFolder, table: Any, tmp_path: Path) -> None:
    assert folder.drop(IDENTIFIER, keep_files=True)
    assert folder.load(IDENTIFIER) is None
    assert not folder.drop(IDENTIFIER, keep_files=True)
    (log,) = (tmp_path / "ns" / "t").glob("_delta_log.dropped-*")
    log.rename(tmp_path / "ns" / "t" / "_delta_log")
    assert values(loaded(folder)) == ledgers(1, 2)
    assert folder.drop(IDENTIFIER, keep_files=False)
    assert list((tmp_path / "ns").iterdir()) == []


def test_a_table_made_where_one_was_dropped_has_other_files(folder: DeltaFolder, table: Any) -> None:
    folder.drop(IDENTIFIER, keep_files=True)
    assert folder.create(IDENTIFIER, definition()).folder != table.folder


@pytest.mark.parametrize(
    ("columns", "fields", "fault"),
    [
        (pa.schema([*COLUMNS, ("a b", pa.int32())]), (), SchemaError),
        (pa.schema([*COLUMNS, ("ITEM", pa.int32())]), (), SchemaError),
        (COLUMNS, ("__key",), OptionError),
        (COLUMNS, ("nothing",), OptionError),
    ],
)
def test_tables_that_cannot_be_made(
    columns: pa.Schema, fields: tuple[str, ...], fault: type[Exception], folder: DeltaFolder
) -> None:
    with pytest.raises(fault):
        folder.create(IDENTIFIER, definition(*fields, columns=columns))
    assert folder.load(IDENTIFIER) is None


def test_an_empty_text_of_the_partition_stops_the_commit(folder: DeltaFolder) -> None:
    table = folder.create(IDENTIFIER, definition("item"))
    with pytest.raises(SchemaError, match="Delta cannot distinguish from null"):
        add_ledger(table, 1, item="")
    assert loaded(folder).files() == ()


def test_a_foreign_table_has_no_positions(folder: DeltaFolder, tmp_path: Path) -> None:
    deltalake.write_deltalake(str(tmp_path / "ns" / "t"), pa.table({"value": [1]}))
    table = loaded(folder)
    assert table.topic is None
    with pytest.raises(TierMismatch, match="expected the positions that each table of a topic has, got none"):
        _ = table.positions


# Columns


def test_columns_are_added_at_any_depth(folder: DeltaFolder) -> None:
    inner = pa.struct([("x", pa.int32())])
    columns = pa.schema([*COLUMNS, ("deep", pa.map_(pa.string(), pa.list_(inner)))])
    table = folder.create(IDENTIFIER, definition("item", columns=columns))
    more = pa.struct([("y", pa.timestamp("us")), ("x", pa.int32())])
    evolved = pa.schema(
        [("first", pa.time64("us")), *COLUMNS, ("deep", pa.map_(pa.string(), pa.list_(more)))]
    )
    text = table.add_schema(new_schema(evolved))
    for one in (table, loaded(folder)):
        assert list(one.schema_texts.values()) == [text]
        assert one.columns.field("first").type == pa.int64()
        assert one.columns.field("deep").type.item_type.value_type == pa.struct(
            [("x", pa.int32()), ("y", pa.timestamp("us"))]
        )
    add_ledger(loaded(folder), 1)
    assert values(table) == ledgers(1)


def test_moments_without_zone_in_maps(folder: DeltaFolder) -> None:
    """A column of this type makes delta-rs create and leave a table that it cannot read."""
    deep = pa.map_(pa.string(), pa.struct([("x", pa.timestamp("us"))]))
    table = folder.create(IDENTIFIER, definition(columns=pa.schema([*COLUMNS, ("deep", deep)])))
    table.add_schema(new_schema(pa.schema([*COLUMNS, ("deep", deep)])))
    assert loaded(folder).columns.field("deep").type == deep
    add_ledger(table, 1)
    assert values(table) == ledgers(1)


@pytest.mark.parametrize(
    "column",
    [
        ("value", pa.decimal128(9, 2)),
        ("item", pa.struct([("x", pa.int32())])),
        ("a b", pa.int32()),
        ("Value", pa.int64()),
        ("publishTime_day", pa.int32()),
        ("n", pa.int64()),
    ],
)
def test_columns_that_a_table_cannot_get(
    column: tuple[str, pa.DataType], folder: DeltaFolder, caplog: pytest.LogCaptureFixture
) -> None:
    """The table keeps payloads instead, and the column keeps its type: Delta does not widen such a type
    either.
    """
    columns = pa.schema([*COLUMNS, ("n", pa.int32())])
    table = folder.create(IDENTIFIER, definition(columns=columns))
    text = table.add_schema(
        new_schema(pa.schema([*(one for one in columns if one.name != column[0]), column]))
    )
    schema = parse_tiered_schema(text, "table")
    assert schema.keeps_all
    assert column[0] not in schema.stored.names
    assert set(columns) <= set(loaded(folder).columns)
    assert "because types or names conflict" in caplog.text
    assert f"/ns/t, fields: {column[0]} (" in caplog.text


def test_a_partition_column_keeps_its_type(folder: DeltaFolder) -> None:
    table = folder.create(IDENTIFIER, definition("item"))
    columns = pa.schema([*(one for one in COLUMNS if one.name != "item"), ("item", pa.int64())])
    with pytest.raises(SchemaError, match=r"the type of column 'item', because the table is partitioned"):
        table.add_schema(new_schema(columns))


def test_of_two_that_add_columns_one_wins(folder: DeltaFolder, table: Any) -> None:
    first, second = loaded(folder), loaded(folder)
    first.add_schema(new_schema(pa.schema([*COLUMNS, ("x", pa.int32())])))
    with pytest.raises(TableMoved):
        second.add_schema(new_schema(pa.schema([*COLUMNS, ("x", pa.string())])))
    assert loaded(folder).columns.field("x").type == pa.int32()


# What is not read


def test_deletion_vectors_are_refused(folder: DeltaFolder, table: Any) -> None:
    DeltaTable(table.name).alter.add_feature(
        TableFeatures.DeletionVectors, allow_protocol_versions_increase=True
    )
    assert len(loaded(folder).files()) == 2
    path = Path(table.name.removeprefix("file://"))
    (add,) = [action["add"] for action in _adds(path)][:1]
    remove = {"path": add["path"], "dataChange": True, "deletionTimestamp": 1}
    append_commit(path, {"remove": remove}, {"add": {**add, "deletionVector": deletion_vector([0, 2])}})
    assert len(values(table)) == 4
    with pytest.raises(ColumnsUnavailable, match=r"got deletion vectors; .* REORG TABLE"):
        loaded(folder).files()


def _adds(path: Path) -> list[dict[str, Any]]:
    lines = [
        line for log in sorted((path / "_delta_log").glob("*.json")) for line in log.read_text().splitlines()
    ]
    return [action for line in lines if "add" in (action := json.loads(line))]


def test_column_mapping_is_refused(folder: DeltaFolder) -> None:
    table = folder.create(IDENTIFIER, replace(definition(), partition_fields=()))
    path = Path(table.name.removeprefix("file://"))
    log = path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    (metadata,) = [action["metaData"] for action in actions if "metaData" in action]
    columns = json.loads(metadata["schemaString"])
    mapped(columns, itertools.count(1))
    append_commit(
        path,
        {"protocol": {
            "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["columnMapping"],
            "writerFeatures": ["columnMapping"],
        }},
        {"metaData": {
            **metadata, "schemaString": json.dumps(columns),
            "configuration": {**metadata["configuration"], "delta.columnMapping.mode": "name"},
        }},
    )  # fmt: skip
    with pytest.raises(ColumnsUnavailable, match="columnMapping"):
        loaded(folder).files()


def mapped(kind: Any, ids: Iterator[int]) -> None:
    """Change all columns of a schema, as JSON, to have ids and to have names of their own in files."""
    for name in ("elementType", "keyType", "valueType", "type"):
        if isinstance(kind, dict) and isinstance(kind.get(name), dict):
            mapped(kind[name], ids)
    for field in kind.get("fields", ()) if isinstance(kind, dict) else ():
        number = next(ids)
        field["metadata"] = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"c{number}",
        }
        mapped(field["type"], ids)


def test_unknown_features_are_refused(folder: DeltaFolder, table: Any) -> None:
    path = Path(table.name.removeprefix("file://"))
    append_commit(path, {"protocol": {
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["unheardOf"], "writerFeatures": ["unheardOf"],
    }})  # fmt: skip
    with pytest.raises(ColumnsUnavailable):
        loaded(folder).files()


@pytest.mark.parametrize(("kind", "features"), [(pa.int32(), None), (pa.timestamp("us"), ["timestampNtz"])])
def test_tables_need_no_more_features_than_their_columns(
    kind: pa.DataType, features: list[str] | None, folder: DeltaFolder
) -> None:
    """Otherwise, engines without these features would refuse to read."""
    table = folder.create(IDENTIFIER, definition(columns=pa.schema([*COLUMNS, ("x", kind)])))
    add_ledger(table, 1)
    text = table.add_schema(new_schema(pa.schema([*COLUMNS, ("y", kind)])))
    table.commit(written(table, rows_of(1)), table.positions, table.files())
    assert DeltaTable(table.name).protocol().reader_features == features
    assert text in table.schema_texts.values()
    assert table.schema_texts == loaded(folder).schema_texts
