"""The value of a column for messages that were written before the schema had the field.

A data file contains the columns that the topic's schema had when the file was written. The schema of a reader can have
more fields, at any depth. A field that the file lacks has the value below. The kernel's decoder returns the same value
for a message that lacks the field.

    AVRO          the field's default in the reader's schema, or null if the field has no default
    JSON          null if the field is nullable, even if it has a default; otherwise the default
    PROTOBUF      the value of an absent field: zero, empty, the first value of an enum, or null for `optional`
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.avro import tree
from pyspark_pulsar.schema.avro.defaults import default_scalar
from pyspark_pulsar.schema.info import SchemaType
from pyspark_pulsar.schema.payload import KEY_COLUMN, PayloadSchema
from pyspark_pulsar.schema.primitive import RECORD_TYPES, VALUE_COLUMN
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_VALUE
from pyspark_pulsar.schema.types.exchange import readable_type

_JSON: Final = RECORD_TYPES[SchemaType.JSON]
ITEM: Final = "element"
"""The key in `Absent.members` for the items of a list or the values of a map."""

Members = Mapping[str, "Absent"]


@dataclass(frozen=True, slots=True)
class Absent:
    """The value of a column or member that a file lacks."""

    value: pa.Array | None = None
    """An array of one element with the column's type in Spark (`schema.types.exchange`); None means null."""
    members: Members = field(default_factory=dict)
    """The values of the members of the column. A member that is not in this mapping is null."""


NULL: Final = Absent()


def absent_columns(payload: PayloadSchema) -> Members:
    """Return the value of each column of a reader in files that lack the column, by column name.

    A column that is not in the result is null in these files.
    """
    if payload.pair is not None:
        sides = ((KEY_COLUMN, payload.pair.key), (VALUE_COLUMN, payload.pair.value))
        return {name: Absent(members=absent_columns(side)) for name, side in sides}
    if payload.definition is None or payload.value_schema is None:
        return {}
    if payload.value_type in RECORD_TYPES.values():
        is_json = payload.value_type == _JSON
        return _Records(is_json).absent_members(tree.parse(payload.definition), list(payload.value_schema))
    if payload.value_type == PROTOBUF_VALUE:
        return _PlanMessages(json.loads(payload.definition)).absent_members(0, list(payload.value_schema))
    return {}


@dataclass(frozen=True, slots=True)
class _Records:
    """The values of absent record members, which an Avro document defines. JSON schemas have Avro documents too."""

    is_json: bool

    def absent_members(self, record: tree.RecordType, fields: Sequence[pa.Field]) -> dict[str, Absent]:
        kinds = {field.name: field.type for field in fields}
        return {
            member.name: Absent(_row(self._default(member, kind), kind), self._within(member.type, kind))
            for member in record.fields
            if (kind := kinds.get(member.name)) is not None
        }

    def _default(self, member: tree.Field, kind: pa.DataType) -> Any:
        if self.is_json and tree.is_nullable(member.type):
            return None
        # Only the decoder computes the default of a union of several types.
        if member.default is None or tree.has_several_types(member.type):
            return None
        return default_scalar(json.loads(member.default), kind)

    def _within(self, node: tree.Type, kind: pa.DataType) -> Members:
        others = [branch for branch in tree.branches(node) if branch != tree.NULL]
        if len(others) > 1:
            return {
                member.name: Absent(members=self._within(branch, member.type))
                for branch, member in zip(tree.held_members(node), kind, strict=True)
            }
        only = others[0] if others else node
        if isinstance(only, tree.RecordType) and types.is_struct(kind):
            return self.absent_members(only, list(kind))
        if isinstance(only, tree.Array):
            return {ITEM: Absent(members=self._within(only.items, kind.value_type))}
        if isinstance(only, tree.Map):
            return {ITEM: Absent(members=self._within(only.values, kind.item_type))}
        return {}


def _row(value: Any, kind: pa.DataType) -> pa.Array | None:
    """Return an array with one value, or None if the value is None. `kind` is the value's type in the definition."""
    return None if value is None else pa.array([value], kind).cast(readable_type(kind))


class _PlanMessages:
    """The values of absent message members, which the document of a Protobuf plan defines (`schema.protobuf.plan`)."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._messages = plan["messages"]
        self._enums = plan["enums"]

    def absent_members(self, message: int, fields: Sequence[pa.Field]) -> dict[str, Absent]:
        kinds = {field.name: field.type for field in fields}
        return {
            node["name"]: self._field(node, kinds[node["name"]])
            for node in self._messages[message]["fields"]
            if node["name"] in kinds
        }

    def _field(self, node: Mapping[str, Any], kind: pa.DataType) -> Absent:
        if node["shape"] == "map":
            value = self._messages[node["type"]]["fields"][1]
            return Absent(_row([], kind), {ITEM: Absent(members=self._members(value, kind.item_type))})
        if node["shape"] == "repeated":
            return Absent(_row([], kind), {ITEM: Absent(members=self._members(node, kind.value_type))})
        return Absent(_row(self._value(node, kind), kind), self._members(node, kind))

    def _members(self, node: Mapping[str, Any], kind: pa.DataType) -> Members:
        return self.absent_members(node["type"], list(kind)) if types.is_struct(kind) else {}

    def _value(self, node: Mapping[str, Any], kind: pa.DataType) -> Any:
        text = node.get("absent")
        if text is None:
            return None
        if node["kind"] == "enum":
            number = int(text)
            if types.is_integer(kind):
                return number
            names = {value: name for name, value in reversed(self._enums[node["type"]]["values"])}
            return names.get(number, text)
        if types.is_binary(kind):
            return base64.b64decode(text)
        if types.is_boolean(kind):
            return text == "true"
        if types.is_floating(kind):
            return float(text)
        if types.is_decimal(kind):
            return Decimal(text)
        return int(text) if types.is_integer(kind) else text
