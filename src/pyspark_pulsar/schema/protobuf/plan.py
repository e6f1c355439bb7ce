"""The essence of a Protobuf message type: what becomes columns, and what the kernel is told.

A plan is made of a descriptor (`protobuf_descriptor`) or of what a PROTOBUF schema says of its top level
(`protobuf_parsing_info`). Its document is the JSON that kernel/src/protobuf/parse.rs reads.

| Protobuf | Arrow |
|---|---|
| int32, sint32, sfixed32 | int32 |
| uint32, fixed32, int64, sint64, sfixed64 | int64 |
| uint64, fixed64 | decimal128(20, 0) |
| float, double, bool, string, bytes | the same |
| enum | string: its name, or its number where it has none; int32 where the names are not known |
| message, group | struct; binary where the type is not known |
| repeated, map | list, map |
| google.protobuf.Timestamp, Duration | timestamp[us, UTC], duration[us] |
| google.protobuf.Int32Value and its like | the scalar within |
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.to_arrow import list_of

SCALARS: Final = {
    "double": pa.float64(),
    "float": pa.float32(),
    "int32": pa.int32(),
    "sint32": pa.int32(),
    "sfixed32": pa.int32(),
    "uint32": pa.int64(),
    "fixed32": pa.int64(),
    "int64": pa.int64(),
    "sint64": pa.int64(),
    "sfixed64": pa.int64(),
    "uint64": pa.decimal128(20, 0),
    "fixed64": pa.decimal128(20, 0),
    "bool": pa.bool_(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_TIMES: Final = {"timestamp": pa.timestamp("us", tz="UTC"), "duration": pa.duration("us")}

# The kernel's limit on messages inside each other, and ours on what a message unfolds to: types that refer to
# each other many times over grow without end long before a table of them is of use.
_MAX_DEPTH: Final = 64
_MAX_FIELDS: Final = 20_000


@dataclass(frozen=True)
class PlanField:
    """One field. `kind` is the type's name in descriptor.proto, in lower case; `type` the index of its message
    or enum, None where that is not known. `shape` is implicit (absent and zero are the same), optional,
    required, repeated or map, whose type is the message of its entries. `absent` is what an absent field
    stands for, as text (numbers in decimal, enums by number, bytes in base64); None is null.
    """

    name: str
    number: int
    kind: str
    shape: str
    type: int | None = None
    packed: bool = False
    oneof: int | None = None
    absent: str | None = None


@dataclass(frozen=True)
class PlanMessage:
    """One message type. `meaning` is timestamp, duration or wrapper for the well-known types, else None."""

    name: str
    fields: tuple[PlanField, ...]
    oneofs: tuple[str, ...] = ()
    meaning: str | None = None


@dataclass(frozen=True)
class PlanEnum:
    """One enum type; a closed one (proto2) may hold no other numbers than these."""

    closed: bool
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ProtobufPlan:
    """All types of a value, which is the first message."""

    messages: tuple[PlanMessage, ...]
    enums: tuple[PlanEnum, ...] = ()

    def document(self, version: str = "") -> str:
        """For the kernel. `version` is the registry version as people know it, for errors."""
        plan = {
            "version": version,
            "messages": [_without_none(asdict(message)) for message in self.messages],
            "enums": [asdict(enum) for enum in self.enums],
        }
        return json.dumps(plan, separators=(",", ":"), ensure_ascii=False)

    def fields(self, *, where: str) -> pa.Schema:
        """The Arrow fields of a value; only required ones are not nullable.

        Raises SchemaError naming the path of a message type that contains itself, which no column can.
        """
        return pa.schema(_Fields(self, where).of(0, "", (0,)))


def _without_none(message: dict[str, Any]) -> dict[str, Any]:
    fields = [
        {key: value for key, value in field.items() if value is not None} for field in message.pop("fields")
    ]
    return {key: value for key, value in message.items() if value is not None} | {"fields": fields}


class _Fields:
    """One walk through a plan."""

    def __init__(self, plan: ProtobufPlan, where: str) -> None:
        self._plan = plan
        self._where = where
        self._count = 0

    def of(self, index: int, path: str, open_messages: tuple[int, ...]) -> list[pa.Field]:
        """The fields of a message below `path`; `open_messages` are those around it, and itself."""
        return [
            pa.field(field.name, self._shaped(field, path, open_messages), nullable=field.shape != "required")
            for field in self._plan.messages[index].fields
        ]

    def _shaped(self, field: PlanField, path: str, open_messages: tuple[int, ...]) -> pa.DataType:
        below = f"{path}{field.name}"
        self._count += 1
        if self._count > _MAX_FIELDS:
            raise SchemaError(
                f"{self._where}: expected a message of at most {_MAX_FIELDS} fields with those of the messages "
                f"in it, got more at {below}; read it as bytes, or leave the field out of the descriptor"
            )
        if field.shape == "map" and field.type is not None:
            key, value = self._plan.messages[field.type].fields
            items = self._item(value, f"{below}.value", open_messages)
            return pa.map_(self._item(key, below, open_messages), pa.field("value", items))
        item = self._item(field, below, open_messages)
        return list_of(item, nullable=True) if field.shape == "repeated" else item

    def _item(self, field: PlanField, path: str, open_messages: tuple[int, ...]) -> pa.DataType:
        if field.kind == "enum":
            return pa.int32() if field.type is None else pa.string()
        if field.kind not in ("message", "group"):
            return SCALARS[field.kind]
        if field.type is None:
            return pa.binary()
        message = self._plan.messages[field.type]
        if message.meaning in _TIMES:
            return _TIMES[message.meaning]
        if message.meaning == "wrapper":
            return SCALARS[message.fields[0].kind]
        if field.type in open_messages:
            raise SchemaError(
                f"{self._where}: expected messages that do not contain themselves, got {message.name} within "
                f"itself at {path}; a column has no such type: leave the field out of the descriptor, or read "
                "the topic as bytes"
            )
        if len(open_messages) >= _MAX_DEPTH:
            raise SchemaError(
                f"{self._where}: expected at most {_MAX_DEPTH} messages inside each other, got more at {path}; "
                "leave the field out of the descriptor"
            )
        return pa.struct(self.of(field.type, f"{path}.", (*open_messages, field.type)))
