"""Draws Avro types, their values and their defaults. Topics with JSON schemas have the same types."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

NULL = "null"
PROMOTIONS = {
    "int": ["long", "float", "double"],
    "long": ["float", "double"],
    "float": ["double"],
    "string": ["bytes"],
    "bytes": ["string"],
}
SYMBOLS = ["A", "B", "C", "D", "E"]
TEXTS = ["", "a", "ä", "long " * 9, "0", "true", "A", "\U0001f40d", "2024-05-06"]
LOGICAL = [
    {"type": "int", "logicalType": "date"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
    {"type": "string", "logicalType": "uuid"},
]
_DRAWN: dict[str, Callable[[random.Random], Any]] = {
    NULL: lambda _: None,
    "boolean": lambda rng: rng.random() < 0.5,
    "int": lambda rng: rng.choice([0, 1, -1, 7, 2**31 - 1, -(2**31), rng.randrange(1000)]),
    "long": lambda rng: rng.choice([0, 1, -1, 2**40, 2**63 - 1, -(2**63), rng.randrange(1000)]),
    "float": lambda rng: rng.choice([0.0, -0.0, 0.5, -1.25, 1e10, 2.0**100, math.nan, math.inf]),
    "double": lambda rng: rng.choice([0.0, -0.0, 0.1, -1e-300, 1e300, 2.0**53, math.nan, -math.inf]),
    "string": lambda rng: rng.choice(TEXTS),
    "bytes": lambda rng: rng.choice([b"", b"\x00", b"abc", b"\x07", "ä".encode()]),
}
SCALARS = sorted(set(_DRAWN) - {NULL})


@dataclass
class Names:
    """Gives each field, enum and record of an evolution a name that none had before."""

    given: int = 0

    def new(self, first: str) -> str:
        self.given += 1
        return f"{first}{self.given}"


def draw_type(rng: random.Random, names: Names, depth: int) -> Any:
    """Draw a type that nests at most `depth` more types."""
    kinds = ["scalar"] * 5 + ["enum", "logical", "fixed"]
    kinds += ["optional", "optional", "union", "record", "record", "array", "map"] if depth else []
    match rng.choice(kinds):
        case "enum":
            return draw_enum(rng, names)
        case "logical":
            return dict(rng.choice(LOGICAL))
        case "fixed":
            return {"type": "fixed", "name": names.new("X"), "size": rng.randrange(1, 4)}
        case "optional":
            return [NULL, not_union(rng, names, depth - 1)]
        case "union":
            branches = rng.sample(SCALARS, 2) + ([NULL] if rng.random() < 0.5 else [])
            return rng.sample(branches, len(branches))
        case "record":
            return draw_record(rng, names, depth - 1)
        case "array":
            return {"type": "array", "items": draw_type(rng, names, depth - 1)}
        case "map":
            return {"type": "map", "values": draw_type(rng, names, depth - 1)}
    return rng.choice(SCALARS)


def not_union(rng: random.Random, names: Names, depth: int) -> Any:
    while isinstance(kind := draw_type(rng, names, depth), list):
        pass
    return kind


def draw_enum(rng: random.Random, names: Names) -> dict[str, Any]:
    symbols = rng.sample(SYMBOLS, rng.randrange(1, 4))
    kind = {"type": "enum", "name": names.new("E"), "symbols": symbols}
    return kind | ({"default": rng.choice(symbols)} if rng.random() < 0.5 else {})


def draw_record(rng: random.Random, names: Names, depth: int, fewest: int = 0) -> dict[str, Any]:
    name = names.new("R")
    fields = [draw_field(rng, names, depth) for _ in range(rng.choice([fewest, 1, 2, 2, 3]))]
    return {"type": "record", "name": name, "fields": fields}


def draw_field(rng: random.Random, names: Names, depth: int, *, has_default: bool = False) -> dict[str, Any]:
    field = {"name": names.new("f"), "type": draw_type(rng, names, depth)}
    if has_default or rng.random() < 0.3:
        field["default"] = draw_default(rng, field["type"])
    return field


def draw_default(rng: random.Random, kind: Any) -> Any:
    """Draw a default as a schema's document writes it. A union's default is one of its first branch."""
    if isinstance(kind, list):
        return draw_default(rng, kind[0])
    if isinstance(kind, str):
        drawn = _DRAWN[kind](rng)
        if isinstance(drawn, float) and not math.isfinite(drawn):
            return 1.5
        return drawn.decode("latin-1") if isinstance(drawn, bytes) else drawn
    match kind["type"]:
        case "enum":
            return rng.choice(kind["symbols"])
        case "fixed":
            return "\u0001" * kind["size"]
        case "array":
            return []
        case "map":
            return {}
        case "record":
            return {field["name"]: draw_default(rng, field["type"]) for field in kind["fields"]}
    return {"date": 19_000, "uuid": "0" * 8 + "-0000" * 3 + "-" + "0" * 12, "decimal": "\u0007"}.get(
        kind["logicalType"], 5_000_000
    )


def draw_value(rng: random.Random, kind: Any) -> Any:
    """Draw a value as fastavro takes it."""
    if isinstance(kind, list):
        return draw_value(rng, rng.choice(kind))
    if isinstance(kind, str):
        return _DRAWN[kind](rng)
    match kind["type"]:
        case "enum":
            return rng.choice(kind["symbols"])
        case "fixed":
            return bytes(rng.randrange(256) for _ in range(kind["size"]))
        case "array":
            return [draw_value(rng, kind["items"]) for _ in range(rng.randrange(3))]
        case "map":
            keys = rng.sample(["", "a", "k.1", "ä"], rng.randrange(3))
            return {key: draw_value(rng, kind["values"]) for key in keys}
        case "record":
            return {field["name"]: draw_value(rng, field["type"]) for field in kind["fields"]}
    return _draw_logical(rng, kind["logicalType"])


def _draw_logical(rng: random.Random, name: str) -> Any:
    match name:
        case "date":
            return rng.choice([0, 19_000, -1])
        case "decimal":
            return rng.choice([Decimal("0.00"), Decimal("1.25"), Decimal("-99999.01")])
        case "uuid":
            return "12345678-1234-5678-1234-56781234567" + rng.choice("0123456789")
    return rng.choice([0, 1, 5_000_000, 86_399_999])
