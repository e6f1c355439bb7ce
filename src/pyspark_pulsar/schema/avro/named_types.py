"""The named types of an Avro document: records, enums and fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark_pulsar.schema.avro.to_arrow import HELD, MAX_DECIMAL_DIGITS, decimal_digits

NAMED_KINDS: Final = ("record", "error", "enum", "fixed")
RECORD_KINDS: Final = ("record", "error")


@dataclass
class NamedTypes:
    """The named types of an Avro document, and the names of types with fields that no column can contain.

    Attributes:
        nodes: The node of each type by full name, with the namespace that applies inside the type.

    """

    nodes: dict[str, tuple[Mapping[str, Any], str]] = field(default_factory=dict)
    _around: dict[str, set[str]] = field(default_factory=dict)
    _without_column: set[str] = field(default_factory=set)
    _empty: dict[str, bool] = field(default_factory=dict)

    def walk(self, node: Any, namespace: str, records: tuple[str, ...]) -> None:
        """Collect the named types in a node. `records` contains the full names of the records around the node."""
        if isinstance(node, list):
            for branch in node:
                self.walk(branch, namespace, records)
        elif isinstance(node, str):
            self._refer(node, namespace, records)
        elif isinstance(node, dict):
            kind = node.get("type")
            if kind in NAMED_KINDS:
                self._define(node, namespace, records)
            elif kind in ("array", "map"):
                items = node.get("items" if kind == "array" else "values")
                self.walk(items, namespace, records)
                if records and kind == "array" and self.takes_no_bytes(items, namespace):
                    self._without_column.add(records[-1])
            elif records and kind == "bytes" and is_too_wide(node):
                self._without_column.add(records[-1])
            else:
                self.walk(kind, namespace, records)

    def root_to_change(self, root: Any) -> str | None:
        """Return the full name of the root record, or None if the columns can contain every field of the document.

        The result is also None if the root is not a record.
        """
        if not self._without_column or not isinstance(root, dict) or root.get("type") not in RECORD_KINDS:
            return None
        return full_name(root["name"], root.get("namespace"), "")

    def takes_no_bytes(self, node: Any, namespace: str) -> bool:
        """Return whether encoded values of a type have no bytes.

        The types without bytes are null, a fixed of size 0, and a record whose fields all have types without bytes.
        """
        if isinstance(node, dict):
            kind = node["type"]
            if kind not in NAMED_KINDS:
                return self.takes_no_bytes(kind, namespace)
            return self._is_empty(full_name(node["name"], node.get("namespace"), namespace))
        if node == "null" or not isinstance(node, str):
            return bool(node == "null")
        full = resolved_name(node, namespace, self.nodes)
        return full is not None and self._is_empty(full)

    def _is_empty(self, full: str) -> bool:
        if full not in self._empty:
            # This entry stops the recursion, because a record counts as not empty during its check.
            self._empty[full] = False
            node, inner = self.nodes[full]
            if node["type"] in RECORD_KINDS:
                kinds = [member["type"] for member in node["fields"]]
                self._empty[full] = all(self.takes_no_bytes(kind, inner) for kind in kinds)
            else:
                self._empty[full] = node["type"] == "fixed" and node["size"] == 0
        return self._empty[full]

    def affected(self) -> set[str]:
        """Return the types that contain, at any depth, a field that no column can contain."""
        found: set[str] = set()
        waiting = list(self._without_column)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self._around.get(name, ()))
        return found

    def _refer(self, name: str, namespace: str, records: tuple[str, ...]) -> None:
        full = resolved_name(name, namespace, self.nodes)
        if full is not None and records:
            self._around.setdefault(full, set()).add(records[-1])
            if full in records:
                self._without_column.add(full)

    def _define(self, node: Mapping[str, Any], namespace: str, records: tuple[str, ...]) -> None:
        full = full_name(node["name"], node.get("namespace"), namespace)
        inner = full.rpartition(".")[0]
        self.nodes[full] = node, inner
        if records:
            self._around.setdefault(full, set()).add(records[-1])
        if node["type"] == "fixed" and is_too_wide(node):
            self._without_column.add(full)
        for member in node["fields"] if node["type"] in RECORD_KINDS else ():
            self.walk(member["type"], inner, (*records, full))


def resolved_name(name: str, namespace: str, known: Mapping[str, object]) -> str | None:
    """Return the full name for a reference to a named type, or None if no type in `known` has the name."""
    full = full_name(name, None, namespace)
    return next((candidate for candidate in (full, name) if candidate in known), None)


def full_name(name: str, own: object, around: str) -> str:
    """Return the full name of a type. A namespace in the type has precedence over the enclosing namespace."""
    if "." in name:
        return name
    space = own if isinstance(own, str) else around
    return f"{space}.{name}" if space else name


def is_too_wide(node: Mapping[str, Any]) -> bool:
    """Return whether a decimal has more digits than Spark's decimals."""
    if HELD in node:
        return False
    digits = decimal_digits(node, node.get("size") if node["type"] == "fixed" else None)
    return digits is not None and digits[0] > MAX_DECIMAL_DIGITS
