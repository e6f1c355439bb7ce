"""Generated descriptors and messages of them, and the row that such a message must become.

The official library is the reference: it parses what the kernel parses, and `row_of` reads the result
field by field.
"""

import base64
import datetime as dt
import decimal
import json
from collections.abc import Callable
from typing import Any

from google.protobuf import descriptor_pb2, duration_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

F = descriptor_pb2.FieldDescriptorProto
SCALARS = [kind for kind in F.Type.values() if kind not in (F.TYPE_GROUP, F.TYPE_MESSAGE, F.TYPE_ENUM)]
KEYS = [kind for kind in SCALARS if kind not in (F.TYPE_DOUBLE, F.TYPE_FLOAT, F.TYPE_BYTES)]
WELL_KNOWN = ["Timestamp", "Duration", *wrappers_pb2.DESCRIPTOR.message_types_by_name]
IMPORTS = [timestamp_pb2.DESCRIPTOR, duration_pb2.DESCRIPTOR, wrappers_pb2.DESCRIPTOR]
DEFAULTS = {F.TYPE_STRING: "dflt", F.TYPE_BYTES: "ab", F.TYPE_BOOL: "true", F.TYPE_ENUM: "B"}
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@st.composite
def files(draw: st.DrawFn) -> descriptor_pb2.FileDescriptorProto:
    """A file whose message `M0` is the value; each message refers only to later ones."""
    syntax = draw(st.sampled_from(["proto2", "proto3"]))
    file = descriptor_pb2.FileDescriptorProto(name="g.proto", package="g.h", syntax=syntax)
    file.dependency.extend(each.name for each in IMPORTS)
    enum = file.enum_type.add(name="E")
    for name, number in [("ZERO", 0), ("B", 1), ("NEGATIVE", -3), ("FAR", 100_000)]:
        enum.value.add(name=name, number=number)
    count = draw(st.integers(1, 4))
    for index in range(count):
        message = file.message_type.add(name=f"M{index}")
        numbers = draw(
            st.lists(st.integers(1, 300) | st.sampled_from([18999, 536870911]), unique=True, max_size=7)
        )
        if index == 0 and not numbers:
            numbers = [1]
        for number in numbers:
            later = [f"M{other}" for other in range(index + 1, count)]
            _add_field(draw, message, number, later, syntax)
        # Synthetic oneofs must follow the others.
        for field in message.field:
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")
    return file


