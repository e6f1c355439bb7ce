"""Conversion of messages to changes of a table's rows, for `CHANGES` in SQL.

The driver calls `Changes.parse` and `source_columns`. Executors convert the rows.

In a table with keys, a message with a key and without a value is a `delete`. Every other message is an upsert. Spark's
changelogs have no type for upserts, so an upsert has the type `update_postimage`, even if its key did not exist before.
In a table without keys, every message is an `insert`. Messages do not contain the previous row, so no change contains
the previous row either.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.types.type_text import type_text

INSERT, UPSERT, DELETE = "insert", "update_postimage", "delete"
COLUMNS: Final = pa.schema(
    {
        "_change_type": pa.string(),
        "_commit_version": pa.string(),
        "_commit_timestamp": pa.timestamp("us", "UTC"),
    }
)
"""The change columns, which follow the value columns. `_commit_version` is the message's position in its topic
partition, and `_commit_timestamp` is the message's publish time."""

_NEEDED: Final = ("__key", "__messageId", "__publishTime")


@dataclass(frozen=True, slots=True)
class Changes:
    """The conversion of a query's rows to changes."""

    key: str | None
    """The value column that is the key of the table, or None if the table has no key."""
    separated: bool
    """True if the key column contains the message's key, and not a field of the message's value. A separated key column
    is set even for a message without a value."""
    columns: pa.Schema
    """The columns of the query: all value columns, then `COLUMNS`."""

    @classmethod
    def parse(cls, option: str, columns: pa.Schema) -> Changes:
        """Parse the text of the option `changes`."""
        parsed = json.loads(option)
        return cls(parsed.get("key"), parsed.get("separated", False), columns)

    @property
    def source_columns(self) -> pa.Schema:
        """Source columns needed to compute the change columns."""
        values = [field for field in self.columns if field.name not in COLUMNS.names]
        return pa.schema([*values, *(metadata_columns.FIELDS[name] for name in _NEEDED)])

    def rows(self, batches: Generator[pa.RecordBatch, None, None]) -> Generator[pa.RecordBatch, None, None]:
        """Convert rows to changes.

        Raises:
            SchemaError: The key of a delete cannot be converted to the type of the key column.

        """
        with closing(batches):
            for batch in batches:
                yield self._changed(batch)

    def _changed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        kinds = pa.repeat(pa.scalar(INSERT), batch.num_rows)
        keys = None
        if self.key is not None:
            deleted = self._deleted(batch)
            kinds = pc.if_else(deleted, DELETE, UPSERT)
            keys = self._keys(batch, deleted)
        made = {
            "_change_type": kinds,
            "_commit_version": _positions(batch.column("__messageId")),
            "_commit_timestamp": batch.column("__publishTime"),
        }
        arrays = [
            made[field.name]
            if field.name in made
            else keys
            if field.name == self.key
            else batch.column(field.name)
            for field in self.columns
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)

    def _deleted(self, batch: pa.RecordBatch) -> pa.Array:
        """Return a boolean array: True for each row with a key and without a value.

        If the key column is part of the value, and all other value columns are null, the row is an upsert of nulls.
        """
        is_deleted = pc.is_valid(batch.column("__key"))
        ignored = {*COLUMNS.names, *((self.key,) if self.separated else ())}
        for field in self.columns:
            if field.name not in ignored:
                is_deleted = pc.and_(is_deleted, pc.is_null(batch.column(field.name)))
        return is_deleted

    def _keys(self, batch: pa.RecordBatch, deleted: pa.Array) -> pa.Array:
        """Return the key column. If a delete has a null in this column, use the message's key."""
        column = batch.column(self.key)
        lacking = pc.and_(deleted, pc.is_null(column))
        if not pc.any(lacking).as_py():
            return column
        known = pc.if_else(lacking, batch.column("__key"), pa.scalar(None, pa.binary()))
        try:
            given = known if pa.types.is_binary(column.type) else known.cast(pa.string()).cast(column.type)
        except pa.ArrowInvalid as fault:
            raise SchemaError(
                f"column {self.key}: expected the key of each delete to be a text of type {type_text(column.type)}, "
                f"got another text ({fault}); read the table without CHANGES"
            ) from None
        return pc.if_else(lacking, given, column)


def _positions(ids: pa.StructArray) -> pa.Array:
    ledger, entry, index = (ids.field(name).cast(pa.int64()) for name in ("ledger", "entry", "batchIndex"))
    parts = (ledger, entry, pc.max_element_wise(index, 0))
    return pc.binary_join_element_wise(*(part.cast(pa.string()) for part in parts), ":")
