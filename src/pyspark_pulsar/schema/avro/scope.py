"""Where a walk through an Avro document stands: names, namespaces and how much the document unfolds to.

Names are those of the Avro specification, section "Names"
(https://avro.apache.org/docs/1.11.1/specification/#names).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa

from pyspark_pulsar.errors import SchemaError

# Arrow hands over at most 64 levels, and a key-value pair puts two more around these. Names that refer to each
# other many times over grow without end long before a table of them is of use.
_MAX_LEVELS: Final = 60
_MAX_TYPES: Final = 20_000

_TOO_LARGE: Final = "read the topic as bytes, or register a smaller schema"


@dataclass(frozen=True)
class NamedType:
    """A type that others may refer to: what it is, how many types it unfolds to, and the levels below it."""

    kind: pa.DataType
    types: int
    height: int


@dataclass
class _DocumentSize:
    """What a document has unfolded to so far."""

    types: int = 0
    deepest: int = 0


@dataclass(frozen=True)
class Scope:
    """Where the walk stands: the field's path, the enclosing namespace, and the names met so far.

    `known`, `unfinished` and `size` are shared by all scopes of one document, since Avro names are global in it.
    `level` counts the Arrow types around.
    """

    where: str
    path: str = ""
    namespace: str = ""
    level: int = 0
    known: dict[str, NamedType] = field(default_factory=dict)
    unfinished: set[str] = field(default_factory=set)
    size: _DocumentSize = field(default_factory=_DocumentSize)

    def below(self, step: str, *, levels: int = 1) -> Scope:
        dot = "." if self.path and step and not step.startswith(("[", "{")) else ""
        scope = replace(self, path=f"{self.path}{dot}{step}", level=self.level + levels)
        scope.count(1, 0)
        return scope

    def count(self, types: int, height: int) -> None:
        """Add so many types that reach `height` levels below this place."""
        self.size.types += types
        self.size.deepest = max(self.size.deepest, self.level + height)
        if self.size.deepest > _MAX_LEVELS:
            raise self.refuse(f"at most {_MAX_LEVELS} types inside each other", "more", _TOO_LARGE)
        if self.size.types > _MAX_TYPES:
            raise self.refuse(f"at most {_MAX_TYPES} types with those they refer to", "more", _TOO_LARGE)

    def refuse(self, expected: str, got: str, advice: str) -> SchemaError:
        place = f"{self.where}, field {self.path}" if self.path else self.where
        return SchemaError(f"{place}: expected {expected}, got {got}; {advice}")

    def full_name(self, name: str, namespace: object = None) -> str:
        if "." in name:
            return name
        space = namespace if isinstance(namespace, str) else self.namespace
        return f"{space}.{name}" if space else name
