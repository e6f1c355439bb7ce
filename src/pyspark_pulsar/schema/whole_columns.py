"""Whether the columns of a schema hold all that messages of a version say, as far as schemas tell.

A table keeps the columns of a message and lets its payload go. A later reader may resolve the message to another
schema, so the columns must be as good as the payload.

    AVRO      a message is exactly what its writer's schema says. Its columns are whole where they were made by that
              very schema, and no type loses digits on the way. The kernel looks for maps and decimals in odd forms
    PROTOBUF  the kernel looks at each message. But a reader also refuses all messages of a version that has one of its
              fields with another type, so the columns' schema must have all fields of the version
    JSON      the kernel looks at each message
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
    """Return whether the columns of `reader` hold all that messages written with `written` say.

    Args:
        reader: The schema whose columns are kept.
        written: What messages of a version were written with.
        own: What messages of the version that `reader` was made from are written with; None for messages that name no
            version, which each reader takes for messages of its own.

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
    """Two Protobuf plans (`schema.protobuf.plan`), the messages of which are compared."""

    def __init__(self, written: PayloadSchema, own: PayloadSchema) -> None:
        self._written = json.loads(written.definition or "{}")
        self._own = json.loads(own.definition or "{}")
        self._compared: set[tuple[int, int]] = set()

    def is_part(self, written: int, own: int) -> bool:
        """Return whether a message has no field that the other one lacks, or has with another type."""
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
    """Return whether some type within has values that a column cuts."""
    if isinstance(node, list):
        return any(map(_is_finer, node))
    if not isinstance(node, dict):
        return False
    return node.get("logicalType") in _FINER_THAN_COLUMNS or any(map(_is_finer, node.values()))
