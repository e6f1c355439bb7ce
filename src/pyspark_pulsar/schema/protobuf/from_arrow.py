"""Conversion of Arrow schemas to Protobuf descriptors. A write registers the descriptor for a topic without a schema.

The descriptors have the syntax proto3 and follow these rules:

- Fields are numbered from 1 in the order of the columns.
- A nullable scalar becomes an `optional` field. Other scalars become fields without presence.
- Integers of 8 and 16 bits become int32.
- Timestamps and day-time intervals become Google's Timestamp and Duration.
- A struct becomes a nested message of its parent's message. The name of the nested message is derived from the field.
- Protobuf cannot represent null lists and null maps, so a write stores empty lists and maps instead.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Final

import pyarrow as pa
from google.protobuf import descriptor_pb2, duration_pb2, timestamp_pb2
from google.protobuf.descriptor import Descriptor, FileDescriptor
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.from_arrow import legal_name
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.protobuf.descriptor import load_descriptor
from pyspark_pulsar.schema.types.type_text import spark_mark, type_text

_LEGAL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    pa.bool_(): _FIELD.TYPE_BOOL,
    pa.int8(): _FIELD.TYPE_INT32,
    pa.int16(): _FIELD.TYPE_INT32,
    pa.int32(): _FIELD.TYPE_INT32,
    pa.int64(): _FIELD.TYPE_INT64,
    pa.float32(): _FIELD.TYPE_FLOAT,
    pa.float64(): _FIELD.TYPE_DOUBLE,
    pa.string(): _FIELD.TYPE_STRING,
    pa.large_string(): _FIELD.TYPE_STRING,
    pa.binary(): _FIELD.TYPE_BYTES,
    pa.large_binary(): _FIELD.TYPE_BYTES,
}
_KEYS: Final = (_FIELD.TYPE_BOOL, _FIELD.TYPE_INT32, _FIELD.TYPE_INT64, _FIELD.TYPE_STRING)
# Protobuf reserves these field numbers for its implementation.
_RESERVED_NUMBERS: Final = range(19_000, 20_000)


def new_protobuf_info(columns: Iterable[pa.Field], *, name: str, where: str) -> SchemaInfo:
    """Return the PROTOBUF_NATIVE schema of a message whose fields are the columns.

    Args:
        columns: The columns.
        name: The name of the message, which must be a legal name in Protobuf.
        where: The topic, for errors.

    Raises:
        SchemaError: If Protobuf cannot represent a column. The error lists all such columns.

    """
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", syntax="proto3")
    builder = _MessageBuilder(file)
    builder.message(file.message_type.add(name=name), columns, f".{name}", "")
    if builder.faults:
        raise SchemaError(
            f"{where}: expected columns that a Protobuf message can hold, got {'; '.join(builder.faults)}"
        )
    files = descriptor_pb2.FileDescriptorSet(file=[file])
    return native_info(load_descriptor(files.SerializeToString(), name, where=where))


def native_info(descriptor: Descriptor) -> SchemaInfo:
    """Return the schema to register for a descriptor, in the form of Java's `ProtobufNativeSchemaUtils.serialize`.

    In the schema, each descriptor file follows the files that it imports.
    """
    files: dict[str, bytes] = {}
    _collect(descriptor.file, files)
    file_set = descriptor_pb2.FileDescriptorSet(
        file=[descriptor_pb2.FileDescriptorProto.FromString(data) for data in files.values()]
    )
    document = {
        "fileDescriptorSet": base64.b64encode(file_set.SerializeToString(deterministic=True)).decode(),
        "rootMessageTypeName": descriptor.full_name,
        "rootFileDescriptorName": descriptor.file.name,
    }
    data = json.dumps(document, separators=(",", ":")).encode()
    return SchemaInfo(descriptor.name, SchemaType.PROTOBUF_NATIVE, data)


def _collect(file: FileDescriptor, files: dict[str, bytes]) -> None:
    if file.name not in files:
        for imported in file.dependencies:
            _collect(imported, files)
        files[file.name] = file.serialized_pb


class _MessageBuilder:
    """The state of one conversion: the file, and the faults of columns that Protobuf cannot represent."""

    def __init__(self, file: descriptor_pb2.FileDescriptorProto) -> None:
        self.file = file
        self.faults: list[str] = []

    def message(
        self, message: descriptor_pb2.DescriptorProto, members: Iterable[pa.Field], scope: str, path: str
    ) -> None:
        """Add a field for each member to the message, whose full name is `scope`."""
        taken = {member.name for member in members}
        for number, member in enumerate(members, start=1):
            below = f"{path}{member.name}"
            if not _LEGAL_NAME.fullmatch(member.name):
                advice = f"rename it, for example to {legal_name(member.name)}"
                self.faults.append(
                    f"column {below}, whose name is not letters, digits and underscores ({advice})"
                )
                continue
            if number in _RESERVED_NUMBERS:
                self.faults.append(
                    f"column {below} at position {number} (Protobuf reserves this field number)"
                )
                continue
            field = message.field.add(name=member.name, number=number, label=_FIELD.LABEL_OPTIONAL)
            self._shaped(message, field, member, scope, below, taken)

    def _shaped(
        self,
        message: descriptor_pb2.DescriptorProto,
        field: descriptor_pb2.FieldDescriptorProto,
        member: pa.Field,
        scope: str,
        path: str,
        taken: set[str],
    ) -> None:
        kind = member.type
        if types.is_map(kind):
            self._map(message, field, kind, scope, path)
        elif types.is_list(kind) or types.is_large_list(kind):
            field.label = _FIELD.LABEL_REPEATED
            self._typed(message, field, kind.value_type, scope, f"{path}[]", taken)
        else:
            self._typed(message, field, kind, scope, path, taken)
            if member.nullable and field.type != _FIELD.TYPE_MESSAGE:
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=_free(f"_{field.name}", taken))

    def _map(
        self,
        message: descriptor_pb2.DescriptorProto,
        field: descriptor_pb2.FieldDescriptorProto,
        kind: pa.MapType,
        scope: str,
        path: str,
    ) -> None:
        # Protobuf requires the name `<Field>Entry` for the entry message of a map.
        camel = "".join(part[:1].upper() + part[1:] for part in field.name.split("_"))
        entry = message.nested_type.add(name=f"{camel}Entry")
        entry.options.map_entry = True
        inner = f"{scope}.{entry.name}"
        key = entry.field.add(name="key", number=1, label=_FIELD.LABEL_OPTIONAL)
        self._typed(entry, key, kind.key_type, inner, f"{path}{{key}}", set())
        if key.type not in _KEYS:
            self.faults.append(
                f"column {path} with keys of type {type_text(kind.key_type)} (cast them to string)"
            )
        value = entry.field.add(name="value", number=2, label=_FIELD.LABEL_OPTIONAL)
        # An entry message cannot contain nested types, so the type of the values is defined next to the entry message.
        self._typed(message, value, kind.item_type, scope, f"{path}{{}}", {entry.name}, field.name)
        field.label, field.type, field.type_name = _FIELD.LABEL_REPEATED, _FIELD.TYPE_MESSAGE, inner

    def _typed(
        self,
        message: descriptor_pb2.DescriptorProto,
        field: descriptor_pb2.FieldDescriptorProto,
        kind: pa.DataType,
        scope: str,
        path: str,
        taken: set[str],
        named_after: str | None = None,
    ) -> None:
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        elif types.is_timestamp(kind) and kind.tz is not None:
            self._well_known(field, timestamp_pb2.DESCRIPTOR, "Timestamp")
        elif types.is_duration(kind):
            self._well_known(field, duration_pb2.DESCRIPTOR, "Duration")
        elif types.is_struct(kind) and spark_mark(kind) is None:
            names = taken | {nested.name for nested in message.nested_type}
            name = named_after or field.name
            nested = message.nested_type.add(name=_free(name[:1].upper() + name[1:], names))
            field.type, field.type_name = _FIELD.TYPE_MESSAGE, f"{scope}.{nested.name}"
            self.message(nested, list(kind), field.type_name, f"{path}.")
        else:
            self.faults.append(f"column {path} of type {type_text(kind)} ({_advice(kind)})")

    def _well_known(
        self, field: descriptor_pb2.FieldDescriptorProto, file: FileDescriptor, name: str
    ) -> None:
        if file.name not in self.file.dependency:
            self.file.dependency.append(file.name)
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".google.protobuf.{name}"


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _advice(kind: pa.DataType) -> str:
    if types.is_list(kind) or types.is_map(kind):
        return "Protobuf has no lists or maps as items of lists or maps: wrap it in a struct"
    if types.is_timestamp(kind):
        return "cast it to timestamp, which has a time zone"
    return "cast it to string or to a type that Protobuf has"
