"""The one schema by which the topics of a read are one table.

Topics with the same schema have that, others the union of theirs (`schema_union`), if there is one.

Registries keep texts as producers wrote them. Each text is looked at once, however many topics have it, and schemas
that only differ in their texts or in the names of records are compared once.
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
"""The latest schema of each topic; None for a topic without one."""


@dataclass(frozen=True)
class TopicFamily:
    """Topics that are one table.

    `info` is the schema of the first topic, or, in Avro and JSON, the union of those that differ, which has no version.
    `payload` is what reads them all, None where `info` says it. `members` has a topic for each schema that differs from
    others in more than its text. `digest` changes with every topic and schema.
    """

    info: SchemaInfo | None
    payload: PayloadSchema | None
    members: tuple[tuple[TopicName, SchemaInfo | None], ...]
    digest: str


def topic_family(schemas: Schemas, unfolding: Unfolding = UNFOLDED_ONCE) -> TopicFamily:
    """What reads all of `schemas`, of at least one topic. Raises `SchemaError` listing the topics by schema, and why
    they are not one table."""
    groups = _by_shape(schemas)
    members = tuple((topics[0], schemas[topics[0]]) for topics in groups)
    try:
        info, payload = united({str(topic): info for topic, info in members}, unfolding)
    except SchemasDiffer as differ:
        raise _refused(schemas, groups, str(differ)) from None
    return TopicFamily(info, payload, members, _digest(schemas))


def described_family(schemas: Schemas) -> TopicFamily:
    """Topics whose messages the user's own Protobuf descriptor describes, so that they need not say the same of them;
    `info` is the one that fits such messages least."""
    topics = sorted(schemas, key=lambda topic: (_says_protobuf(schemas[topic]), topic))
    return TopicFamily(schemas[topics[0]], None, ((topics[0], schemas[topics[0]]),), _digest(schemas))


def _says_protobuf(info: SchemaInfo | None) -> int:
    if info is None or info.type in (SchemaType.NONE, SchemaType.BYTES):
        return 2
    return 1 if info.type in PROTOBUF_TYPES else 0


def _by_shape(schemas: Schemas) -> list[list[TopicName]]:
    """The topics by what their schemas are to a reader; what covers most comes first, then what most topics have."""
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
    """The text, of a record without its own name: thousands of topics that are named after themselves have one."""
    if info.type not in (SchemaType.AVRO, SchemaType.JSON):
        return info.document
    try:
        node = json.loads(info.document)
        # A name with a dot is a namespace for the names below.
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
        f"the schemas of the {len(schemas)} topics cannot be read as one, {len(listed)} of them differ: {why}; read "
        f"them apart, or set allowDifferentTopicSchemas=true to get every value as bytes:"
        + "".join(f"\n  - {line}" for line in lines)
    )


def _group_text(topics: Sequence[TopicName], info: SchemaInfo | None) -> str:
    shown = ", ".join(str(topic) for topic in topics[:_SHOWN_TOPICS])
    more = f" and {len(topics) - _SHOWN_TOPICS} more" if len(topics) > _SHOWN_TOPICS else ""
    return f"{schema_text(info)}: {shown}{more}"
