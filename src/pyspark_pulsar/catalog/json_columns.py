"""Conversion of Spark columns to Arrow columns. The catalog's protocol contains Spark columns as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from pyspark_pulsar.schema.types.spark import arrow_schema, struct_of_json


def arrow_columns(schema: Mapping[str, Any]) -> pa.Schema:
    """Return the Arrow schema of a StructType in JSON.

    Raises:
        SchemaError: Spark cannot convert one of the types to Arrow.

    """
    return arrow_schema(struct_of_json(schema))


def arrow_column(name: str, kind: Any, *, nullable: bool = True) -> pa.Field:
    """Return the Arrow column for a Spark type in JSON."""
    column = {"name": name, "type": kind, "nullable": nullable, "metadata": {}}
    return arrow_columns({"type": "struct", "fields": [column]}).field(0)


def comments(schema: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """Return the comments in a StructType, by the path of the column or of the field inside a column."""
    by_path: dict[tuple[str, ...], str] = {}
    for column in schema["fields"]:
        path, kind = (str(column["name"]),), column["type"]
        comment = (column.get("metadata") or {}).get("comment")
        if comment:
            by_path[path] = str(comment)
        by_path |= {path + below: text for below, text in _nested(kind).items()}
    return by_path


def _nested(kind: Any) -> dict[tuple[str, ...], str]:
    if not isinstance(kind, Mapping):
        return {}
    if kind.get("type") == "struct":
        return comments(kind)
    inner = {"array": ("element", "elementType"), "map": ("value", "valueType")}.get(str(kind.get("type")))
    if inner is None:
        return {}
    step, member = inner
    return {(step, *below): text for below, text in _nested(kind[member]).items()}
