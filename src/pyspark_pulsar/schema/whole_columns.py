"""A check whether columns contain all information in the messages of a schema version.

A table stores the columns of a message instead of its payload. A later reader can resolve the message to another
schema, so the columns must be equivalent to the payload.

    AVRO      The writer's schema describes a message exactly. The columns are complete if the reader uses the writer's
              schema, and if no type loses digits. The kernel also checks each message for maps and decimals in unusual
              forms.
    PROTOBUF  The kernel checks each message. In addition, the schema of the columns must have all fields of the
              version, with equal types. Otherwise another reader could refuse the version because of a field's type,
              although a read of the columns would succeed.
    JSON      The kernel checks each message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark_pulsar.schema.avro import tree
from pyspark_pulsar.schema.info import SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.primitive import RECORD_TYPES
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_VALUE

_AVRO: Final = RECORD_TYPES[SchemaType.AVRO]
_FINER_THAN_COLUMNS: Final = ("timestamp-nanos", "local-timestamp-nanos", "duration")


def columns_are_whole(reader: PayloadSchema, written: PayloadSchema, own: PayloadSchema | None) -> bool:
    """Return whether the columns of a reader contain all information in the messages of a schema version.

    Args:
        reader: The format whose columns the table stores.
        written: The writer's format of the version.
        own: The writer's format of the version from which `reader` was made. None if the messages name no version. Each
            reader decodes messages without a version by the reader's own version.

    """
    if reader.pair is not None:
        return all(
            columns_are_whole(side, _side(written, name), None if own is None else _side(own, name))
            for name, side in (("key", reader.pair.key), ("value", reader.pair.value))
        )
    if reader.value_type == PROTOBUF_VALUE and own is not None and written != own:
        return _Plans(written, own).is_part(0, 0)
    if reader.value_type != _AVRO:
        return True
    if reader.omitted or reader.shows_more or own is None:
        return False
    if written.definition is None or own.definition is None:
        return False
    is_same = tree.parse(written.definition) == tree.parse(own.definition)
    return is_same and not _is_finer(json.loads(written.definition))


class _Plans:
    """A comparison of the messages of two Protobuf plans (`schema.protobuf.plan`)."""

    def __init__(self, written: PayloadSchema, own: PayloadSchema) -> None:
        self._written = json.loads(written.definition or "{}")
        self._own = json.loads(own.definition or "{}")
        self._compared: set[tuple[int, int]] = set()

    def is_part(self, written: int, own: int) -> bool:
        """Return whether message `own` has all fields of message `written`, with the same types.

        Both arguments are indices of messages, `written` in the plan of the version and `own` in the reader's plan.
        """
        if (written, own) in self._compared:
            return True
        self._compared.add((written, own))
        if not self._written or not self._own:
            return False
        others = {field["number"]: field for field in self._own["messages"][own]["fields"]}
        return all(
            field["number"] in others and self._is_same(field, others[field["number"]])
            for field in self._written["messages"][written]["fields"]
        )

    def _is_same(self, written: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
        if any(written.get(name) != own.get(name) for name in ("kind", "shape", "packed")):
            return False
        if written["kind"] not in ("message", "group") or None in (written.get("type"), own.get("type")):
            return True
        return self.is_part(written["type"], own["type"])


def _side(payload: PayloadSchema, name: str) -> PayloadSchema:
    if payload.pair is None:
        return payload
    return payload.pair.key if name == "key" else payload.pair.value


def _is_finer(node: Any) -> bool:
    """Return whether a type in the document has values that a column truncates."""
    if isinstance(node, list):
        return any(map(_is_finer, node))
    if not isinstance(node, dict):
        return False
    return node.get("logicalType") in _FINER_THAN_COLUMNS or any(map(_is_finer, node.values()))
