"""Comments of columns, from the attribute `doc` of Avro fields, for Pulsar's schema types AVRO and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.primitive import RECORD_TYPES

StructJson = dict[str, Any]


def add_comments(columns: StructJson, info: SchemaInfo | None) -> StructJson:
    """Add the comments of columns, and of fields inside columns, to a StructType in JSON.

    Args:
        columns: The columns of the schema `info`, as JSON of a StructType.
        info: The topic's schema.

    """
    if info is None or info.type not in RECORD_TYPES:
        return columns
    return _struct(columns, json.loads(info.text))


def _struct(columns: StructJson, record: Any) -> StructJson:
    documents = {field["name"]: field for field in _fields(record)}
    return {
        **columns,
        "fields": [_column(field, documents.get(field["name"], {})) for field in columns["fields"]],
    }


def _column(column: StructJson, document: Mapping[str, Any]) -> StructJson:
    commented_column = {**column, "type": _type(column["type"], document.get("type"))}
    if document.get("doc"):
        commented_column["metadata"] = {**column.get("metadata", {}), "comment": str(document["doc"])}
    return commented_column


def _type(kind: Any, document: Any) -> Any:
    if not isinstance(kind, Mapping):
        return kind
    for branch in document if isinstance(document, list) else [document]:
        if kind["type"] == "struct" and _fields(branch):
            return _struct(dict(kind), branch)
        if kind["type"] == "array" and isinstance(branch, Mapping) and branch.get("type") == "array":
            return {**kind, "elementType": _type(kind["elementType"], branch["items"])}
        if kind["type"] == "map" and isinstance(branch, Mapping) and branch.get("type") == "map":
            return {**kind, "valueType": _type(kind["valueType"], branch["values"])}
    return kind


def _fields(record: Any) -> list[Mapping[str, Any]]:
    """Return the fields of a record definition; an empty list if the node is a reference to a named record."""
    return list(record.get("fields", [])) if isinstance(record, Mapping) else []
