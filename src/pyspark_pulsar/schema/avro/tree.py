"""Conversion of Avro documents to trees of types without references, and of trees to documents.

A tree contains only the parts of a document that affect how values are read. The tree has no documentation, no
namespaces, and no logical types that the reader ignores. Two trees are equal if values of both types are read in the
same way. Names of records therefore count only if they distinguish the branches of a union. Equal trees have equal
hashes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pyspark_pulsar.schema.avro.json_document import FORM
from pyspark_pulsar.schema.avro.to_arrow import HELD, OMITTED, UUID_BYTES, decimal_digits

NULL_DEFAULT: Final = "null"

_MEANINGS: Final = {
    "int": ("date", "time-millis"),
    "long": (
        "time-micros",
        *(f"{clock}-{unit}" for clock in ("timestamp", "local-timestamp") for unit in ("millis", "micros", "nanos")),
    ),
}  # fmt: skip
_PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@dataclass(frozen=True)
class TypeName:
    """The name of a type without its namespace, which readers in this package ignore, and the aliases of the type."""

    short: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leaf:
    """A primitive type.

    Attributes:
        logical: The logical type; None if the reader supports no logical type of the node.
        precision: The number of digits of a decimal; 0 in other types.
        scale: The number of fractional digits of a decimal; 0 in other types.
        form: The form of the values in JSON, from `json_document`; None if the form is ordinary.

    """

    kind: str
    logical: str | None = None
    precision: int = 0
    scale: int = 0
    form: str | None = None


@dataclass(frozen=True)
class Fixed:
    """A type of bytes with a fixed length. `logical` is `decimal`, `uuid` or None."""

    name: TypeName
    size: int
    logical: str | None = None
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True)
class Enum:
    """An enum with its symbols in the document's order. If `default` is set, unknown symbols are read as `default`."""

    name: TypeName
    symbols: tuple[str, ...]
    default: str | None = None


@dataclass(frozen=True)
class Array:
    """A list of items with one type."""

    items: Type


@dataclass(frozen=True)
class Map:
    """A map from strings to values with one type."""

    values: Type


@dataclass(frozen=True)
class Field:
    """A field of a record. `default` is JSON text, or None if the field has no default."""

    name: str
    type: Type
    default: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordType:
    """A record with its fields in the document's order."""

    name: TypeName = field(compare=False)
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Union:
    """A union with its branches in the document's order. The names in `labels` distinguish the branches."""

    branches: tuple[Type, ...]
    labels: tuple[str, ...]

    @classmethod
    def from_branches(cls, *branches: Type) -> Union:
        """Return a union of the branches. The union has labels if several of its branches are not null."""
        others = [branch for branch in branches if branch != NULL]
        # A single type besides null needs no label, so its name does not affect equality.
        labels = tuple(label(branch) for branch in others) if len(others) > 1 else ()
        return cls(branches, labels)


@dataclass(frozen=True)
class Omitted:
    """A branch of a union that `schema.avro.column_document` marked as omitted. `node` is the branch as JSON text."""

    label: str
    node: str


Type: TypeAlias = Leaf | Fixed | Enum | Array | Map | RecordType | Union | Omitted

NULL: Final = Leaf("null")


def label(branch: Type) -> str:
    """Return the name by which Avro distinguishes a branch of a union, without its namespace."""
    match branch:
        case Leaf():
            return branch.kind
        case Fixed() | Enum() | RecordType():
            return branch.name.short
        case Omitted():
            return branch.label
    return type(branch).__name__.lower()


def branches(kind: Type) -> tuple[Type, ...]:
    """Return the branches of a union except null.

    A type that is not a union counts as a union with one branch. The result for null is therefore empty.
    """
    all_branches = kind.branches if isinstance(kind, Union) else (kind,)
    return tuple(branch for branch in all_branches if branch != NULL)


def held_members(kind: Type) -> tuple[Type, ...]:
    """Return the branches of a union for which the union's struct has members."""
    return tuple(branch for branch in branches(kind) if not isinstance(branch, Omitted))


def has_several_types(kind: Type) -> bool:
    """Return whether a type contains a union of several types besides null, at any depth."""
    match kind:
        case Union():
            return len(branches(kind)) > 1 or any(map(has_several_types, branches(kind)))
        case RecordType():
            return any(has_several_types(member.type) for member in kind.fields)
        case Array():
            return has_several_types(kind.items)
        case Map():
            return has_several_types(kind.values)
    return False


def is_nullable(kind: Type) -> bool:
    """Return whether a type accepts null."""
    return kind == NULL or (isinstance(kind, Union) and NULL in kind.branches)


def nullable(kind: Type, *, null_first: bool) -> Type:
    """Return a union of a type and null, with null as the first or last branch."""
    others = branches(kind)
    return Union.from_branches(NULL, *others) if null_first else Union.from_branches(*others, NULL)


def parse(document: str) -> RecordType:
    """Return the tree of an Avro document.

    `to_arrow.record_schema` must accept the document, because only such a document is finite and defines all names.
    """
    record = _DocumentParser({}).type(json.loads(document), "")
    if not isinstance(record, RecordType):
        raise TypeError(f"expected a record, got {type(record).__name__}")
    return record


def width(kind: Type) -> int:
    """Return the number of fields in a type, including fields of nested records."""
    match kind:
        case RecordType():
            return sum(1 + width(member.type) for member in kind.fields)
        case Union():
            return sum(width(branch) for branch in kind.branches)
        case Array():
            return width(kind.items)
        case Map():
            return width(kind.values)
    return 0


