"""Comparison of schemas, and descriptions of schemas for errors.

The registry stores the text of a schema exactly as a producer registered the schema. Two texts describe the same schema
if they differ only in blanks, in the order of keys, or in the documentation of types and fields. All other differences
make the schemas different, including the names of records.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, split

Identity = tuple[str, str]
"""The type and the normalized text of a schema. Identities of equal schemas are equal."""


def identity(info: SchemaInfo | None) -> Identity:
    """Return the identity of a schema. `info` is None if the topic has no schema."""
    if info is None or info.type in (SchemaType.NONE, SchemaType.BYTES):
        return ("none", "")
    if info.type is SchemaType.KEY_VALUE:
        pair = _sides(info)
        sides = pair and [pair.separated, identity(pair.key), identity(pair.value)]
        return (info.type.name, json.dumps(sides or info.document.hex()))
    try:
        return (info.type.name, json.dumps(_without_docs(json.loads(info.document)), sort_keys=True))
    except (ValueError, RecursionError):
        return (info.type.name, info.document.hex())


def schema_text(info: SchemaInfo | None) -> str:
    """Return the type, the name and the field names of a schema as text for an error."""
    if info is None or info.type in (SchemaType.NONE, SchemaType.BYTES):
        return "no schema"
    pair = _sides(info)
    if pair is not None:
        how = "separated" if pair.separated else "inline"
        return f"{info.type.name}, {how}, of {schema_text(pair.key)} and {schema_text(pair.value)}"
    try:
        document = json.loads(info.document) if info.document else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("fields"), list):
        return info.type.name
    names = ", ".join(str(field.get("name")) for field in document["fields"] if isinstance(field, dict))
    return f"{info.type.name} {document.get('name', '')}({names})"


def _sides(info: SchemaInfo) -> KeyValueSchemas | None:
    """Return the key schema and the value schema of a KEY_VALUE schema, or None if the schema has another type.

    The result is also None if the KEY_VALUE schema is malformed, because a read refuses the schema later.
    """
    if info.type is not SchemaType.KEY_VALUE:
        return None
    try:
        return split(info, topic=info.name)
    except SchemaError:
        return None


def _without_docs(node: Any) -> Any:
    """Return an Avro document without the `doc` of types and fields. Defaults are unchanged."""
    if isinstance(node, list):
        return [_without_docs(item) for item in node]
    if isinstance(node, dict):
        return {
            key: value if key == "default" else _without_docs(value)
            for key, value in node.items()
            if not (key == "doc" and isinstance(value, str))
        }
    return node
