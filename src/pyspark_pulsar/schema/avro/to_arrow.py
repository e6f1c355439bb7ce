"""Conversion of Avro documents to Arrow types, in the time units of the documents.

Pulsar describes its AVRO and JSON schemas by an Avro document. The specification is Avro 1.11
(https://avro.apache.org/docs/1.11.1/specification/). This module supports records whose fields are primitives, enums,
fixed, arrays, maps, records, and unions of these. Supported logical types are date, time-*, timestamp-*,
local-timestamp-*, decimal up to 38 digits, and uuid. As Avro requires, the module ignores unknown logical types,
logical types on a wrong base type, and decimals with an invalid precision or scale. Before the conversion,
`schema.avro.column_document` omits the fields that no column can contain.

A union of null with one type becomes the nullable form of this type. A union of several types becomes a struct, as in
Spark's own Avro source. The members `member0`, `member1`, and so on, are the branches except null, in their order. One
member of the struct is set. If the branch is null, the struct itself is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.scope import NamedType, Scope

MAX_DECIMAL_DIGITS: Final = 38
UUID_BYTES: Final = 16

HELD: Final = "pyspark_pulsar"
"""The key of an Avro node whose column has a special form.

The value of the key is `OMITTED` for a union's branch without a member, and `TEXT` for a decimal that is read as text.
`schema.avro.column_document` writes the key, and kernel/src/avro_schema/parse.rs reads the key.
"""
OMITTED: Final = "omitted"
TEXT: Final = "text"

_MAX_INT: Final = 2**31 - 1

PRIMITIVES: Final = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}

_LOGICAL: Final = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", tz="UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}

_SUPPORTED: Final = (
    "register a schema of primitives, enums, fixed, arrays, maps, records, and unions of these types"
)


def record_schema(document: str, *, where: str) -> pa.Schema:
    """Return the Arrow fields of a record, in the order of its document. A field is nullable if its type allows null.

    As in Spark, lists have items named `element`, and maps have `key` and `value`.

    Args:
        document: The Avro document of a record.
        where: The origin of the document for errors, such as "topic persistent://t/n/x".

    Raises:
        SchemaError: If the document is malformed or not supported. The error names the path of the field.

    """
    scope = Scope(where=where)
    try:
        node = parse_json(document, where)
        if not isinstance(node, dict) or node.get("type") not in ("record", "error"):
            raise scope.refuse(
                "a record at the top of its Avro document", _describe(node), "register a record schema"
            )
        return pa.schema(list(_named(node, scope)))
    except (RecursionError, UnicodeEncodeError) as error:
        raise scope.refuse(
            "an Avro schema of Unicode names and of finite depth", str(error), "register a valid Avro schema"
        ) from None


def field_defaults(document: str, *, where: str) -> dict[str, object]:
    """Return the defaults of a record's fields by name, as JSON values, without the fields of nested records."""
    node = parse_json(document, where)
    return {field["name"]: field["default"] for field in node["fields"] if "default" in field}


def list_of(item: pa.DataType, *, nullable: bool) -> pa.DataType:
    """Return the type of a list whose items have the name `element`, as in Spark."""
    return pa.list_(pa.field("element", item, nullable=nullable))


def map_of(item: pa.DataType, *, nullable: bool) -> pa.DataType:
    """Return the type of a map from strings with the field names `key` and `value`, as in Spark."""
    return pa.map_(pa.field("key", pa.string(), nullable=False), pa.field("value", item, nullable=nullable))


def parse_json(document: str, where: str) -> Any:
    """Parse a document as JSON. Raise SchemaError if the text is not JSON."""
    try:
        return json.loads(document)
    except (ValueError, RecursionError) as error:
        raise SchemaError(
            f"{where}: expected an Avro schema as JSON, got {document[:80]!r} ({error}); "
            "register the schema again"
        ) from None


