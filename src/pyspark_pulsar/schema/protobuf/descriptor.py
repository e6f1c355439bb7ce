"""Loading of Protobuf descriptors from the registry or a file, and conversion of descriptors to plans.

The official Protobuf library checks the descriptors.

A PROTOBUF_NATIVE schema is the JSON of Java's `ProtobufNativeSchemaData`, which has three fields. `fileDescriptorSet`
is a `google.protobuf.FileDescriptorSet` in base64, which contains all imports in any order. `rootMessageTypeName` is
the full name of the message, and `rootFileDescriptorName` is the name of the file that defines the message.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import json
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.protobuf.plan import PlanEnum, PlanField, PlanMessage, ProtobufPlan

_WELL_KNOWN: Final = "google/protobuf/"
_MEANINGS: Final = {"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration"} | {
    f"google.protobuf.{name}Value": "wrapper"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
_KINDS: Final[dict[int, str]] = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()
}
_OPTIONAL_MEMBERS: Final = 2


@dataclass(frozen=True)
class DescriptorFile:
    """A message in a serialized `FileDescriptorSet`, which `protoc --descriptor_set_out` wrote.

    Attributes:
        files: The serialized `FileDescriptorSet`.
        message: The full name of the message.
        path: The path of the file, for errors.

    """

    files: bytes
    message: str
    path: str

    def descriptor(self) -> Descriptor:
        """Return the descriptor of the message. Raise SchemaError if the file does not contain the message."""
        return load_descriptor(self.files, self.message, where=f"descriptor file {self.path}")


def native_descriptor(document: str, *, where: str) -> Descriptor:
    """Return the message descriptor in a PROTOBUF_NATIVE schema. Raise SchemaError if the schema is malformed."""
    try:
        data = json.loads(document)
        files = base64.b64decode(data["fileDescriptorSet"], validate=True)
        return load_descriptor(files, str(data["rootMessageTypeName"]), where=where)
    except (ValueError, KeyError, TypeError, binascii.Error, RecursionError) as error:
        raise SchemaError(
            f"{where}: expected JSON with fileDescriptorSet in base64 and rootMessageTypeName, got something "
            f"else ({error!r}); register the schema again with a Pulsar client"
        ) from None


def load_descriptor(files: bytes, message: str, *, where: str) -> Descriptor:
    """Return the descriptor of a message in a serialized `FileDescriptorSet`.

    The files in the set can be in any order. The set can lack the files of Google's well-known types.

    Raises:
        SchemaError: If the set is malformed, lacks an import, or does not contain the message.

    """
    try:
        file_set = descriptor_pb2.FileDescriptorSet.FromString(files)
    except DecodeError as error:
        raise SchemaError(
            f"{where}: expected a FileDescriptorSet, as protoc --descriptor_set_out writes it, got other bytes "
            f"({error}); write the file again"
        ) from None
    by_name = {file.name: file for file in file_set.file}
    pool = DescriptorPool()
    try:
        for file in _in_order(by_name, where):
            pool.Add(file)
        return pool.FindMessageTypeByName(message)
    except TypeError as error:
        raise SchemaError(
            f"{where}: expected files that fit together, got {error}; make the descriptors again from one set "
            "of .proto files"
        ) from None
    except KeyError:
        names = sorted(name for file in file_set.file for name in _message_names(file))
        raise SchemaError(
            f"{where}: expected message {message} in the descriptors, got {', '.join(names) or 'no message'}; "
            "name one of them"
        ) from None


def _in_order(
    files: dict[str, descriptor_pb2.FileDescriptorProto], where: str
) -> list[descriptor_pb2.FileDescriptorProto]:
    """Return the files, sorted so that each file follows the files that it imports."""
    ordered: dict[str, descriptor_pb2.FileDescriptorProto] = {}
    waiting = [(name, False) for name in files]
    entered: set[str] = set()
    while waiting:
        name, imports_done = waiting.pop()
        if name in ordered or (name in entered and not imports_done):
            continue
        file = files.get(name) or _well_known_file(name, where)
        if imports_done:
            ordered[name] = file
            continue
        entered.add(name)
        waiting.append((name, True))
        waiting.extend((imported, False) for imported in file.dependency)
    return list(ordered.values())


def _well_known_file(name: str, where: str) -> descriptor_pb2.FileDescriptorProto:
    module = name.removeprefix(_WELL_KNOWN).removesuffix(".proto")
    spec = f"google.protobuf.{module}_pb2" if name.startswith(_WELL_KNOWN) and module.isidentifier() else ""
    try:
        generated: Any = importlib.import_module(spec)
    except (ImportError, ValueError):
        raise SchemaError(
            f"{where}: expected the descriptors of all imported files, but the descriptor of {name} is missing; make "
            "the descriptors with protoc --include_imports"
        ) from None
    return descriptor_pb2.FileDescriptorProto.FromString(generated.DESCRIPTOR.serialized_pb)


def _message_names(file: descriptor_pb2.FileDescriptorProto) -> list[str]:
    prefix = f"{file.package}." if file.package else ""
    return [prefix + message.name for message in file.message_type]


def descriptor_plan(descriptor: Descriptor) -> ProtobufPlan:
    """Return the plan of a message type and of all types that it references. The plan does not contain extensions."""
    builder = _PlanBuilder()
    builder.message(descriptor)
    done = 0
    while done < len(builder.waiting):
        builder.messages.append(builder.describe(builder.waiting[done]))
        done += 1
    return ProtobufPlan(tuple(builder.messages), tuple(builder.enums))


class _PlanBuilder:
    """The message types and enum types of a new plan, without duplicates and in the order of their first use."""

    def __init__(self) -> None:
        self.messages: list[PlanMessage] = []
        self.enums: list[PlanEnum] = []
        self.waiting: list[Descriptor] = []
        self._indices: dict[str, int] = {}

    def message(self, descriptor: Descriptor) -> int:
        if descriptor.full_name not in self._indices:
            self._indices[descriptor.full_name] = len(self.waiting)
            self.waiting.append(descriptor)
        return self._indices[descriptor.full_name]

    def enum(self, descriptor: EnumDescriptor) -> int:
        if descriptor.full_name not in self._indices:
            self._indices[descriptor.full_name] = len(self.enums)
            values = tuple((value.name, value.number) for value in descriptor.values)
            self.enums.append(PlanEnum(bool(descriptor.is_closed), values))
        return self._indices[descriptor.full_name]

    def describe(self, descriptor: Descriptor) -> PlanMessage:
        # For each proto3 `optional` field, Protobuf adds a oneof with a single field. This oneof is no choice between
        # fields.
        oneofs = [oneof for oneof in descriptor.oneofs if len(oneof.fields) >= _OPTIONAL_MEMBERS]
        indices = {oneof.name: index for index, oneof in enumerate(oneofs)}
        is_entry = descriptor.GetOptions().map_entry
        fields = tuple(self._field(field, indices, is_entry=is_entry) for field in descriptor.fields)
        meaning = _MEANINGS.get(descriptor.full_name)
        return PlanMessage(descriptor.full_name, fields, tuple(oneof.name for oneof in oneofs), meaning)

    def _field(self, field: FieldDescriptor, oneofs: dict[str, int], *, is_entry: bool) -> PlanField:
        index = None
        if field.message_type is not None:
            index = self.message(field.message_type)
        elif field.enum_type is not None:
            index = self.enum(field.enum_type)
        shape = "implicit" if is_entry else _shape(field)
        return PlanField(
            field.name,
            field.number,
            _KINDS[field.type],
            shape,
            type=index,
            packed=bool(field.is_packed),
            oneof=None if field.containing_oneof is None else oneofs.get(field.containing_oneof.name),
            absent=_absent(field) if shape == "implicit" or field.has_default_value else None,
        )


def _shape(field: FieldDescriptor) -> str:
    if field.is_repeated:
        entries = field.message_type is not None and field.message_type.GetOptions().map_entry
        return "map" if entries else "repeated"
    if field.is_required:
        return "required"
    return "optional" if field.has_presence else "implicit"


def _absent(field: FieldDescriptor) -> str | None:
    if field.message_type is not None:
        return None
    default = field.default_value
    if isinstance(default, bytes):
        return base64.b64encode(default).decode()
    return str(default).lower() if isinstance(default, bool | float) else str(default)
