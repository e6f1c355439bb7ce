"""Changes to a record's Avro document in place. A change does not affect other parts of the document.

The sections "Schema Declaration" and "Schema Resolution" of Avro 1.11 define which changes keep earlier messages
readable (https://avro.apache.org/docs/1.11.1/specification/#schema-resolution).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.errors import CatalogUnsupported, SchemaError
from pyspark_pulsar.schema.avro.column_document import column_document
from pyspark_pulsar.schema.avro.from_arrow import record_document
from pyspark_pulsar.schema.avro.json_document import json_document
from pyspark_pulsar.schema.avro.to_arrow import record_schema
from pyspark_pulsar.schema.read_schema import suggestion
from pyspark_pulsar.schema.types.type_text import type_text

Node = dict[str, Any]
Path = Sequence[str]

REVISION: Final = "pyspark-pulsar.revision"
"""The name of an attribute of the record. Avro's readers ignore the attribute."""

_METADATA: Final = "__"
_BUILT_IN: Final = ("null", "boolean", "int", "long", "float", "double", "string", "bytes")
_NAMED: Final = ("record", "error", "enum", "fixed")
# A map from each type to the types to which Avro's readers can promote its values.
_PROMOTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_TYPES: Final = {
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
}


class EditedRecord:
    """The Avro document of a record, with methods that change the document.

    A path has Spark's form: names of fields, `element` inside an array, and `value` inside a map.

    The methods raise `CatalogUnsupported` for changes after which existing messages could not be read. The methods
    raise `SchemaError` for fields that do not exist, and for names and types that Avro does not support.
    """

    def __init__(self, node: Node, *, where: str, of_json: bool = False) -> None:
        """Store the document, which the methods change in place.

        Args:
            node: The parsed document.
            where: The name of the topic or schema, for error texts.
            of_json: True if the document belongs to a schema of type JSON, False for type AVRO.

        """
        self._node = node
        self._of_json = of_json
        self._where = where

    def text(self) -> str:
        """Return the document as compact JSON. Raises `SchemaError` if the changes have made the document invalid."""
        text = json.dumps(self._node, separators=(",", ":"), ensure_ascii=False)
        document = json_document(text) if self._of_json else text
        where = f"{self._where} after the change"
        record_schema(column_document(document, where=where).text, where=where)
        return text

    def columns(self) -> list[str]:
        return [field["name"] for field in self._node["fields"]]

    def revise(self, number: int) -> None:
        """Set the attribute `REVISION`, which makes the document differ from all earlier versions.

        If only comments differ, a registry can treat a document without this attribute as an earlier version.
        """
        self._node[REVISION] = number

    def add(self, path: Path, column: pa.Field, comment: str | None, position: Any) -> None:
        """Add a field.

        Args:
            path: The path of the new field.
            column: The type and the name of the column. The name is the last part of the path.
            comment: The column's comment.
            position: `"first"`, `{"after": name}`, or None to add the field at the end.

        """
        record = self._record(path[:-1], path)
        names = [field["name"] for field in record["fields"]]
        if column.name in names:
            raise self._fault(path, "a new name", "one that exists; choose another name")
        if len(path) == 1 and column.name.startswith(_METADATA):
            raise self._fault(
                path,
                f"a name without the prefix {_METADATA}",
                "the name of a metadata column, which every table has; choose another name",
            )
        if not column.nullable:
            raise self._refusal(
                path,
                "a nullable column",
                "NOT NULL, although existing messages have no value for the column; remove NOT NULL",
            )
        made = self._new_field(column, str(record["name"]))
        if comment:
            made["doc"] = comment
        record["fields"].insert(self._index(path, names, position), made)

    def drop(self, path: Path, *, if_exists: bool) -> None:
        """Remove a field."""
        if if_exists and not self._exists(path):
            return
        field = self._field(path)
        fields = self._record(path[:-1], path)["fields"]
        if len(fields) == 1:
            raise self._refusal(
                path,
                "a record that keeps at least one field",
                "its last field; drop the enclosing column or the table",
            )
        if _defined_names(field["type"]) & _references(self._node):
            raise self._refusal(
                path,
                "a column whose type no other column refers to",
                "one with a named type in use; keep the column",
            )
        fields.remove(field)

    def retype(self, path: Path, kind: pa.DataType) -> None:
        """Change the type of a field. Avro's readers must be able to promote the old type to the new type."""
        holder, key = self._slot(path)
        present = _plain(holder[key])
        avro_type = _TYPES.get(kind)
        if present is not None and avro_type == present:
            return
        if present is None or avro_type is None or avro_type not in _PROMOTIONS.get(present, ()):
            possible = _PROMOTIONS.get(present or "", ())
            types = ", ".join(
                type_text(arrow_type) for arrow_type, name in _TYPES.items() if name in possible
            )
            raise self._refusal(
                path,
                f"a type to which existing messages can be converted ({types or 'none exists'})",
                f"{type_text(kind)}; add a column of that type instead",
            )
        node = holder[key]
        if isinstance(node, dict):
            node["type"] = avro_type
        else:
            holder[key] = avro_type

    def allow_null(self, path: Path) -> None:
        """Make a field nullable, with null as its value in messages without the field.

        A field that is nullable already does not change.
        """
        field = self._field(path)
        kind = field["type"]
        branches = kind if isinstance(kind, list) else [kind]
        if "null" in branches:
            return
        # In Avro, the default of a union must be a value of its first branch.
        field["type"] = [*branches, "null"] if "default" in field else ["null", *branches]
        field.setdefault("default", None)

    def is_nullable(self, path: Path) -> bool:
        kind = self._field(path)["type"]
        return isinstance(kind, list) and "null" in kind

    def comment(self, path: Path, text: str | None) -> None:
        """Set the attribute `doc` of a field. If `text` is None or empty, remove the attribute.

        Only fields have this attribute. An element of an array has no `doc`.
        """
        field = self._field(path)
        if text:
            field["doc"] = text
        else:
            field.pop("doc", None)

    def _exists(self, path: Path) -> bool:
        try:
            self._field(path)
        except SchemaError:
            return False
        return True

    def _field(self, path: Path) -> Node:
        for field in self._record(path[:-1], path)["fields"]:
            if field["name"] == path[-1]:
                return _node_of(field)
        raise self._missing(path, self._record(path[:-1], path))

    def _record(self, path: Path, whole: Path) -> Node:
        """Return the record at `path`. The empty path is the outermost record."""
        if not path:
            return self._node
        holder, key = self._slot(path)
        node = holder[key]
        is_reference = isinstance(node, str) and node not in _BUILT_IN
        if is_reference or (isinstance(node, dict) and _last_name(node) in _references(self._node)):
            raise self._refusal(
                whole,
                "a record that only one column uses",
                "a named type that several columns use; keep the column unchanged",
            )
        if not isinstance(node, dict) or node.get("type") not in ("record", "error"):
            raise self._fault(whole, f"a struct at {'.'.join(path)}", "another type; correct the name")
        return node

    def _slot(self, path: Path) -> tuple[Any, Any]:
        """Return the container of the type at a path, and the key of the type in the container.

        For a union of null and another type, the container is the union, and the key is the index of the other type.
        """
        if len(path) > 1 and path[-1] in ("element", "value"):
            around, key = self._slot(path[:-1])
            node, member = around[key], "items" if path[-1] == "element" else "values"
            if isinstance(node, dict) and member in node:
                return self._not_null(node, member, path)
        return self._not_null(self._field(path), "type", path)

    def _not_null(self, holder: Any, key: Any, path: Path) -> tuple[Any, Any]:
        node = holder[key]
        if isinstance(node, list):
            others = [index for index, branch in enumerate(node) if branch != "null"]
            if len(others) != 1:
                raise self._refusal(
                    path, "a column of one type", "a union of several types; keep the column unchanged"
                )
            return node, others[0]
        if isinstance(node, dict) and isinstance(node.get("type"), dict | list):
            return self._not_null(node, "type", path)
        return holder, key

    def _index(self, path: Path, names: list[str], position: Any) -> int:
        if position is None:
            return len(names)
        if position == "first":
            return 0
        after = position.get("after") if isinstance(position, Mapping) else None
        if after not in names:
            raise self._fault(
                path, f"a position after one of {', '.join(names)}", f"AFTER {after}; correct the name"
            )
        return names.index(after) + 1

    def _new_field(self, column: pa.Field, record_name: str) -> Node:
        """Return the document of a new field. Records in the field get names that are new in the document."""
        taken = {name.rpartition(".")[2] for name in _defined_names(self._node)}
        base, number = record_name, 2
        while True:
            text = record_document(pa.schema([column]), record_name=base, where=self._where)
            made = _node_of(json.loads(text)["fields"][0])
            if not _defined_names(made["type"]) & taken:
                return made
            base, number = f"{record_name}_{number}", number + 1

    def _missing(self, path: Path, record: Node) -> SchemaError:
        names = [field["name"] for field in record["fields"]]
        return self._fault(path, f"one of {', '.join(names)}", f"{path[-1]!r}{suggestion(path[-1], names)}")

    def _fault(self, path: Path, expected: str, got: str) -> SchemaError:
        return SchemaError(f"{self._where}, column {'.'.join(path)}: expected {expected}, got {got}")

    def _refusal(self, path: Path, expected: str, got: str) -> CatalogUnsupported:
        return CatalogUnsupported(f"{self._where}, column {'.'.join(path)}: expected {expected}, got {got}")


