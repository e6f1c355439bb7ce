"""Avro messages written by hand, in every form that a decoder accepts: blocks, long numbers, maps with a key
twice.
"""

import struct
from typing import Any

from hypothesis import strategies as st
from property.avro_evolution_strategies import evolved_fields, named, types as plain_types
from property.protobuf_wire import varint

Document = dict[str, Any]

_EXTRAS: list[Any] = [
    "null",
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "long", "logicalType": "timestamp-nanos"},
    {"type": "string", "logicalType": "uuid"},
    *[{"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}] * 3,
    {"type": "record", "fields": []},
    {"type": "fixed", "size": 0},
    {"type": "fixed", "size": 3, "logicalType": "decimal", "precision": 5, "scale": 1},
    {"type": "fixed", "size": 16, "logicalType": "uuid"},
]
_LONGS = st.sampled_from([0, -1, 1, 63, 64, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)]) | st.integers(
    -(10**14), 10**14
)
_INTS = st.sampled_from([0, -1, 2**31 - 1, -(2**31)]) | st.integers(0, 86_400_000)
_TEXTS = st.text("aé\0", max_size=3).map(str.encode)
_DECIMALS = st.sampled_from([b"", b"\0\5", b"\5", b"\xff\xfb", b"\xfb", b"\0\x80"])
_ATOMS = {
    "null": st.just(b""),
    "boolean": st.sampled_from([b"\0", b"\1"]),
    "float": st.binary(min_size=4, max_size=4) | st.just(struct.pack("<I", 0x7FA00001)),
    "double": st.binary(min_size=8, max_size=8) | st.just(struct.pack("<d", -0.0)),
}
_KEYS = st.sampled_from([b"", b"k", b"l"])


@st.composite
def _types(draw: st.DrawFn, depth: int) -> Any:
    shapes = ["plain", "extra", *(["union", "record", "null", "array", "map"] if depth else [])]
    match draw(st.sampled_from(shapes)):
        case "extra":
            extra = draw(st.sampled_from(_EXTRAS))
            return dict(extra) if isinstance(extra, dict) else extra
        case "union":
            atoms = draw(
                st.lists(st.sampled_from(["int", "string", "double"]), min_size=1, max_size=2, unique=True)
            )
            further = draw(_types(0))
            if isinstance(further, list) or further in ("null", *atoms) or _label(further) in atoms:
                further = {"type": "map", "values": "int"}
            null = ["null"] if draw(st.booleans()) else []
            return draw(st.permutations([*null, *atoms, further]))
        case "record":
            return _record(draw, depth - 1, 0)
        case "array":
            return {"type": "array", "items": draw(_types(depth - 1))}
        case "map":
            return {"type": "map", "values": draw(_types(depth - 1))}
        case "null":
            inner = draw(_types(depth - 1).filter(lambda kind: not isinstance(kind, list) and kind != "null"))
            return draw(st.permutations(["null", inner]))
    return draw(plain_types(depth))


def _label(kind: Any) -> str:
    return str(kind["type"]) if isinstance(kind, dict) else str(kind)


def _record(draw: st.DrawFn, depth: int, least: int) -> Document:
    kinds = draw(st.lists(_types(depth), min_size=least, max_size=4))
    return {"type": "record", "fields": [{"name": f"f{i}", "type": kind} for i, kind in enumerate(kinds)]}


@st.composite
def records(draw: st.DrawFn) -> Document:
    """A record with names."""
    found: Document = named(_record(draw, 2, 1))
    return found


@st.composite
def evolved(draw: st.DrawFn, record: Document) -> Document:
    """Draw what a later version may have instead of the record, perhaps without the meanings of its types."""
    fields = draw(evolved_fields(record["fields"]))
    made = {**record, "fields": fields}
    return _without_meanings(made) if draw(st.booleans()) else made


def _without_meanings(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_meanings(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {key: _without_meanings(each) for key, each in node.items() if key != "logicalType"}


@st.composite
def payloads(draw: st.DrawFn, kind: Any) -> bytes:
    """Draw a value of a type; a few values do not fit."""
    if isinstance(kind, list):
        index = draw(st.integers(0, len(kind) - 1))
        return _long(draw, index) + draw(payloads(kind[index]))
    node = kind if isinstance(kind, dict) else {"type": kind}
    match node["type"]:
        case "int" | "long" as name:
            return _long(draw, draw(_INTS if name == "int" else _LONGS))
        case "bytes" | "string":
            return _bytes(draw, draw(_DECIMALS if node.get("logicalType") == "decimal" else _TEXTS))
        case "fixed":
            return draw(st.binary(min_size=node["size"], max_size=node["size"]))
        case "enum":
            return _long(draw, draw(st.integers(0, len(node["symbols"]) - 1)))
        case "array":
            return _blocks(draw, draw(st.lists(payloads(node["items"]), max_size=3)))
        case "map":
            items = draw(st.lists(st.tuples(_KEYS, payloads(node["values"])), max_size=3))
            return _blocks(draw, [_bytes(draw, key) + value for key, value in items])
        case "record":
            return b"".join(draw(payloads(field["type"])) for field in node["fields"])
    return draw(_ATOMS[node["type"]])


def _long(draw: st.DrawFn, number: int) -> bytes:
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    padding = 0 if draw(st.integers(0, 9)) else 1
    return varint(zigzag, padding if zigzag < 2**62 else 0)


def _bytes(draw: st.DrawFn, data: bytes) -> bytes:
    return _long(draw, len(data)) + data


def _blocks(draw: st.DrawFn, items: list[bytes]) -> bytes:
    out = b""
    while items:
        count = draw(st.integers(1, len(items)))
        block, items = b"".join(items[:count]), items[count:]
        has_size = draw(st.booleans())
        head = _long(draw, -count) + _long(draw, len(block)) if has_size else _long(draw, count)
        out += head + block
    return out + b"\0"
