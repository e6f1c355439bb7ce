"""The notation of types in docs/schema-mapping.md, one for the types of Pulsar, Avro, Protobuf and Spark.

Examples: `decimal(10, 2) on bytes`, `[null, long]`, `record<a: long>`, `repeated int64`, `map<string,
bigint>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*([A-Za-z_][\w.-]*|\d+|[\[\]<>(),:])")
_WITH_SPACES = ("interval day to second", "interval year to month")


@dataclass(frozen=True)
class Noted:
    """A type in the notation.

    `words` are its name, with the words before it (`repeated int64`); a union has none. `members` are the
    types in the brackets. `names` are the names of the members, "" for a member without one.
    """

    words: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    members: tuple[Noted, ...] = ()
    names: tuple[str, ...] = ()
    base: Noted | None = None

    @property
    def name(self) -> str:
        return self.words[-1] if self.words else "union"

    @property
    def before(self) -> str:
        return " ".join(self.words[:-1])

    def without_prefix(self) -> Noted:
        return Noted(self.words[-1:], self.numbers, self.members, self.names, self.base)

    def walk(self) -> Iterator[Noted]:
        yield self
        for member in (*self.members, *((self.base,) if self.base else ())):
            yield from member.walk()


def noted(text: str) -> Noted:
    """Raises ValueError for what is no type in this notation."""
    tokens, position = [], 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"expected a type, got {text!r}")
        tokens.append(found[1])
        position = found.end()
    whole = _Tokens(tokens)
    parsed = whole.type()
    if whole.rest:
        raise ValueError(f"expected the end of {text!r}, got {' '.join(whole.rest)}")
    return parsed


class _Tokens:
    def __init__(self, tokens: list[str]) -> None:
        self.rest = tokens

    def type(self) -> Noted:
        if self._next("["):
            members, names = self._members("]")
            return Noted((), members=members, names=names)
        words: list[str] = []
        while self.rest and self.rest[0][0].isalpha() and self.rest[0] != "on":
            words.append(self.rest.pop(0))
        if not words:
            raise ValueError("expected the name of a type")
        if " ".join(words) in _WITH_SPACES:
            words = [" ".join(words)]
        numbers: list[int] = []
        if self._next("("):
            while not self._next(")"):
                numbers.append(int(self.rest.pop(0)))
                self._next(",")
        members, names = self._members(">") if self._next("<") else ((), ())
        base = self.type() if self._next("on") else None
        return Noted(tuple(words), tuple(numbers), members, names, base)

    def _members(self, end: str) -> tuple[tuple[Noted, ...], tuple[str, ...]]:
        members, names = [], []
        while not self._next(end):
            names.append(self.rest.pop(0) if self.rest[1:2] == [":"] else "")
            self._next(":")
            members.append(self.type())
            self._next(",")
        return tuple(members), tuple(names)

    def _next(self, token: str) -> bool:
        if self.rest[:1] == [token]:
            self.rest.pop(0)
            return True
        return False
