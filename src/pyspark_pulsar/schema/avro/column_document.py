"""Removal of Avro fields that no column can contain.

No column can contain a record that contains itself more often than `Unfolding.depth`, or a decimal with too many digits
for Spark. No column can contain an array of items without bytes. The new document is finite. A record that contains
itself becomes a separate record for each level, such as `Node`, `Node_2` and `Node_3`. The numbered records have the
alias `Node`. If no column can contain a branch of a union, the new document marks the branch (`HELD`), and readers
return null for its values. If columns can contain all fields, the document is unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.named_types import (
    NAMED_KINDS,
    RECORD_KINDS,
    NamedTypes,
    full_name,
    is_too_wide,
    resolved_name,
)
from pyspark_pulsar.schema.avro.to_arrow import (
    HELD,
    MAX_DECIMAL_DIGITS,
    OMITTED,
    PRIMITIVES,
    TEXT,
    parse_json,
)
from pyspark_pulsar.schema.unfolding import (
    DEPTH_OPTION,
    UNFOLDED_ONCE,
    NotHeld,
    Omission,
    Omissions,
    Unfolding,
    item_of,
    member_of,
)

# The kernel refuses to read a decimal with more than 1000 digits as text.
_MAX_TEXT_DIGITS: Final = 1000
# `schema.avro.scope` has the same limit on the number of types.
_MAX_NODES: Final = 20_000


@dataclass(frozen=True)
class ColumnDocument:
    """An Avro document of the fields that columns can contain, and a list of the omitted fields."""

    text: str
    omitted: tuple[Omission, ...] = ()
    shows_more: bool = False
    """True if the document has fields that columns contain only because of `.schema(...)` or option
    `recursiveFieldMaxDepth`."""


def column_document(document: str, unfolding: Unfolding = UNFOLDED_ONCE, *, where: str) -> ColumnDocument:
    """Return an Avro document without the fields that no column can contain.

    An invalid Avro document is returned unchanged, because `record_schema` later refuses the document.

    Args:
        document: The JSON text of an Avro schema.
        unfolding: How types that contain themselves become columns.
        where: The topic, for errors.

    Raises:
        SchemaError: If the text is not JSON, or if the new document has too many types.

    """
    root = parse_json(document, where)
    named_types = NamedTypes()
    try:
        named_types.walk(root, "", ())
        name = named_types.root_to_change(root)
        if name is None:
            return ColumnDocument(document)
        wanted = None if unfolding.wanted is None else pa.struct(list(unfolding.wanted))
        unfolder = _Unfolder(named_types, named_types.affected(), unfolding.depth, where, {name: None})
        node = unfolder.record(name, "", {}, wanted)
        text = json.dumps(node, separators=(",", ":"))
        return ColumnDocument(text, tuple(unfolder.omitted), unfolder.shows_more)
    except (KeyError, TypeError, AttributeError, RecursionError):
        return ColumnDocument(document)


@dataclass
class _Unfolder:
    """A walk that builds the new document.

    A method that returns a node raises `NotHeld` if no column can contain the node.

    Attributes:
        written: The names that the new document uses. Each name has its node, or None if
            the walk changes the node of the record.

    """

    named_types: NamedTypes
    affected: set[str]
    depth: int
    where: str
    written: dict[str, Any]
    omitted: Omissions = field(default_factory=Omissions)
    shows_more: bool = False
    _known: dict[Any, tuple[str, list[Omission]]] = field(default_factory=dict)
    _count: int = 0

    def type(
        self, node: Any, namespace: str, path: str, around: Mapping[str, int], wanted: pa.DataType | None
    ) -> Any:
        """Return the new node of a type. `around` counts the occurrences of each record on the path to the type."""
        self._count += 1
        if self._count > _MAX_NODES:
            raise SchemaError(
                f"{self.where}, field {path}: expected at most {_MAX_NODES} types including referenced types, got "
                f"more; lower option {DEPTH_OPTION}, or name fewer members in .schema(...)"
            )
        if isinstance(node, list):
            return self._union(node, namespace, path, around, wanted)
        if isinstance(node, str):
            full = None if node in PRIMITIVES else resolved_name(node, namespace, self.named_types.nodes)
            return node if full is None else self._named(full, path, around, wanted)
        kind = node["type"]
        match kind:
            case "array" if self.named_types.takes_no_bytes(node["items"], namespace):
                raise NotHeld("an array of items without bytes, which could have any length")
            case "array":
                items = self.type(node["items"], namespace, f"{path}[]", around, item_of(wanted))
                return {"type": "array", "items": items}
            case "map":
                values = self.type(node["values"], namespace, f"{path}{{}}", around, item_of(wanted))
                return {"type": "map", "values": values}
            case "bytes" if is_too_wide(node):
                return self._raw(node, "bytes", wanted)
            case str() if kind in NAMED_KINDS:
                full = full_name(node["name"], node.get("namespace"), namespace)
                return self._named(full, path, around, wanted)
            case str() if kind in PRIMITIVES:
                return node
        return self.type(kind, namespace, path, around, wanted)

    def record(
        self, full: str, path: str, around: Mapping[str, int], wanted: pa.DataType | None
    ) -> dict[str, Any]:
        """Return a record with the fields that columns can contain. Only the top record can have no fields."""
        node, namespace = self.named_types.nodes[full]
        inside = {**around, full: around.get(full, 0) + 1} if full in self.affected else around
        fields: list[Any] = []
        start = len(self.omitted)
        why: NotHeld | None = None
        for member in node["fields"]:
            below = f"{path}.{member['name']}" if path else member["name"]
            try:
                kind = self.type(member["type"], namespace, below, inside, member_of(wanted, member["name"]))
                fields.append({**member, "type": kind})
            except NotHeld as fault:
                why = why or fault
                self.omitted.note(fault.at(below, required=not _is_nullable(member["type"])))
        if why is not None and not fields and path:
            del self.omitted[start:]
            raise why
        return {"type": "record", **_name(node, full), "fields": fields}

    def _named(self, full: str, path: str, around: Mapping[str, int], wanted: pa.DataType | None) -> Any:
        node, _ = self.named_types.nodes[full]
        if full not in self.affected:
            if full in self.written:
                return full
            self.written[full] = node
            if node["type"] in RECORD_KINDS:
                return self.record(full, path, around, wanted)
            return {**node, **_name(node, full)}
        if node["type"] == "fixed":
            return self._fixed(full, self._raw(node, {**node, **_name(node, full)}, wanted))
        is_wanted = wanted is not None and types.is_struct(wanted)
        if 0 < self.depth <= around.get(full, 0) and not is_wanted:
            raise NotHeld.contains_itself(full)
        self.shows_more |= full in around
        key = (full, tuple(sorted(around.items()))) if wanted is None else None
        if key in self._known:
            name, omitted = self._known[key]
            self.omitted.repeat(omitted, path)
            return name
        start = len(self.omitted)
        name = self._unused(full)
        self.written[name] = None
        try:
            made = self.record(full, path, around, wanted)
        except NotHeld:
            del self.written[name]
            raise
        if key is not None:
            below = self.omitted.since(start, path)
            self._known[key] = name, below
        return _renamed(made, name)

    def _raw(self, node: Mapping[str, Any], base: Any, wanted: pa.DataType | None) -> Any:
        raw = _raw_decimal(node, base, wanted)
        self.shows_more = True
        return raw

    def _unused(self, full: str) -> str:
        name, number = full, 1
        while name in self.written:
            number += 1
            name = f"{full}_{number}"
        return name

    def _fixed(self, full: str, made: Any) -> Any:
        """Return the fixed type of a decimal in the requested form, or only its name if the type is already defined."""
        same = next((name for name, other in self.written.items() if other == made), None)
        if same is not None:
            return same
        name = self._unused(full)
        self.written[name] = made
        return _renamed(made, name)

    def _union(
        self,
        branches: list[Any],
        namespace: str,
        path: str,
        around: Mapping[str, int],
        wanted: pa.DataType | None,
    ) -> list[Any]:
        others = [branch for branch in branches if not _is_null(branch)]
        if len(others) < 2:  # noqa: PLR2004
            return [
                branch if _is_null(branch) else self.type(branch, namespace, path, around, wanted)
                for branch in branches
            ]
        made: list[Any] = []
        faults: list[NotHeld] = []
        start = len(self.omitted)
        index = 0
        for branch in branches:
            if _is_null(branch):
                made.append(branch)
                continue
            member = f"member{index}"
            index += 1
            try:
                made.append(
                    self.type(branch, namespace, f"{path}.{member}", around, member_of(wanted, member))
                )
            except NotHeld as fault:
                faults.append(fault)
                self.omitted.note(fault.at(f"{path}.{member}", required=False))
                made.append(self._marked(branch, namespace))
        if len(faults) == len(others):
            del self.omitted[start:]
            raise faults[0]
        return made

    def _marked(self, branch: Any, namespace: str) -> dict[str, Any]:
        """Return a union's branch with a mark, so that readers return null for the values of the branch.

        The marked branch has the kind or name of the original branch, because the kind or name distinguishes the
        branches of a union.
        """
        while isinstance(branch, dict) and isinstance(branch["type"], dict):
            branch = branch["type"]
        full = None
        if isinstance(branch, str):
            full = resolved_name(branch, namespace, self.named_types.nodes)
        elif branch["type"] in NAMED_KINDS:
            full = full_name(branch["name"], branch.get("namespace"), namespace)
        elif branch["type"] not in ("array", "map", "bytes"):
            full = resolved_name(branch["type"], namespace, self.named_types.nodes)
        if full is None:
            made = {**branch, "items": "null", "values": "null"}
        else:
            node, _ = self.named_types.nodes[full]
            made = {**node, **_name(node, full)} | ({"fields": []} if node["type"] in RECORD_KINDS else {})
        return {**made, HELD: OMITTED}


def _renamed(made: dict[str, Any], name: str) -> dict[str, Any]:
    if name == made["name"]:
        return made
    return {**made, "name": name, "aliases": [*made.get("aliases", ()), made["name"]]}


def _name(node: Mapping[str, Any], full: str) -> dict[str, Any]:
    """Return the full name and the full aliases of a type, which do not depend on the enclosing namespace."""
    space = full.rpartition(".")[0]
    aliases = [full_name(alias, None, space) for alias in node.get("aliases", ()) if isinstance(alias, str)]
    return {"name": full, "namespace": space} | ({"aliases": aliases} if aliases else {})


def _raw_decimal(node: Mapping[str, Any], base: Any, wanted: pa.DataType | None) -> Any:
    """Return the node of a decimal that is too wide for Spark, as the string or binary that the query requests."""
    digits, scale = node["precision"], node.get("scale", 0)
    if wanted is not None and types.is_string(wanted) and digits <= _MAX_TEXT_DIGITS:
        return {**(base if isinstance(base, dict) else node), HELD: TEXT}
    if wanted is not None and types.is_binary(wanted):
        return (
            {key: value for key, value in base.items() if key != "logicalType"}
            if isinstance(base, dict)
            else base
        )
    forms = "string or binary" if digits <= _MAX_TEXT_DIGITS else "binary"
    raise NotHeld(
        f"decimal({digits}, {scale}) has more than {MAX_DECIMAL_DIGITS} digits; .schema(...) reads it as {forms}"
    )


def _is_null(node: Any) -> bool:
    return node == "null" or (isinstance(node, dict) and node.get("type") == "null")


def _is_nullable(node: Any) -> bool:
    return any(map(_is_null, node)) if isinstance(node, list) else _is_null(node)
