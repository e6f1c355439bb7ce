"""A Protobuf file that an evolution changes: messages, fields and enums, and its descriptor."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

F = descriptor_pb2.FieldDescriptorProto
ONE = "one"
OPTIONAL = "optional"
REPEATED = "repeated"
MAP = "map"
_ROOT = "M0"
_PACKAGE = "g"
_SCALARS = {
    kind: getattr(F, f"TYPE_{kind.upper()}")
    for kind in (
        "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64",
        "sfixed32", "sfixed64", "bool", "string", "bytes",
    )
}  # fmt: skip
SCALARS = sorted(_SCALARS)


@dataclass
class Field:
    """A field of a message. `kind` is a scalar type, or the name of a message or an enum of the file."""

    name: str
    number: int
    kind: str
    label: str = ONE
    oneof: str | None = None
    default: str | None = None

    def __str__(self) -> str:
        label = {ONE: "", OPTIONAL: "optional ", REPEATED: "repeated ", MAP: "map "}[self.label]
        oneof = f"oneof {self.oneof} " if self.oneof else ""
        default = f" [default={self.default}]" if self.default is not None else ""
        return f"{oneof}{label}{self.kind} {self.name}={self.number}{default}"


@dataclass
class File:
    """A file whose message `M0` is the value of the topic."""

    syntax: str
    messages: dict[str, list[Field]] = field(default_factory=dict)
    enums: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def __str__(self) -> str:
        messages = (f"{name} {{{'; '.join(map(str, each))}}}" for name, each in self.messages.items())
        enums = (
            f"enum {name} {{{', '.join(f'{text}={number}' for text, number in values)}}}"
            for name, values in self.enums.items()
        )
        return f"{self.syntax} " + " ".join([*messages, *enums])

    def descriptor(self, version: int) -> descriptor_pb2.FileDescriptorProto:
        """The file as `protoc` describes it. A message without use makes each version another one."""
        file = descriptor_pb2.FileDescriptorProto(
            name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax=self.syntax
        )
        for name, values in self.enums.items():
            enum = file.enum_type.add(name=name)
            for text, number in values:
                enum.value.add(name=f"{name}_{text}", number=number)
        for name, fields in self.messages.items():
            self._add_message(file.message_type.add(name=name), fields)
        file.message_type.add(name=f"Version{version}")
        return file

    def document(self, version: int) -> str:
        """The schema as the registry takes it."""
        files = descriptor_pb2.FileDescriptorSet(file=[self.descriptor(version)])
        return json.dumps({
            "fileDescriptorSet": base64.b64encode(files.SerializeToString()).decode(),
            "rootMessageTypeName": f"{_PACKAGE}.{_ROOT}",
            "rootFileDescriptorName": f"{_PACKAGE}.proto",
        })  # fmt: skip

    def new_message(self) -> Message:
        pool = DescriptorPool()
        pool.Add(self.descriptor(0))
        return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{_ROOT}"))()

    def fields(self) -> Iterator[tuple[str, Field]]:
        """All fields, with the names of their messages."""
        for name, fields in self.messages.items():
            yield from ((name, each) for each in fields)

    def _add_message(self, message: descriptor_pb2.DescriptorProto, fields: list[Field]) -> None:
        # A oneof that is made of a field's presence must follow the others.
        for oneof in dict.fromkeys(each.oneof for each in fields if each.oneof):
            message.oneof_decl.add(name=oneof)
        declared = [each.name for each in message.oneof_decl]
        for each in fields:
            described = message.field.add(name=each.name, number=each.number, label=F.LABEL_OPTIONAL)
            if each.label == MAP:
                self._add_map(message, described, each)
                continue
            self._set_kind(described, each.kind)
            if each.label == REPEATED:
                described.label = F.LABEL_REPEATED
            elif each.oneof:
                described.oneof_index = declared.index(each.oneof)
            elif each.label == OPTIONAL and self.syntax == "proto3" and each.kind not in self.messages:
                described.proto3_optional = True
                described.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{each.name}")
            if each.default is not None and self.has_default(each):
                described.default_value = each.default

    def has_default(self, each: Field) -> bool:
        """Whether a default that the file states counts for the field."""
        is_single = each.label in (ONE, OPTIONAL) and not each.oneof
        return self.syntax == "proto2" and is_single and each.kind in ("int32", "int64", "string")

    def _add_map(self, message: descriptor_pb2.DescriptorProto, described: F, each: Field) -> None:
        camel = "".join(part.capitalize() for part in each.name.split("_"))
        entry = message.nested_type.add(name=f"{camel}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL, type=F.TYPE_STRING)
        self._set_kind(entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL), each.kind)
        described.label, described.type = F.LABEL_REPEATED, F.TYPE_MESSAGE
        described.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"

    def _set_kind(self, described: F, kind: str) -> None:
        if kind in _SCALARS:
            described.type = _SCALARS[kind]
            return
        described.type = F.TYPE_ENUM if kind in self.enums else F.TYPE_MESSAGE
        described.type_name = f".{_PACKAGE}.{kind}"
