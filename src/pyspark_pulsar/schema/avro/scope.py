"""The state of a walk through an Avro document: names, namespaces and the size of the unfolded document.

Names follow the Avro specification, section "Names" (https://avro.apache.org/docs/1.11.1/specification/#names).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa

from pyspark_pulsar.errors import SchemaError

# Arrow's C interface transfers at most 64 levels, and a key-value pair adds two levels. The limit on types refuses
# types that refer to each other many times, because the size of the unfolded document grows exponentially.
_MAX_LEVELS: Final = 60
_MAX_TYPES: Final = 20_000

_TOO_LARGE: Final = "read the topic as bytes, or register a smaller schema"


@dataclass(frozen=True)
class NamedType:
    """A type to which other types can refer by its name.

    Attributes:
        kind: The Arrow type.
        types: The number of types in the unfolded type, including the type itself.
        height: The number of levels below the type.

    """

    kind: pa.DataType
    types: int
    height: int


@dataclass
class _DocumentSize:
    """The number of types and levels that a walk has unfolded so far."""

    types: int = 0
    deepest: int = 0


@dataclass(frozen=True)
class Scope:
    """The position of a walk: the path of the field, the enclosing namespace, and the named types so far.

    Attributes:
        where: The origin of the document, for errors.
        level: The number of Arrow types around the field.
        known: The named types so far. All scopes of a document share `known`, because names are global in a document.
        unfinished: The full names of the types around the field. All scopes of a document share `unfinished`.
        size: The size of the unfolded document so far. All scopes of a document share `size`.

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
        """Add a number of types that reach `height` levels below this position.

        Raise SchemaError if the document has too many types or levels.
        """
        self.size.types += types
        self.size.deepest = max(self.size.deepest, self.level + height)
        if self.size.deepest > _MAX_LEVELS:
            raise self.refuse(f"at most {_MAX_LEVELS} types inside each other", "more", _TOO_LARGE)
        if self.size.types > _MAX_TYPES:
            raise self.refuse(f"at most {_MAX_TYPES} types including referenced types", "more", _TOO_LARGE)

    def refuse(self, expected: str, got: str, advice: str) -> SchemaError:
        place = f"{self.where}, field {self.path}" if self.path else self.where
        return SchemaError(f"{place}: expected {expected}, got {got}; {advice}")

    def full_name(self, name: str, namespace: object = None) -> str:
        if "." in name:
            return name
        space = namespace if isinstance(namespace, str) else self.namespace
        return f"{space}.{name}" if space else name
