"""Odd wire bytes: messages as hand-made or hostile writers might send them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor
from hypothesis import strategies as st

_VARINT, _FIXED64, _DELIMITED, _GROUP, _GROUP_END, _FIXED32 = range(6)
_NUMBERS = st.sampled_from([0, 1, 2, 127, 128, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1]) | st.integers(
    0, 2**64 - 1
)
_ENUM_NUMBERS = st.sampled_from([-3, -1, 5, 100_000]).map(lambda number: number % 2**64)


class WireField(NamedTuple):
    """A field of a message, as its bytes; `value` has no length in front."""

    number: int
    wire: int
    value: bytes
    padding: int = 0
    """Bytes of zeros that each varint is too long by, of tag and length."""

    def data(self) -> bytes:
        """The field's bytes."""
        tag = varint(self.number << 3 | self.wire, self.padding)
        length = varint(len(self.value), self.padding) if self.wire == _DELIMITED else b""
        return tag + length + self.value


def varint(number: int, padding: int = 0) -> bytes:
    """A varint that has `padding` bytes more than it needs."""
    out = bytearray()
    while number >= 0x80 or padding:
        out.append(number & 0x7F | 0x80)
        number >>= 7
        padding -= 1 if not number and padding else 0
    return bytes([*out, number])


def fields_of(message: bytes) -> list[WireField]:
    """The fields of a message that is whole."""
    found, at = [], 0
    while at < len(message):
        tag, start = _varint_at(message, at)
        at = _end_of(message, tag & 7, start)
        begin = _varint_at(message, start)[1] if tag & 7 == _DELIMITED else start
        found.append(WireField(tag >> 3, tag & 7, message[begin:at]))
    return found


def _varint_at(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 0x80:
            return value, at


def _end_of(message: bytes, wire: int, at: int) -> int:
    if wire == _VARINT:
        return _varint_at(message, at)[1]
    if wire == _DELIMITED:
        length, at = _varint_at(message, at)
        return at + length
    if wire == _GROUP:
        while True:
            tag, at = _varint_at(message, at)
            if tag & 7 == _GROUP_END:
                return at
            at = _end_of(message, tag & 7, at)
    return at + (8 if wire == _FIXED64 else 4)


@st.composite
def odd(draw: st.DrawFn, message: bytes, descriptor: Descriptor | None) -> bytes:
    """The message with a few changes that no official library would make; mostly still one of its type."""
    fields = fields_of(message)
    for _ in range(draw(st.integers(1, 3))):
        change = draw(st.sampled_from(sorted(_CHANGES)))
        _CHANGES[change](draw, fields, descriptor)
    return b"".join(field.data() for field in fields)


def _shuffle(draw: st.DrawFn, fields: list[WireField], _: Descriptor | None) -> None:
    fields[:] = draw(st.permutations(fields))


def _repeat(draw: st.DrawFn, fields: list[WireField], _: Descriptor | None) -> None:
    if fields:
        fields.insert(draw(st.integers(0, len(fields))), draw(st.sampled_from(fields)))


def _drop(draw: st.DrawFn, fields: list[WireField], _: Descriptor | None) -> None:
    if fields:
        del fields[draw(st.integers(0, len(fields) - 1))]


def _lengthen(draw: st.DrawFn, fields: list[WireField], _: Descriptor | None) -> None:
    if fields:
        index = draw(st.integers(0, len(fields) - 1))
        field = fields[index]
        if field.wire == _VARINT and draw(st.booleans()):
            number = _varint_at(field.value, 0)[0]
            fields[index] = field._replace(value=varint(number, max(0, min(2, 10 - len(field.value)))))
        else:
            fields[index] = field._replace(padding=draw(st.integers(1, 2)))


def _add(draw: st.DrawFn, fields: list[WireField], descriptor: Descriptor | None) -> None:
    known = [] if descriptor is None else [field.number for field in descriptor.fields]
    numbers = [1, 2, 77, *known, *known]
    wire = draw(st.sampled_from([_VARINT, _FIXED64, _DELIMITED, _FIXED32]))
    value = {
        _VARINT: lambda: varint(draw(_NUMBERS | _ENUM_NUMBERS)),
        _FIXED64: lambda: draw(st.binary(min_size=8, max_size=8)),
        _FIXED32: lambda: draw(st.binary(min_size=4, max_size=4)),
        _DELIMITED: lambda: draw(st.binary(max_size=3)),
    }[wire]()
    place = draw(st.integers(0, len(fields)))
    fields.insert(place, WireField(draw(st.sampled_from(numbers)), wire, value))
    if draw(st.booleans()):
        fields.sort(key=lambda field: field.number)


def _replace(draw: st.DrawFn, fields: list[WireField], _: Descriptor | None) -> None:
    numbers = [index for index, field in enumerate(fields) if field.wire == _VARINT]
    if numbers:
        index = draw(st.sampled_from(numbers))
        fields[index] = fields[index]._replace(value=varint(draw(_NUMBERS | _ENUM_NUMBERS)))


def _pack(draw: st.DrawFn, fields: list[WireField], _: Descriptor | None) -> None:
    """Numbers become a packed list, of one number or none."""
    numbers = [index for index, field in enumerate(fields) if field.wire == _VARINT]
    if numbers:
        index = draw(st.sampled_from(numbers))
        value = draw(st.sampled_from([b"", fields[index].value]))
        fields[index] = fields[index]._replace(wire=_DELIMITED, value=value)


def _enter(draw: st.DrawFn, fields: list[WireField], descriptor: Descriptor | None) -> None:
    """Change a message in the message."""
    types = {} if descriptor is None else {field.number: field.message_type for field in descriptor.fields}
    inner = [i for i, field in enumerate(fields) if field.wire == _DELIMITED and types.get(field.number)]
    if inner:
        index = draw(st.sampled_from(inner))
        field = fields[index]
        fields[index] = field._replace(value=draw(odd(field.value, types[field.number])))


_CHANGES: dict[str, Callable[[st.DrawFn, list[WireField], Descriptor | None], Any]] = {
    "add": _add,
    "drop": _drop,
    "enter": _enter,
    "lengthen": _lengthen,
    "pack": _pack,
    "repeat": _repeat,
    "replace": _replace,
    "shuffle": _shuffle,
}