@dataclass(frozen=True)
class _DocumentParser:
    known: dict[str, Type]

    def type(self, node: Any, namespace: str) -> Type:
        if isinstance(node, list):
            return Union.from_branches(*(self.type(branch, namespace) for branch in node))
        if isinstance(node, str):
            return self._named(node, namespace)
        kind = node["type"]
        if node.get(HELD) == OMITTED:
            named = str(node["name"]).rpartition(".")[2] if "name" in node else kind
            return Omitted(named, json.dumps(node, sort_keys=True))
        match kind:
            case "record" | "error" | "enum" | "fixed":
                return self._defined(node, kind, namespace)
            case "array":
                return Array(self.type(node["items"], namespace))
            case "map":
                return Map(self.type(node["values"], namespace))
            case str():
                return _leaf(kind, node) if kind in _PRIMITIVES else self._named(kind, namespace)
        return self.type(kind, namespace)

    def _named(self, name: str, namespace: str) -> Type:
        if name in _PRIMITIVES:
            return Leaf(name)
        full = _full_name(name, namespace)
        return self.known[full if full in self.known else name]

    def _defined(self, node: Mapping[str, Any], kind: str, namespace: str) -> Type:
        own = node.get("namespace")
        full = _full_name(node["name"], own if isinstance(own, str) else namespace)
        space, _, short = full.rpartition(".")
        name = TypeName(short, _texts(node.get("aliases")))
        made: Type
        if kind == "enum":
            default = node.get("default")
            symbols = _texts(node.get("symbols"))
            made = Enum(name, symbols, default if isinstance(default, str) else None)
        elif kind == "fixed":
            made = _fixed(name, node)
        else:
            made = RecordType(name, tuple(self._field(member, space) for member in node["fields"]))
        self.known[full] = made
        return made

    def _field(self, member: Mapping[str, Any], namespace: str) -> Field:
        default = json.dumps(member["default"], sort_keys=True) if "default" in member else None
        return Field(
            member["name"],
            self.type(member["type"], namespace),
            default,
            tuple(sorted(set(_texts(member.get("aliases"))))),
        )


def _leaf(kind: str, node: Mapping[str, Any]) -> Leaf:
    logical = node.get("logicalType")
    digits = decimal_digits(node, None) if kind == "bytes" else None
    if digits is not None:
        return Leaf(kind, logical, *digits)
    form = node.get(FORM)
    known = logical if logical in _MEANINGS.get(kind, ()) else None
    return Leaf(kind, known, form=form if isinstance(form, str) else None)


def _fixed(name: TypeName, node: Mapping[str, Any]) -> Fixed:
    logical, size = node.get("logicalType"), node["size"]
    digits = decimal_digits(node, size)
    if digits is not None:
        return Fixed(name, size, logical, *digits)
    return Fixed(name, size, logical if logical == "uuid" and size == UUID_BYTES else None)


def _texts(node: object) -> tuple[str, ...]:
    return tuple(text for text in node if isinstance(text, str)) if isinstance(node, list) else ()


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def document(record: RecordType) -> str:
    """Convert a tree to an Avro document, in which the first use of a named type defines the type.

    If two types have the same name, the name of the second type gets a number, and the original name becomes an alias.

    Raises:
        ValueError: If the names of two types in a union differ only in their namespaces.

    """
    return json.dumps(_DocumentWriter({}).node(record), separators=(",", ":"))


@dataclass(frozen=True)
class _DocumentWriter:
    defined: dict[str, Type]

    def node(self, kind: Type) -> Any:
        match kind:
            case Leaf():
                form = {} if kind.form is None else {FORM: kind.form}
                return _with_logical({"type": kind.kind} | form, kind) if kind.logical or form else kind.kind
            case Union():
                if len(set(kind.labels)) < len(kind.labels):
                    raise ValueError(
                        f"a union with {', '.join(kind.labels)}, whose names differ only in their namespaces"
                    )
                return [self.node(branch) for branch in kind.branches]
            case Array():
                return {"type": "array", "items": self.node(kind.items)}
            case Map():
                return {"type": "map", "values": self.node(kind.values)}
            case Omitted():
                return json.loads(kind.node)
        return self._named(kind)

    def _named(self, kind: RecordType | Enum | Fixed) -> Any:
        short, number = kind.name.short, 1
        while short in self.defined:
            if self.defined[short] == kind:
                return short
            number += 1
            short = f"{kind.name.short}_{number}"
        self.defined[short] = kind
        aliases = [*kind.name.aliases, *([kind.name.short] if short != kind.name.short else [])]
        made: dict[str, Any] = {"name": short} | ({"aliases": aliases} if aliases else {})
        match kind:
            case RecordType():
                return made | {"type": "record", "fields": [self._field(member) for member in kind.fields]}
            case Enum():
                default = {} if kind.default is None else {"default": kind.default}
                return made | {"type": "enum", "symbols": list(kind.symbols)} | default
            case Fixed():
                return _with_logical(made | {"type": "fixed", "size": kind.size}, kind)

    def _field(self, member: Field) -> dict[str, Any]:
        made = {"name": member.name, "type": self.node(member.type)}
        if member.aliases:
            made["aliases"] = list(member.aliases)
        if member.default is not None:
            made["default"] = json.loads(member.default)
        return made


def _with_logical(made: dict[str, Any], kind: Leaf | Fixed) -> dict[str, Any]:
    if kind.logical is None:
        return made
    digits = {"precision": kind.precision, "scale": kind.scale} if kind.logical == "decimal" else {}
    return made | {"logicalType": kind.logical} | digits
