"""Messages as changes of the rows of a table: what `CHANGES` gives. Executor only, but what `source_columns` says.

A message of a table with keys is an upsert, which Spark's changelogs have no word for: `update_postimage`, whether the
key was there before or not. One with a key and without a value is a `delete`. Messages of a table without keys are
inserts. What a row was before a change, no message says.
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
"""Behind the value columns. A version is the position of the message in its topic partition, a time its publish
time."""

_NEEDED: Final = ("__key", "__messageId", "__publishTime")


@dataclass(frozen=True, slots=True)
class Changes:
    """How the rows of a query are made changes."""

    key: str | None
    """The value column that is the key of the table."""
    separated: bool
    """Whether that column comes from the message's key, so that a message without a value has it too."""
    columns: pa.Schema
    """What the query gets: all value columns, and `COLUMNS`."""

    @classmethod
    def of(cls, option: str, columns: pa.Schema) -> Changes:
        """`option`: of `changes`."""
        told = json.loads(option)
        return cls(told.get("key"), told.get("separated", False), columns)

    @property
    def source_columns(self) -> pa.Schema:
        """What is read for it."""
        values = [field for field in self.columns if field.name not in COLUMNS.names]
        return pa.schema([*values, *(metadata_columns.FIELDS[name] for name in _NEEDED)])

    def rows(self, batches: Generator[pa.RecordBatch, None, None]) -> Generator[pa.RecordBatch, None, None]:
        """Raises `SchemaError` for a delete whose key is no value of the key column."""
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
        """Those with a key and without a value. A row that has its key alone is an upsert, of nulls."""
        deleted = pc.is_valid(batch.column("__key"))
        passed_over = {*COLUMNS.names, *((self.key,) if self.separated else ())}
        for field in self.columns:
            if field.name not in passed_over:
                deleted = pc.and_(deleted, pc.is_null(batch.column(field.name)))
        return deleted

    def _keys(self, batch: pa.RecordBatch, deleted: pa.Array) -> pa.Array:
        """The key column, which a delete has from the message's key."""
        column = batch.column(self.key)
        lacking = pc.and_(deleted, pc.is_null(column))
        if not pc.any(lacking).as_py():
            return column
        known = pc.if_else(lacking, batch.column("__key"), pa.scalar(None, pa.binary()))
        try:
            given = known if pa.types.is_binary(column.type) else known.cast(pa.string()).cast(column.type)
        except pa.ArrowInvalid as fault:
            raise SchemaError(
                f"column {self.key}: expected deletes whose keys are texts of {type_text(column.type)}, got one that "
                f"is not ({fault}); read the table without CHANGES"
            ) from None
        return pc.if_else(lacking, given, column)


def _positions(ids: pa.StructArray) -> pa.Array:
    ledger, entry, index = (ids.field(name).cast(pa.int64()) for name in ("ledger", "entry", "batchIndex"))
    parts = (ledger, entry, pc.max_element_wise(index, 0))
    return pc.binary_join_element_wise(*(part.cast(pa.string()) for part in parts), ":")
