"""Changes to a reader's Avro schema for the columns of `.schema(...)`: wider numbers, and fields of older versions.

The decoder resolves messages of all schema versions to the reader's schema. If the query requests bigint for an int
field, the reader's schema must declare the field as a long. If the reader's schema declared an int, the decoder could
not read messages of a later version with a long. If the query requests a field that only older versions have, the
reader's schema must have the field too.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.avro.json_document import FORM

_PROMOTED: Final = {
    (pa.int64(), "int"): "long",
    (pa.float64(), "int"): "double",
    (pa.float64(), "float"): "double",
}


def with_old_fields(document: str, older: Mapping[str, Any]) -> str:
    """Return a document with additional fields of older versions at its end.

    An additional field is null in messages without the field.

    Args:
        document: The latest document.
        older: The Avro type of each additional field from `old_field`, by the name of the field.

    """
    record = json.loads(document)
    known = set(_definitions(record))
    for name, node in older.items():
        kind = _without_definitions(copy.deepcopy(node), known)
        branches = kind if isinstance(kind, list) else [kind]
        others = [branch for branch in branches if branch != "null"]
        record["fields"].append({"name": name, "type": ["null", *others], "default": None})
    return json.dumps(record)


def old_field(document: str, name: str) -> Any | None:
    """Return the Avro type of a record's field, or None if the record lacks the field.

    The first use of each named type in the result defines the type.
    """
    record = json.loads(document)
    definitions = _definitions(record)
    for field in record.get("fields", ()):
        if field["name"] == name:
            return _spelled_out(field["type"], definitions, set())
    return None


def promoted(document: str, columns: Iterable[pa.Field]) -> str:
    """Return a document in which int and float fields are promoted to the wider types of their columns."""
    record = json.loads(document)
    _promote_record(record, {field.name: field.type for field in columns}, _definitions(record))
    return json.dumps(record)


def _promote_record(
    record: dict[str, Any], reader_types: Mapping[str, pa.DataType], definitions: Mapping[str, dict[str, Any]]
) -> None:
    for field in record["fields"]:
        if field["name"] in reader_types:
            field["type"] = _promote(field["type"], reader_types[field["name"]], definitions)


def _promote(node: Any, reader_type: pa.DataType, definitions: Mapping[str, dict[str, Any]]) -> Any:
    if isinstance(node, list):
        # A union of several types becomes a struct, whose members are not widened.
        general = sum(branch not in ("null", {"type": "null"}) for branch in node) > 1
        return node if general else [_promote(branch, reader_type, definitions) for branch in node]
    if isinstance(node, str):
        if node in definitions:
            _promote(definitions[node], reader_type, definitions)
            return node
        return _PROMOTED.get((reader_type, node), node)
    kind = node.get("type")
    if isinstance(kind, dict | list):
        node["type"] = _promote(kind, reader_type, definitions)
    elif kind in ("record", "error") and types.is_struct(reader_type):
        _promote_record(node, {member.name: member.type for member in reader_type}, definitions)
    elif kind == "array" and types.is_list(reader_type):
        node["items"] = _promote(node["items"], reader_type.value_type, definitions)
    elif kind == "map" and types.is_map(reader_type):
        node["values"] = _promote(node["values"], reader_type.item_type, definitions)
    elif (reader_type, kind) in _PROMOTED and FORM not in node:
        return _PROMOTED[reader_type, kind]
    return node


def _definitions(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the named types of a document by full name, and also by short name.

    If several types have the same short name, the result contains the first of these types by the short name.
    """
    definitions: dict[str, dict[str, Any]] = {}

    def walk(node: Any, namespace: str) -> None:
        if isinstance(node, list):
            for branch in node:
                walk(branch, namespace)
        elif isinstance(node, dict):
            if node.get("type") in ("record", "error", "enum", "fixed") and "name" in node:
                full = _full_name(node, namespace)
                namespace = full.rpartition(".")[0]
                definitions[full] = node
                definitions.setdefault(full.rpartition(".")[2], node)
            for key in ("type", "items", "values"):
                if isinstance(node.get(key), dict | list):
                    walk(node[key], namespace)
            for field in node.get("fields", ()):
                walk(field, namespace)

    walk(record, "")
    return definitions


def _full_name(node: Mapping[str, Any], namespace: str) -> str:
    name = str(node["name"])
    space = node.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


def _spelled_out(node: Any, definitions: Mapping[str, dict[str, Any]], seen: set[str]) -> Any:
    if isinstance(node, list):
        return [_spelled_out(branch, definitions, seen) for branch in node]
    if isinstance(node, str):
        if node not in definitions or str(definitions[node]["name"]) in seen:
            return node
        node = definitions[node]
    node = dict(node)
    if node.get("type") in ("record", "error", "enum", "fixed"):
        seen.add(str(node["name"]))
    for key in ("type", "items", "values"):
        if isinstance(node.get(key), dict | list) or (key != "type" and key in node):
            node[key] = _spelled_out(node[key], definitions, seen)
    if "fields" in node:
        node["fields"] = [
            {**field, "type": _spelled_out(field["type"], definitions, seen)} for field in node["fields"]
        ]
    return node


def _without_definitions(node: Any, known: set[str]) -> Any:
    """Return a type in which references replace definitions of named types that the document already has."""
    if isinstance(node, list):
        return [_without_definitions(branch, known) for branch in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") in ("record", "error", "enum", "fixed") and node["name"] in known:
        return node["name"]
    for key in ("type", "items", "values"):
        if isinstance(node.get(key), dict | list):
            node[key] = _without_definitions(node[key], known)
    for field in node.get("fields", ()):
        field["type"] = _without_definitions(field["type"], known)
    return node
