"""Plans of Protobuf messages. A plan determines the columns, and the kernel decodes and encodes messages by the plan.

A plan is made from a descriptor (`protobuf.descriptor`), or from the top-level fields in a PROTOBUF schema
(`protobuf.parsing_info`). The kernel parses the plan from JSON (kernel/src/protobuf/parse.rs).

Protobuf types become these Arrow types:

    int32, sint32, sfixed32                    int32
    uint32, fixed32, int64, sint64, sfixed64   int64
    uint64, fixed64                            decimal128(20, 0)
    float, double, bool, string, bytes         the Arrow type with the same name
    enum                                       string: the name of the value, or the number of a value without
                                               a name; int32 if the names of the enum are unknown
    message, group                             struct; binary if the type is unknown
    repeated, map                              list, map
    google.protobuf.Timestamp, Duration        timestamp[us, UTC], duration[us]
    google.protobuf.Int32Value, other wrappers the scalar inside
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

# The kernel has the same limit on the depth. The limit on fields refuses types that refer to each other many times,
# because their number of fields grows exponentially with the depth.
_MAX_DEPTH: Final = 64
_MAX_FIELDS: Final = 20_000


@dataclass(frozen=True)
class PlanField:
    """A field of a message.

    Attributes:
        kind: The name of the type in descriptor.proto, in lower case and without the prefix `TYPE_`.
        shape: `implicit` (an absent field equals a zero), `optional`, `required`, `repeated` or `map`.
        type: The index of the message or enum in the plan. In a map, the index of the entry message. None if
            the field is a scalar or has an unknown type.
        oneof: The index of the oneof that contains the field; None if the field is not in a oneof.
        absent: The value of an absent field as text: numbers in decimal, enums by number, bytes in base64. None means
            null.

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
    """A message type. `meaning` is `timestamp`, `duration` or `wrapper` for a well-known type, otherwise None."""

    name: str
    fields: tuple[PlanField, ...]
    oneofs: tuple[str, ...] = ()
    meaning: str | None = None


@dataclass(frozen=True)
class PlanEnum:
    """An enum type. A closed enum (proto2) accepts only the numbers in `values`."""

    closed: bool
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ProtobufPlan:
    """The message types and enum types of a value. The first message type is the type of the value itself."""

    messages: tuple[PlanMessage, ...]
    enums: tuple[PlanEnum, ...] = ()

    def document(self, version: str = "") -> str:
        """Return the plan as JSON for the kernel, whose errors name the schema's `version` number in the registry."""
        plan = {
            "version": version,
            "messages": [_without_none(asdict(message)) for message in self.messages],
            "enums": [asdict(enum) for enum in self.enums],
        }
        return json.dumps(plan, separators=(",", ":"), ensure_ascii=False)

    def fields(self, *, where: str) -> pa.Schema:
        """Return the Arrow fields of a value. All fields are nullable except required fields.

        Raises:
            SchemaError: If a message type contains itself, or if the plan exceeds the limit on fields or depth. The
                error names the path of the field.

        """
        return pa.schema(_Fields(self, where).message_fields(0, "", (0,)))


def _without_none(message: dict[str, Any]) -> dict[str, Any]:
    fields = [
        {key: value for key, value in field.items() if value is not None} for field in message.pop("fields")
    ]
    return {key: value for key, value in message.items() if value is not None} | {"fields": fields}


class _Fields:
    """A walk through a plan, which creates the Arrow fields."""

    def __init__(self, plan: ProtobufPlan, where: str) -> None:
        self._plan = plan
        self._where = where
        self._count = 0

    def message_fields(self, index: int, path: str, open_messages: tuple[int, ...]) -> list[pa.Field]:
        """Return the Arrow fields of a message at a path.

        `open_messages` contains the indices of the message and of all messages around the path.
        """
        return [
            pa.field(field.name, self._shaped(field, path, open_messages), nullable=field.shape != "required")
            for field in self._plan.messages[index].fields
        ]

    def _shaped(self, field: PlanField, path: str, open_messages: tuple[int, ...]) -> pa.DataType:
        below = f"{path}{field.name}"
        self._count += 1
        if self._count > _MAX_FIELDS:
            raise SchemaError(
                f"{self._where}: expected a message of at most {_MAX_FIELDS} fields, including fields of nested "
                f"messages, got more at {below}; read the topic as bytes, or leave the field out of the descriptor"
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
                f"itself at {path}, which no column can contain; leave the field out of the descriptor, or read the "
                f"topic as bytes"
            )
        if len(open_messages) >= _MAX_DEPTH:
            raise SchemaError(
                f"{self._where}: expected at most {_MAX_DEPTH} messages inside each other, got more at {path}; "
                "leave the field out of the descriptor"
            )
        return pa.struct(self.message_fields(field.type, f"{path}.", (*open_messages, field.type)))
