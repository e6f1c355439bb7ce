"""Rows as changes: their kind, key and position."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Generator
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pulsar.codec.changes import COLUMNS, Changes
from pyspark_pulsar.errors import SchemaError

TIME = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def changed(
    key: str | None,
    values: pa.Schema,
    *messages: tuple[bytes | None, dict[str, Any]],
    separated: bool = False,
) -> list[dict[str, Any]]:
    option = json.dumps({"key": key, "separated": separated})
    changes = Changes.parse(option, pa.schema([*values, *COLUMNS]))
    rows = [
        {
            **dict.fromkeys(values.names),
            **row,
            "__key": name,
            "__messageId": {"ledger": 7, "entry": number, "batchIndex": number - 1, "partition": 0},
            "__publishTime": TIME,
        }
        for number, (name, row) in enumerate(messages)
    ]
    read = pa.RecordBatch.from_pylist(rows, schema=changes.source_columns)

    def batches() -> Generator[pa.RecordBatch, None, None]:
        yield read

    (given,) = changes.rows(batches())
    assert given.schema == changes.columns
    found: list[dict[str, Any]] = given.to_pylist()
    return found


VALUES = pa.schema({"id": pa.int32(), "name": pa.string()})


def test_a_table_with_a_key_has_upserts_and_deletes() -> None:
    rows = changed(
        "id",
        VALUES,
        (b"1", {"id": 1, "name": "a"}),
        (b"2", {}),
        (b"3", {"id": 3}),
        (None, {}),
        (b"4", {"name": "x"}),
    )
    assert [(row["_change_type"], row["id"], row["name"]) for row in rows] == [
        ("update_postimage", 1, "a"),
        ("delete", 2, None),
        ("update_postimage", 3, None),
        ("update_postimage", None, None),
        ("update_postimage", None, "x"),
    ]
    # Outside of a batch the index is -1, and 0 in a position.
    assert [row["_commit_version"] for row in rows] == ["7:0:0", "7:1:0", "7:2:1", "7:3:2", "7:4:3"]
    assert {row["_commit_timestamp"] for row in rows} == {TIME}


def test_a_row_of_its_key_alone_is_no_delete() -> None:
    alone = pa.schema({"id": pa.int32()})
    rows = changed("id", alone, (b"1", {"id": 1}), (b"1", {}))
    assert [(row["_change_type"], row["id"]) for row in rows] == [("update_postimage", 1), ("delete", 1)]


def test_a_pair_without_a_value_is_a_delete_with_its_key() -> None:
    pairs = pa.schema({"key": pa.string(), "value": pa.string()})
    messages = [(b"a", {"key": "a", "value": "x"}), (b"a", {"key": "a"}), (None, {})]
    rows = changed("key", pairs, *messages, separated=True)
    assert [(row["_change_type"], row["key"]) for row in rows] == [
        ("update_postimage", "a"),
        ("delete", "a"),
        ("update_postimage", None),
    ]


def test_a_table_without_a_key_has_inserts() -> None:
    rows = changed(None, VALUES, (b"1", {"id": 1}), (b"2", {}))
    assert [row["_change_type"] for row in rows] == ["insert", "insert"]


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        (pa.string(), "ü".encode(), "ü"),
        (pa.binary(), b"\xff", b"\xff"),
        (pa.int64(), b"-5", -5),
        (pa.bool_(), b"true", True),
        (pa.date32(), b"2026-03-01", dt.date(2026, 3, 1)),
    ],
)
def test_the_key_of_a_delete_has_its_type_again(kind: pa.DataType, key: bytes, value: object) -> None:
    (row,) = changed("k", pa.schema({"k": kind, "v": pa.string()}), (key, {}))
    assert (row["_change_type"], row["k"]) == ("delete", value)


def test_a_key_of_another_type_than_the_column_is_reported() -> None:
    with pytest.raises(SchemaError, match="column id: expected the key of each delete"):
        changed("id", VALUES, (b"abc", {}))
