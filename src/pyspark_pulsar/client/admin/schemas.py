"""Requests to the admin REST API about schemas.

The admin REST API represents a key-value schema as one JSON object with two documents: the key's schema and the value's
schema.

Source of the resources: `SchemasResource` of Pulsar 4.0.8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark_pulsar.client.admin.answers import as_object, reason_of
from pyspark_pulsar.client.admin.paths import schema_resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.errors import ProtocolError, SchemaError, TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import join, split

_CONFLICT, _UNPROCESSABLE = 409, 422
_EMPTY_PAIR: Final = bytes(8)


@dataclass(frozen=True)
class RegisteredSchema:
    """A version of a topic's schema. `info.version` is set, and `registered_ms` is in Unix milliseconds."""

    info: SchemaInfo
    registered_ms: int


class Schemas:
    """Requests about schemas, for `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def latest(self, topic: TopicName) -> SchemaInfo | None:
        """Return the newest version of the topic's schema, or None if the topic has no schema."""
        where = f"reading the schema of {topic}"
        try:
            answer = self._rest.get(schema_resource(topic, "schema"), where)
        except TopicNotFoundError:
            return None
        return schema_from_rest(topic, as_object(answer, where))

    def versions(self, topic: TopicName) -> tuple[RegisteredSchema, ...]:
        """Return all versions of the topic's schema in ascending order, with one request."""
        where = f"reading the schemas of {topic}"
        try:
            answer = as_object(self._rest.get(schema_resource(topic, "schemas"), where), where)
        except TopicNotFoundError:
            return ()
        versions = [
            RegisteredSchema(schema_from_rest(topic, version), int(version.get("timestamp", 0)))
            for version in answer.get("getSchemaResponses") or []
        ]
        return tuple(sorted(versions, key=lambda version: version.info.version or b""))

    def register(self, topic: TopicName, info: SchemaInfo) -> int:
        """Register a schema.

        Returns:
            The version of the schema. If an equal schema is registered already, the method returns the version of that
            schema, and the newest version of the topic does not change.

        Raises:
            SchemaError: The broker refuses the schema. The error message contains the broker's reason.

        """
        where = f"registering the {info.type.name} schema of {topic}"
        body = {
            "type": info.type.name,
            "schema": document_for_rest(info, topic),
            "properties": dict(info.properties),
        }
        expected = (_CONFLICT, _UNPROCESSABLE)
        change = self._rest.change("POST", schema_resource(topic, "schema"), where, body, expected=expected)
        if change.status == _CONFLICT:
            raise SchemaError(
                f"{where}: expected a schema that is compatible with earlier versions, got a refusal: "
                f"{reason_of(change.text)}; make a compatible change, or let an administrator choose another "
                "schema compatibility strategy for the namespace"
            )
        if change.status == _UNPROCESSABLE:
            raise SchemaError(
                f"{where}: expected a valid schema, got a refusal: {reason_of(change.text)}; correct the schema"
            )
        try:
            return int(json.loads(change.text)["version"]["version"])
        except (ValueError, TypeError, KeyError):
            raise ProtocolError(
                f"{where}: expected the version of the schema, got another answer; check admin.url"
            ) from None


def schema_from_rest(topic: TopicName, answer: Mapping[str, Any]) -> SchemaInfo:
    """Convert a schema from the form of the admin REST API to the form of the registry.

    The forms differ only for key-value schemas. The registry joins the documents of the key and the value to one
    document.

    Raises:
        SchemaError: The answer contains no key-value schema in the expected form.

    """
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


def document_for_rest(info: SchemaInfo, topic: TopicName) -> str:
    """Return the schema's document in the form of the admin REST API."""
    if info.type is not SchemaType.KEY_VALUE:
        return info.text
    pair = split(info, topic=str(topic))
    sides = {"key": pair.key, "value": pair.value}
    return json.dumps(
        {name: json.loads(side.text) if side.document else "" for name, side in sides.items()},
        ensure_ascii=False,
    )
