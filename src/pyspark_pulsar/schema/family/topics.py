"""Selection of the schema by which a read returns several topics as one table.

If the topics share one schema, the table has this schema. If the schemas differ, the table has the union of the schemas
(`family.union`). If no union exists, the read fails.

A read of many topics parses each distinct schema text only once. Schemas that differ only in formatting or in the names
of records are compared only once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.family.same_schema import schema_text
from pyspark_pulsar.schema.family.union import SchemasDiffer, Shape, shape, united
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_TYPES
from pyspark_pulsar.schema.unfolding import UNFOLDED_ONCE, Unfolding

_SHOWN_GROUPS: Final = 10
_SHOWN_TOPICS: Final = 5

Schemas: TypeAlias = Mapping[TopicName, SchemaInfo | None]
"""The latest schema of each topic, or None if the topic has no schema."""


@dataclass(frozen=True)
class TopicFamily:
    """The topics that a read returns as one table, and the schema of the table.

    Attributes:
        info: The schema of the first topic. If AVRO or JSON schemas differ, the union of the schemas, which has no
            version.
        payload: The format that reads all topics; None if `info` determines the format.
        members: One topic, with its schema, for each group of topics whose schemas have equal shapes
            (`family.union.Shape`).
        digest: A SHA-256 digest of all topics and their schemas, in hexadecimal digits.

    """

    info: SchemaInfo | None
    payload: PayloadSchema | None
    members: tuple[tuple[TopicName, SchemaInfo | None], ...]
    digest: str


def topic_family(schemas: Schemas, unfolding: Unfolding = UNFOLDED_ONCE) -> TopicFamily:
    """Return the family of all topics in `schemas`, which must contain at least one topic.

    Raises:
        SchemaError: If the schemas of the topics have no union. The error lists the topics by schema, and the reason.

    """
    groups = _by_shape(schemas)
    members = tuple((topics[0], schemas[topics[0]]) for topics in groups)
    try:
        info, payload = united({str(topic): info for topic, info in members}, unfolding)
    except SchemasDiffer as differ:
        raise _refused(schemas, groups, str(differ)) from None
    return TopicFamily(info, payload, members, _digest(schemas))


def described_family(schemas: Schemas) -> TopicFamily:
    """Return the family of topics whose messages the user's Protobuf descriptor describes.

    The schemas of the topics can differ. The family has the schema that fits Protobuf messages least. A check of this
    schema therefore detects a topic whose messages are not Protobuf.
    """
    topics = sorted(schemas, key=lambda topic: (_protobuf_fit(schemas[topic]), topic))
    return TopicFamily(schemas[topics[0]], None, ((topics[0], schemas[topics[0]]),), _digest(schemas))


def _protobuf_fit(info: SchemaInfo | None) -> int:
    """Return 2 if a topic has no schema or bytes, 1 if the schema is Protobuf, and 0 if the schema has another type."""
    if info is None or info.type in (SchemaType.NONE, SchemaType.BYTES):
        return 2
    return 1 if info.type in PROTOBUF_TYPES else 0


def _by_shape(schemas: Schemas) -> list[list[TopicName]]:
    """Group topics by the shape of their schemas. Groups with more fields are first, then groups with more topics."""
    known: dict[Hashable, Shape] = {}
    groups: dict[Shape, list[TopicName]] = {}
    for topic in sorted(schemas):
        info = schemas[topic]
        text = info and (info.type, _nameless(info), info.properties)
        if text not in known:
            known[text] = shape(info)
        groups.setdefault(known[text], []).append(topic)
    return [
        topics
        for _, topics in sorted(groups.items(), key=lambda one: (-one[0].width, -len(one[1]), one[1][0]))
    ]


def _nameless(info: SchemaInfo) -> bytes | str:
    """Return the text of a schema without the record's name, because topics often name records after themselves."""
    if info.type not in (SchemaType.AVRO, SchemaType.JSON):
        return info.document
    try:
        node = json.loads(info.document)
        # A name with a dot determines the namespace of nested types, so the document cannot lose this name.
        if "." not in node.pop("name"):
            return json.dumps(node)
    except (ValueError, RecursionError, TypeError, LookupError, AttributeError):
        pass
    return info.document


def _digest(schemas: Schemas) -> str:
    made = hashlib.sha256()
    for topic in sorted(schemas):
        made.update(repr((str(topic), schemas[topic])).encode())
    return made.hexdigest()


def _refused(schemas: Schemas, groups: Sequence[Sequence[TopicName]], why: str) -> SchemaError:
    listed = sorted(groups, key=len, reverse=True)
    lines = [_group_text(topics, schemas[topics[0]]) for topics in listed[:_SHOWN_GROUPS]]
    if len(listed) > _SHOWN_GROUPS:
        lines.append(f"{len(listed) - _SHOWN_GROUPS} more schemas")
    return SchemaError(
        f"the schemas of the {len(schemas)} topics cannot be read as one, {len(listed)} schemas differ: {why}; read "
        f"the topics separately, or set allowDifferentTopicSchemas=true to get every value as bytes:"
        + "".join(f"\n  - {line}" for line in lines)
    )


def _group_text(topics: Sequence[TopicName], info: SchemaInfo | None) -> str:
    shown = ", ".join(str(topic) for topic in topics[:_SHOWN_TOPICS])
    more = f" and {len(topics) - _SHOWN_TOPICS} more" if len(topics) > _SHOWN_TOPICS else ""
    return f"{schema_text(info)}: {shown}{more}"
