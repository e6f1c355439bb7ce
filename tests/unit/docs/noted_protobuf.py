"""PROTOBUF_NATIVE schemas from the notation of docs/schema-mapping.md, and back."""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Iterable

from google.protobuf import descriptor_pb2, descriptor_pool
from unit.docs.type_notation import Noted, noted

from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

FIELD = "field"
KINDS = descriptor_pb2.FieldDescriptorProto
WELL_KNOWN = ("timestamp", "duration", "wrappers", "any", "struct")
_LABELS = {"repeated": KINDS.LABEL_REPEATED, "required": KINDS.LABEL_REQUIRED}


def native_info(node: Noted, *, whole: bool = False) -> SchemaInfo:
    """A message with the one field `FIELD`, or with `whole` the message itself; a `required` field or a group makes it
    proto2."""
    old = {"required", "group"} & {word for each in node.walk() for word in each.words}
    file = descriptor_pb2.FileDescriptorProto(name="row.proto", syntax="proto2" if old else "proto3")
    members = zip(node.names, node.members, strict=True) if whole else [(FIELD, node)]
    _Message(file.message_type.add(name="Row"), ".Row").add(members)
    dependencies = {each.name: each for each in map(_file_of, _well_known(file))}
    file.dependency.extend(sorted(dependencies))
    files = descriptor_pb2.FileDescriptorSet(file=[*dependencies.values(), file])
    data = {
        "fileDescriptorSet": base64.b64encode(files.SerializeToString()).decode(),
        "rootMessageTypeName": "Row",
        "rootFileDescriptorName": "row.proto",
    }
    return SchemaInfo("Row", SchemaType.PROTOBUF_NATIVE, json.dumps(data).encode())


class _Message:
    """A message that is being filled; `scope` is its full name."""

    def __init__(self, message: descriptor_pb2.DescriptorProto, scope: str) -> None:
        self._message = message
        self._scope = scope

    def add(self, members: Iterable[tuple[str, Noted]]) -> None:
        for name, node in members:
            if node.name == "oneof":
                self._message.oneof_decl.add(name=name)
                self.add(zip(node.names, node.members, strict=True))
                for field in self._message.field:
                    field.oneof_index = 0
            else:
                self._add_field(name, node)

    def _add_field(self, name: str, node: Noted) -> None:
        number, label = len(self._message.field) + 1, _LABELS.get(node.before, KINDS.LABEL_OPTIONAL)
        field = self._message.field.add(name=name, number=number, label=label)
        if node.before == "optional":
            field.proto3_optional, field.oneof_index = True, len(self._message.oneof_decl)
            self._message.oneof_decl.add(name=f"_{name}")
        if node.name == "itself":
            field.type, field.type_name = KINDS.TYPE_MESSAGE, self._scope
        elif node.name == "map":
            field.label, field.type, field.type_name = (
                KINDS.LABEL_REPEATED,
                KINDS.TYPE_MESSAGE,
                self._nested(
                    f"{name.capitalize()}Entry", zip(("key", "value"), node.members, strict=True), is_map=True
                ),
            )
        elif node.name.startswith("google."):
            field.type, field.type_name = KINDS.TYPE_MESSAGE, f".{node.name}"
        else:
            field.type = KINDS.Type.Value(f"TYPE_{node.name.upper()}")
            if node.name in ("message", "group"):
                field.type_name = self._nested(name.capitalize(), zip(node.names, node.members, strict=True))
            if node.name == "enum":
                enum = self._message.enum_type.add(name=name.capitalize())
                enum.value.add(name="A", number=0)
                field.type_name = f"{self._scope}.{enum.name}"

    def _nested(self, name: str, members: Iterable[tuple[str, Noted]], *, is_map: bool = False) -> str:
        nested = self._message.nested_type.add(name=name)
        if is_map:
            nested.options.map_entry = True
        _Message(nested, f"{self._scope}.{name}").add(members)
        return f"{self._scope}.{name}"


def _well_known(file: descriptor_pb2.FileDescriptorProto) -> set[str]:
    waiting, found = list(file.message_type), set()
    while waiting:
        message = waiting.pop()
        waiting.extend(message.nested_type)
        found |= {
            field.type_name[1:] for field in message.field if field.type_name.startswith(".google.protobuf.")
        }
    return found


def _file_of(message: str) -> descriptor_pb2.FileDescriptorProto:
    for name in WELL_KNOWN:
        importlib.import_module(f"google.protobuf.{name}_pb2")
    found = descriptor_pool.Default().FindMessageTypeByName(message).file
    return descriptor_pb2.FileDescriptorProto.FromString(found.serialized_pb)


def noted_field(info: SchemaInfo) -> Noted:
    """The field `FIELD` of a PROTOBUF_NATIVE schema in the notation of the page."""
    data = json.loads(info.document)
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(data["fileDescriptorSet"]))
    root = next(file for file in files.file if file.name == data["rootFileDescriptorName"]).message_type[0]
    field = next(each for each in root.field if each.name == FIELD)
    return noted(_field_text(root, field))


def _field_text(message: descriptor_pb2.DescriptorProto, field: descriptor_pb2.FieldDescriptorProto) -> str:
    nested = {each.name: each for each in message.nested_type}.get(field.type_name.rpartition(".")[2])
    if nested is not None and nested.options.map_entry:
        return f"map<{', '.join(_field_text(message, each) for each in nested.field)}>"
    prefix = "repeated " if field.label == KINDS.LABEL_REPEATED else ""
    prefix = "optional " if field.proto3_optional else prefix
    if field.type_name.startswith(".google."):
        return prefix + field.type_name[1:]
    if nested is not None:
        members = ", ".join(f"{each.name}: {_field_text(nested, each)}" for each in nested.field)
        return f"{prefix}message<{members}>"
    return prefix + KINDS.Type.Name(field.type).removeprefix("TYPE_").lower()
