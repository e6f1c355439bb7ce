"""Whether topics have the same schema, and how it is told when they do not.

Registries keep texts as producers wrote them. Two texts that differ only in blanks, the order of keys, or the
documentation of types and fields describe the same schema; everything else, names included, makes a difference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, split
from pyspark_pulsar.topic import TopicName

_SHOWN_GROUPS: Final = 10
_SHOWN_TOPICS: Final = 5

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


def only_schema(schemas: Mapping[TopicName, SchemaInfo | None]) -> SchemaInfo | None:
    """The schema that all topics share. Raises `SchemaError` listing the topics by schema."""
    groups: dict[Identity, list[TopicName]] = {}
    for topic, info in schemas.items():
        groups.setdefault(identity(info), []).append(topic)
    if len(groups) > 1:
        listed = sorted(groups.values(), key=len, reverse=True)
        lines = [_group_text(topics, schemas[topics[0]]) for topics in listed[:_SHOWN_GROUPS]]
        if len(listed) > _SHOWN_GROUPS:
            lines.append(f"{len(listed) - _SHOWN_GROUPS} more schemas")
        raise SchemaError(
            f"expected topics that share one schema, got {len(groups)} different ones among {len(schemas)} topics; "
            f"read them apart, or set allowDifferentTopicSchemas=true to get every value as bytes:"
            + "".join(f"\n  - {line}" for line in lines)
        )
    return next(iter(schemas.values()))


def _group_text(topics: list[TopicName], info: SchemaInfo | None) -> str:
    shown = ", ".join(str(topic) for topic in topics[:_SHOWN_TOPICS])
    more = f" and {len(topics) - _SHOWN_TOPICS} more" if len(topics) > _SHOWN_TOPICS else ""
    return f"{schema_text(info)}: {shown}{more}"


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
    names = ", ".join(str(each.get("name")) for each in document["fields"] if isinstance(each, dict))
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
        return [_without_docs(each) for each in node]
    if isinstance(node, dict):
        return {
            key: value if key == "default" else _without_docs(value)
            for key, value in node.items()
            if not (key == "doc" and isinstance(value, str))
        }
    return node
