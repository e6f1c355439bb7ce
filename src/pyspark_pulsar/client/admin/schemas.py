"""Schemas in the answers and questions of the admin REST API, which shows the two documents of a pair as JSON.

Source: `SchemasResource` of Pulsar 4.0.8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import join, split
from pyspark_pulsar.topic import TopicName

_EMPTY_PAIR: Final = bytes(8)


@dataclass(frozen=True)
class RegisteredSchema:
    """One version of a topic's schema; `info.version` is set. `registered_ms`: Unix milliseconds."""

    info: SchemaInfo
    registered_ms: int


def schema_answered(topic: TopicName, answer: Mapping[str, Any]) -> SchemaInfo:
    """A version as REST has it; the two documents of a pair, which REST shows as JSON, as the registry holds them."""
    info = SchemaInfo.from_rest(name=topic.local, answer=answer)
    if info.type is not SchemaType.KEY_VALUE:
        return info
    try:
        sides = json.loads(info.document)
        key, value = (_document(sides[name]) for name in ("key", "value"))
    except (ValueError, TypeError, KeyError):
        raise SchemaError(
            f"schema of {topic}: expected the key's and the value's schema as JSON, got another answer; "
            "register the schema again"
        ) from None
    pair = split(replace(info, document=_EMPTY_PAIR), topic=str(topic))
    key_info, value_info = replace(pair.key, document=key), replace(pair.value, document=value)
    return replace(join(replace(pair, key=key_info, value=value_info)), version=info.version)


def _document(side: Any) -> bytes:
    return json.dumps(side, separators=(",", ":"), ensure_ascii=False).encode() if side else b""


def schema_asked(info: SchemaInfo, topic: TopicName) -> str:
    """The document as REST takes it."""
    if info.type is not SchemaType.KEY_VALUE:
        return info.text
    pair = split(info, topic=str(topic))
    sides = {"key": pair.key, "value": pair.value}
    return json.dumps(
        {name: json.loads(side.text) if side.document else "" for name, side in sides.items()},
        ensure_ascii=False,
    )