def _describe(node: object) -> str:
    if isinstance(node, list):
        return "a union of " + ", ".join(_describe(branch) for branch in node)
    if isinstance(node, dict):
        kind = node.get("type")
        name = f" {node['name']}" if isinstance(node.get("name"), str) else ""
        return f"{kind}{name}" if isinstance(kind, str) else _describe(kind)
    return str(node)


def _type_of(node: object, scope: Scope) -> tuple[pa.DataType, bool]:
    """Return the Arrow type of an Avro node, and whether the node allows null."""
    if isinstance(node, list):
        return _union(node, scope)
    if _is_null(node):
        return pa.null(), True
    if isinstance(node, str):
        return (PRIMITIVES[node] if node in PRIMITIVES else _reference(node, scope)), False
    if isinstance(node, dict):
        kind = node.get("type")
        if isinstance(kind, dict | list):
            return _type_of(kind, scope)
        return _complex(node, kind, scope), False
    raise scope.refuse("an Avro type", repr(node), _SUPPORTED)


def _union(branches: list[object], scope: Scope) -> tuple[pa.DataType, bool]:
    others = [branch for branch in branches if not _is_null(branch)]
    names = [_branch_name(branch, scope) for branch in branches]
    if not others or len(set(names)) < len(names) or any(isinstance(branch, list) for branch in branches):
        raise scope.refuse(
            "a union of distinct types, with at least one type besides null",
            _describe(branches) if branches else "none",
            "register a valid Avro schema",
        )  # fmt: skip
    nullable = len(others) < len(branches)
    if len(others) == 1:
        branch_type, inner = _type_of(others[0], scope)
        return branch_type, nullable or inner
    members = [
        pa.field(f"member{index}", _type_of(branch, scope.below(""))[0])
        for index, branch in enumerate(others)
        if not (isinstance(branch, dict) and branch.get(HELD) == OMITTED)
    ]
    return pa.struct(members), nullable


def _is_null(branch: object) -> bool:
    return branch == "null" or (isinstance(branch, dict) and branch.get("type") == "null")


def _branch_name(branch: object, scope: Scope) -> str:
    """Return the name that distinguishes a branch of a union: the full name of a named type, otherwise the type."""
    if isinstance(branch, dict):
        kind, name = branch.get("type"), branch.get("name")
        if kind in ("record", "error", "enum", "fixed") and isinstance(name, str):
            return scope.full_name(name, branch.get("namespace"))
        return _branch_name(kind, scope)
    if isinstance(branch, str) and branch not in (*PRIMITIVES, "null", "array", "map"):
        return scope.full_name(branch)
    return str(branch)


def _reference(name: str, scope: Scope) -> pa.DataType:
    full = scope.full_name(name)
    # Avro resolves a short name in the enclosing namespace. Some older schemas use a short name for a type without a
    # namespace.
    for candidate in (full, name):
        if candidate in scope.unfinished:
            raise scope.refuse("a type of finite depth", f"{candidate}, which contains itself", _SUPPORTED)
        if candidate in scope.known:
            named = scope.known[candidate]
            scope.count(named.types, named.height)
            return named.kind
    raise scope.refuse("an Avro type or a name defined before it", name, _SUPPORTED)


def _complex(node: Mapping[str, Any], kind: object, scope: Scope) -> pa.DataType:
    if kind in ("record", "error", "enum", "fixed"):
        return _named(node, scope)
    if kind == "array":
        item, nullable = _type_of(node.get("items"), scope.below("[]"))
        if _takes_no_bytes(item, nullable=nullable):
            raise scope.refuse(
                "array items with bytes",
                str(item),
                "use other items, because empty items can claim any length",
            )
        return list_of(item, nullable=nullable)
    if kind == "map":
        item, nullable = _type_of(node.get("values"), scope.below("{}", levels=2))
        return map_of(item, nullable=nullable)
    if kind == "bytes":
        return _decimal(node, scope) or pa.binary()
    if isinstance(kind, str) and kind in PRIMITIVES:
        return _LOGICAL.get((kind, str(node.get("logicalType"))), PRIMITIVES[kind])
    if isinstance(kind, str):
        return _reference(kind, scope)
    raise scope.refuse("an Avro type", repr(dict(node)), _SUPPORTED)


