"""Whether two schemas are the same, and what a schema is called in messages.

Registries keep texts as producers wrote them. Two texts that differ only in blanks, the order of keys, or the
documentation of types and fields describe the same schema; everything else, names included, makes a difference.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, split

Identity = tuple[str, str]
"""Equal for equal schemas."""


def identity(info: SchemaInfo | None) -> Identity:
    """What `info` must share with another schema to be the same; None is a topic without one."""
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
    """Type, name and the fields' names of a schema, for a message."""
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
    """The two schemas of a pair; None for other schemas and for damaged ones, which are refused when read."""
    if info.type is not SchemaType.KEY_VALUE:
        return None
    try:
        return split(info, topic=info.name)
    except SchemaError:
        return None


def _without_docs(node: Any) -> Any:
    """An Avro document without the `doc` of its types and fields; defaults are values and stay whole."""
    if isinstance(node, list):
        return [_without_docs(item) for item in node]
    if isinstance(node, dict):
        return {
            key: value if key == "default" else _without_docs(value)
            for key, value in node.items()
            if not (key == "doc" and isinstance(value, str))
        }
    return node