def _node_of(node: Any) -> Node:
    """Return a field of a parsed record, typed as `Node` for the type checker."""
    record: Node = node
    return record


def _plain(node: Any) -> str | None:
    """Return the name of a node's type; None if the node has a logical type or is not a plain name."""
    if isinstance(node, dict):
        return None if "logicalType" in node else _plain(node.get("type"))
    return node if isinstance(node, str) else None


def _within(node: Any) -> Iterator[Any]:
    """Yield the type `node` and all types inside this type."""
    yield node
    if isinstance(node, list):
        for branch in node:
            yield from _within(branch)
    elif isinstance(node, dict):
        for key in ("type", "items", "values"):
            if key in node:
                yield from _within(node[key])
        for field in node.get("fields") or ():
            yield from _within(field["type"])


def _defined_names(node: Any) -> set[str]:
    """Return the names of the types that are defined in a node."""
    return {
        str(named["name"]).rpartition(".")[2]
        for named in _within(node)
        if isinstance(named, dict) and named.get("type") in _NAMED and "name" in named
    }


def _last_name(node: Node) -> str:
    return str(node.get("name")).rpartition(".")[2]


def _references(node: Any) -> set[str]:
    """Return the names of all types that a node refers to, including built-in types, without Avro namespaces."""
    return {name.rpartition(".")[2] for name in _within(node) if isinstance(name, str)}
