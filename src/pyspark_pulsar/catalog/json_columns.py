"""Spark's columns, as the catalog's protocol has them in JSON, as Arrow's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from pyspark_pulsar.schema.types.spark import arrow_schema, struct_of_json


def arrow_columns(schema: Mapping[str, Any]) -> pa.Schema:
    """The Arrow schema of a StructType as JSON. Raises SchemaError for types that Spark cannot exchange as Arrow."""
    return arrow_schema(struct_of_json(schema))


def arrow_column(name: str, kind: Any, *, nullable: bool = True) -> pa.Field:
    """One column of the Spark type that `kind` is as JSON."""
    column = {"name": name, "type": kind, "nullable": nullable, "metadata": {}}
    return arrow_columns({"type": "struct", "fields": [column]}).field(0)


def comments(schema: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """Paths of the columns, and of the fields of structs in them, that have a comment."""
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
