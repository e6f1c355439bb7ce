"""Changes of an Iceberg table's columns by other engines: reads and tiering follow each column by its id."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from integration.tier.conftest import ENTRIES, Tier
from integration.tier.test_schemas import _send, document, field, inner
from pyiceberg.types import LongType, StringType

from pyspark_pulsar.errors import ColumnsUnavailable

Same = Callable[..., pa.Table]

WRITTEN = document(field("id", "int"), field("name", "string"), inner(field("a", "int"), field("b", "int")))
ROW = {"name": "n", "line": {"a": 1, "b": 2}}


def more(tier: Tier, written: dict[str, Any] = WRITTEN, row: dict[str, Any] = ROW) -> None:
    _send(tier, "AVRO", written, row, ENTRIES)
    tier.roll()
    tier.run()


def rewrite(tier: Tier) -> None:
    """Write all rows again under the table's present names, like an engine that compacts."""
    table = tier.table._table  # type: ignore[attr-defined]
    table.overwrite(table.scan().to_arrow())


def check(tier: Tier, same: Same, rows: int) -> None:
    assert set(tier.places()) == {"columns"}
    assert same().num_rows == rows
    for names in ("name", "line,__key", "id,__messageId"):
        same(columns=names)


def test_columns_renamed_reordered_widened_or_added_by_others(tier: Tier, same: Same) -> None:
    more(tier)
    with tier.table._table.update_schema() as update:  # type: ignore[attr-defined]
        update.rename_column("name", "title")
        update.rename_column("line.a", "alpha")
        update.rename_column("__key", "message_key")
        update.update_column("id", LongType())
        update.move_first("line")
    with tier.table._table.update_schema() as update:  # type: ignore[attr-defined]
        update.add_column("name", StringType())
        update.add_column(("line", "a"), StringType())
    check(tier, same, ENTRIES)
    more(tier)
    check(tier, same, 2 * ENTRIES)
    rewrite(tier)
    check(tier, same, 2 * ENTRIES)
    # A later schema has fields with the names that the other engine chose: the fields get columns of their
    # own.
    later = document(*WRITTEN["fields"], field("title", "string", default="t"))
    more(tier, later, {**ROW, "title": "u"})
    check(tier, same, 3 * ENTRIES)
    same(columns="title")
    # One file has rows of several schemas.
    rewrite(tier)
    assert [file.rows for file in tier.table.files()] == [3 * ENTRIES]
    check(tier, same, 3 * ENTRIES)
    same(columns="title,line")


def test_a_dropped_column_is_read_from_the_files_that_have_it(tier: Tier, same: Same) -> None:
    more(tier)
    with tier.table._table.update_schema() as update:  # type: ignore[attr-defined]
        update.delete_column("name")
        update.delete_column("line.b")
    check(tier, same, ENTRIES)
    rewrite(tier)
    for names in ("name", "line"):
        with pytest.raises(
            ColumnsUnavailable, match=r"got a file without column \S+, which another engine has dropped"
        ):
            tier.rows(readFrom="columns", columns=names)
    assert tier.rows(readFrom="columns", columns="id,__key").num_rows == ENTRIES
    # The next round adds the column again, and later rows have it.
    (end,) = (tiered.end for tiered in tier.table.positions.partitions.values())
    more(tier)
    assert same(columns="name,line", startingOffsets=json.dumps({tier.topic: str(end)})).num_rows == ENTRIES
    assert "name" in tier.table.columns.names


def test_rows_with_a_lost_schema_are_an_error(tier: Tier, same: Same) -> None:
    more(tier)
    (name,) = (name for name in tier.table._table.properties if name.startswith("pulsar.schema."))  # type: ignore[attr-defined]
    with tier.table._table.transaction() as transaction:  # type: ignore[attr-defined]
        transaction.remove_properties(name)
    with pytest.raises(
        ColumnsUnavailable, match=r"ids of schemas of the table in column __tieredBy, got -?\d+"
    ):
        tier.rows(readFrom="columns")
    assert same().num_rows == ENTRIES
    with tier.table._table.transaction() as transaction:  # type: ignore[attr-defined]
        transaction.set_properties({name: json.dumps("?")})
    with pytest.raises(
        ColumnsUnavailable, match=r"ids of schemas of the table in column __tieredBy, got -?\d+"
    ):
        tier.rows(readFrom="columns")