def _add_field(
    draw: st.DrawFn, message: descriptor_pb2.DescriptorProto, number: int, later: list[str], syntax: str
) -> None:
    field = message.field.add(name=f"f{number}", number=number, label=F.LABEL_OPTIONAL)
    shapes = ["plain", "plain", "repeated", "map", "oneof", "optional" if syntax == "proto3" else "required"]
    shape = draw(st.sampled_from(shapes))
    if shape == "map":
        entry = message.nested_type.add(name=f"F{number}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL, type=draw(st.sampled_from(KEYS)))
        value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
        _set_type(draw, value, message, later, "map")
        field.label, field.type = F.LABEL_REPEATED, F.TYPE_MESSAGE
        field.type_name = f".g.h.{message.name}.{entry.name}"
        return
    _set_type(draw, field, message, later, syntax)
    if shape == "repeated":
        field.label = F.LABEL_REPEATED
        if field.type not in (F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_MESSAGE, F.TYPE_GROUP):
            field.options.packed = draw(st.booleans())
    elif shape == "required":
        field.label = F.LABEL_REQUIRED
    elif shape == "oneof" and field.type != F.TYPE_GROUP:
        if not any(decl.name == "choice" for decl in message.oneof_decl):
            message.oneof_decl.add(name="choice")
        field.oneof_index = 0
    elif shape == "optional" and field.type != F.TYPE_MESSAGE:
        field.proto3_optional = True
    elif syntax == "proto2" and field.type in DEFAULTS and draw(st.booleans()):
        field.default_value = DEFAULTS[field.type]


def _set_type(
    draw: st.DrawFn,
    field: descriptor_pb2.FieldDescriptorProto,
    message: descriptor_pb2.DescriptorProto,
    later: list[str],
    syntax: str,
) -> None:
    what = draw(st.sampled_from(["scalar", "scalar", "scalar", "enum", "known", "message", "group"]))
    if what == "enum":
        field.type, field.type_name = F.TYPE_ENUM, ".g.h.E"
    elif what == "known":
        field.type = F.TYPE_MESSAGE
        field.type_name = f".google.protobuf.{draw(st.sampled_from(WELL_KNOWN))}"
    elif what == "message" and later:
        field.type, field.type_name = F.TYPE_MESSAGE, f".g.h.{draw(st.sampled_from(later))}"
    elif what == "group" and syntax == "proto2":
        group = message.nested_type.add(name=f"G{field.number}")
        group.field.add(name="n", number=1, label=F.LABEL_OPTIONAL, type=F.TYPE_SINT32)
        field.type, field.type_name = F.TYPE_GROUP, f".g.h.{message.name}.{group.name}"
        field.name = group.name.lower()
    else:
        field.type = draw(st.sampled_from(SCALARS))


def loaded(file: descriptor_pb2.FileDescriptorProto) -> Descriptor:
    pool = DescriptorPool()
    for known in IMPORTS:
        pool.AddSerializedFile(known.serialized_pb)
    pool.Add(file)
    return pool.FindMessageTypeByName("g.h.M0")


def native_info(file: descriptor_pb2.FileDescriptorProto, version: int | None = None) -> SchemaInfo:
    """Return the schema without the well-known imports, so the kernel must add them."""
    files_ = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    data = {
        "fileDescriptorSet": base64.b64encode(files_).decode(),
        "rootMessageTypeName": "g.h.M0",
        "rootFileDescriptorName": "g.proto",
    }
    number = None if version is None else version.to_bytes(8, "big")
    return SchemaInfo("M0", SchemaType.PROTOBUF_NATIVE, json.dumps(data).encode(), version=number)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_LONG = st.text(st.characters(exclude_categories=["Cs"]), min_size=40, max_size=50)


def _bits(size: int, *, signed: bool) -> st.SearchStrategy[int]:
    low, high = (-(2 ** (size - 1)), 2 ** (size - 1) - 1) if signed else (0, 2**size - 1)
    return st.sampled_from([low, high, 0, 1]) | st.integers(low, high)


_VALUES: dict[int, st.SearchStrategy[Any]] = {
    F.TYPE_DOUBLE: st.floats(allow_nan=False),
    F.TYPE_FLOAT: st.floats(width=32, allow_nan=False),
    F.TYPE_BOOL: st.booleans(),
    F.TYPE_STRING: _TEXT | _LONG,
    F.TYPE_BYTES: st.binary(max_size=9),
    **dict.fromkeys([F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32], _bits(32, signed=True)),
    **dict.fromkeys([F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64], _bits(64, signed=True)),
    **dict.fromkeys([F.TYPE_UINT32, F.TYPE_FIXED32], _bits(32, signed=False)),
    **dict.fromkeys([F.TYPE_UINT64, F.TYPE_FIXED64], _bits(64, signed=False)),
}


def fill(draw: st.DrawFn, message: Message) -> Message:
    """Set some fields of `message`; all required ones."""
    descriptor = message.DESCRIPTOR
    if descriptor.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        micros = draw(st.integers(-(10**15), 10**15))
        seconds, rest = divmod(micros, 10**6)
        if descriptor.name == "Duration" and seconds < 0 < rest:
            seconds, rest = seconds + 1, rest - 10**6
        return type(message)(seconds=seconds, nanos=rest * 1000)
    for field in descriptor.fields:
        if field.is_required or draw(st.integers(0, 3)):
            _fill_field(draw, message, field)
    return message


def _fill_field(draw: st.DrawFn, message: Message, field: FieldDescriptor) -> None:
    if is_map(field):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        target = getattr(message, field.name)
        for each in draw(st.lists(_VALUES[key.type], max_size=3)):
            if value.message_type is not None:
                fill(draw, target[each])
            else:
                target[each] = draw(scalar(value))
    elif field.is_repeated:
        for _ in range(draw(st.integers(0, 3))):
            target = getattr(message, field.name)
            if field.message_type is not None:
                fill(draw, target.add())
            else:
                target.append(draw(scalar(field)))
    elif field.message_type is not None:
        getattr(message, field.name).SetInParent()
        fill(draw, getattr(message, field.name))
    else:
        setattr(message, field.name, draw(scalar(field)))


def scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        numbers = [0, 1, -3, 100_000]
        return st.sampled_from(numbers if field.enum_type.is_closed else [*numbers, 5, -100])
    return _VALUES[field.type]


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def row_of(message: Message) -> dict[str, Any]:
    """The row, or the struct, that a message becomes."""
    return {field.name: _cell(message, field) for field in message.DESCRIPTOR.fields}


def _cell(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    if is_map(field):
        item = _item(field.message_type.fields_by_name["value"])
        key_of = _item(field.message_type.fields_by_name["key"])
        return {key_of(key): item(value[key]) for key in value}
    if field.is_repeated:
        return [_item(field)(each) for each in value]
    if field.has_presence and not message.HasField(field.name) and not field.has_default_value:
        return None
    return _item(field)(value)


def _item(field: FieldDescriptor) -> Callable[[Any], Any]:
    if field.enum_type is not None:
        names = field.enum_type.values_by_number
        return lambda number: names[number].name if number in names else str(number)
    if field.type in (F.TYPE_UINT64, F.TYPE_FIXED64):
        return decimal.Decimal
    if field.message_type is None:
        return lambda value: value
    name = field.message_type.full_name
    if name == "google.protobuf.Timestamp":
        return lambda time: EPOCH + dt.timedelta(seconds=time.seconds, microseconds=time.nanos // 1000)
    if name == "google.protobuf.Duration":
        return lambda time: dt.timedelta(seconds=time.seconds, microseconds=int(time.nanos / 1000))
    if name.startswith("google.protobuf."):
        return lambda wrapper: _item(wrapper.DESCRIPTOR.fields[0])(wrapper.value)
    return row_of


def new_message(descriptor: Descriptor) -> Message:
    return GetMessageClass(descriptor)()
