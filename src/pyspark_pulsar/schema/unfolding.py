"""How far a schema's types are unfolded into columns, and the fields that no column holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from pyarrow import types

_MAX_OMISSIONS: Final = 1000

DEPTH_OPTION: Final = "recursiveFieldMaxDepth"


@dataclass(frozen=True)
class Unfolding:
    """How a definition becomes columns.

    `depth` is how many times a type that contains itself occurs on the path to a field, as in Spark's Avro and Protobuf
    readers: 1 leaves out every field that repeats a type around it. `wanted` are the columns of `.schema(...)`, in
    Spark's types: they reach deeper where they name members, and may ask for the raw form of a field.
    """

    depth: int = 1
    wanted: pa.Schema | None = None

    def of_side(self, name: str) -> Unfolding:
        """The same for the column `name`, whose members are a schema of their own."""
        if self.wanted is None:
            return self
        side = member_of(pa.struct(list(self.wanted)), name)
        return replace(
            self, wanted=None if side is None or not types.is_struct(side) else pa.schema(list(side))
        )


UNFOLDED_ONCE: Final = Unfolding()


@dataclass(frozen=True)
class Omission:
    """A field that no column holds: its path, why, and whether a writer must give it a value."""

    path: str
    why: str
    required: bool = False
    is_recursion: bool = False

    def below(self, prefix: str) -> Omission:
        """The same field, seen from the record or pair around."""
        return replace(self, path=f"{prefix}{self.path}")

    def text(self) -> str:
        """The field and the reason, for a message."""
        return f"{self.path} ({self.why})"


class NotHeld(Exception):
    """A type that no column holds; the nearest field around it is left out."""

    def __init__(self, why: str, *, is_recursion: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.is_recursion = is_recursion

    @classmethod
    def contains_itself(cls, name: str) -> NotHeld:
        """Of a type that is met inside itself once more than the depth allows."""
        return cls(f"{name} contains itself; option {DEPTH_OPTION} shows more of it", is_recursion=True)

    def at(self, path: str, *, required: bool) -> Omission:
        """The field that is left out."""
        return Omission(path, self.why, required, self.is_recursion)


class Omissions(list[Omission]):
    """The omissions of a walk. Of what lies below columns it has the first thousand: types that contain each other
    have more places than anybody reads."""

    def note(self, omission: Omission) -> None:
        """Add one."""
        if len(self) < _MAX_OMISSIONS or "." not in omission.path:
            self.append(omission)

    def repeat(self, omitted: Iterable[Omission], path: str) -> None:
        """Add those of a type that was met before, now at `path`."""
        for omission in omitted:
            if len(self) >= _MAX_OMISSIONS:
                break
            self.append(omission.below(path))

    def since(self, start: int, path: str) -> list[Omission]:
        """Those from the number `start` on, as seen from `path`."""
        return [replace(omission, path=omission.path.removeprefix(path)) for omission in self[start:]]


def omission_of(name: str, omitted: Iterable[Omission]) -> Omission | None:
    """Why the column or member `name` is not there; None where nothing says so."""
    return next((omission for omission in omitted if omission.path == name), None)


def member_of(wanted: pa.DataType | None, name: str) -> pa.DataType | None:
    """The type of a struct's member; None where nothing is wanted of it."""
    if wanted is None or not types.is_struct(wanted) or wanted.get_field_index(name) < 0:
        return None
    return wanted.field(name).type


def item_of(wanted: pa.DataType | None) -> pa.DataType | None:
    """The type of a list's items or a map's values; None where nothing is wanted of them."""
    if wanted is None:
        return None
    if types.is_list(wanted):
        return wanted.value_type
    return wanted.item_type if types.is_map(wanted) else None