def _takes_no_bytes(kind: pa.DataType, *, nullable: bool) -> bool:
    """Return whether encoded values of a type have no bytes.

    The types without bytes are null, a fixed of size 0, and a record whose fields all have types without bytes. An
    encoded nullable value has at least one byte, which is the index of its branch.
    """
    if types.is_null(kind):
        return True
    if nullable:
        return False
    if types.is_struct(kind):
        return all(_takes_no_bytes(member.type, nullable=member.nullable) for member in kind)
    return bool(types.is_fixed_size_binary(kind) and kind.byte_width == 0)


def _named(node: Mapping[str, Any], scope: Scope) -> pa.DataType:
    name = node.get("name")
    if not isinstance(name, str) or not name:
        raise scope.refuse(f"a name for the {node['type']}", repr(name), "register a valid Avro schema")
    full = scope.full_name(name, node.get("namespace"))
    if full in scope.known or full in scope.unfinished:
        raise scope.refuse("each Avro name defined once", f"{full} twice", "rename one of the two")
    size = scope.size
    types, around, size.deepest = size.types, size.deepest, scope.level
    if node["type"] == "enum":
        kind = pa.string()
    elif node["type"] == "fixed":
        kind = _fixed(node, scope)
    else:
        scope.unfinished.add(full)
        kind = _record(node, replace(scope, namespace=full.rpartition(".")[0]))
        scope.unfinished.discard(full)
    scope.known[full] = NamedType(kind, size.types - types + 1, size.deepest - scope.level)
    size.deepest = max(size.deepest, around)
    return kind


def _record(node: Mapping[str, Any], scope: Scope) -> pa.DataType:
    members: dict[str, pa.Field] = {}
    declared = node.get("fields")
    if not isinstance(declared, list):
        raise scope.refuse("a list of fields", repr(declared), "register a valid Avro schema")
    for member in declared:
        name = member.get("name") if isinstance(member, dict) else None
        if not isinstance(name, str) or name in members:
            raise scope.refuse("fields with distinct names", repr(member), "register a valid Avro schema")
        kind, nullable = _type_of(member.get("type"), scope.below(name))
        members[name] = pa.field(name, kind, nullable=nullable)
    return pa.struct(list(members.values()))


def _fixed(node: Mapping[str, Any], scope: Scope) -> pa.DataType:
    size = node.get("size")
    if not isinstance(size, int) or not 0 <= size < 2**31:
        raise scope.refuse("a fixed of 0 to 2147483647 bytes", repr(size), "register a valid Avro schema")
    decimal = _decimal(node, scope, size)
    if decimal is not None:
        return decimal
    if node.get("logicalType") == "uuid" and size == UUID_BYTES:
        return pa.string()
    return pa.binary(size)


def _decimal(node: Mapping[str, Any], scope: Scope, size: int | None = None) -> pa.DataType | None:
    digits = decimal_digits(node, size)
    if digits is None or node.get(HELD) == TEXT:
        return digits and pa.string()
    if digits[0] > MAX_DECIMAL_DIGITS:
        raise scope.refuse(
            f"a decimal of at most {MAX_DECIMAL_DIGITS} digits", f"{digits[0]}", "read it as string or binary"
        )
    return pa.decimal128(*digits)


def decimal_digits(node: Mapping[str, Any], size: int | None) -> tuple[int, int] | None:
    """Return the precision and scale of a decimal on bytes, or on a fixed of `size` bytes.

    Return None if the node is no valid decimal. Avro requires readers to ignore an invalid decimal, and Avro's Java
    library does.
    """
    if node.get("logicalType") != "decimal":
        return None
    precision, scale = node.get("precision"), node.get("scale", 0)
    if type(precision) is not int or type(scale) is not int:
        return None
    most = _MAX_INT if size is None else min(_MAX_INT, math.floor(math.log10(2) * (8 * size - 1)))
    return (precision, scale) if 1 <= precision <= most and 0 <= scale <= precision else None
