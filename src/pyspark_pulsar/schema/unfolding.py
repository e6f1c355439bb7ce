"""The depth to which types become columns, and the fields that no column can contain."""

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
    """A choice of how types that contain themselves become columns.

    Attributes:
        depth: How often a type that contains itself may occur on the path to a field, as in Spark's Avro and Protobuf
            readers. 1 omits each field that repeats a surrounding type.
        wanted: The columns of `.schema(...)`, in Spark's types. They reach deeper if they name members, and may request
            the raw form of a field.

    """

    depth: int = 1
    wanted: pa.Schema | None = None

    def of_side(self, name: str) -> Unfolding:
        """Return the unfolding of a column whose members are a schema of their own."""
        if self.wanted is None:
            return self
        side = member_of(pa.struct(list(self.wanted)), name)
        return replace(
            self, wanted=None if side is None or not types.is_struct(side) else pa.schema(list(side))
        )


UNFOLDED_ONCE: Final = Unfolding()


@dataclass(frozen=True)
class Omission:
    """A field that no column can contain.

    Attributes:
        path: The path of the field.
        why: The reason.
        required: Whether a writer must set the field.
        is_recursion: Whether the reason is a type that contains itself.

    """

    path: str
    why: str
    required: bool = False
    is_recursion: bool = False

    def below(self, prefix: str) -> Omission:
        """Return the omission with the path from a surrounding record or pair."""
        return replace(self, path=f"{prefix}{self.path}")

    def text(self) -> str:
        """Return the field and the reason, for a message."""
        return f"{self.path} ({self.why})"


class NotHeld(Exception):
    """A type that no column can contain. The conversion omits the nearest field around it."""

    def __init__(self, why: str, *, is_recursion: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.is_recursion = is_recursion

    @classmethod
    def contains_itself(cls, name: str) -> NotHeld:
        """Return the exception for a type that occurs inside itself more often than the depth allows."""
        return cls(
            f"{name} contains itself; raise option {DEPTH_OPTION} to read more levels", is_recursion=True
        )

    def at(self, path: str, *, required: bool) -> Omission:
        """Return the omission of a field."""
        return Omission(path, self.why, required, self.is_recursion)


class Omissions(list[Omission]):
    """The omissions of a walk through a definition.

    The list contains all omitted columns, but at most the first thousand omitted members of columns. Types that contain
    each other have more paths than a message can show.
    """

    def note(self, omission: Omission) -> None:
        """Add an omission, within the limit."""
        if len(self) < _MAX_OMISSIONS or "." not in omission.path:
            self.append(omission)

    def repeat(self, omitted: Iterable[Omission], path: str) -> None:
        """Add the omissions of a type that the walk met before, now at `path`."""
        for omission in omitted:
            if len(self) >= _MAX_OMISSIONS:
                break
            self.append(omission.below(path))

    def since(self, start: int, path: str) -> list[Omission]:
        """Return the omissions from index `start` on, with paths relative to `path`."""
        return [replace(omission, path=omission.path.removeprefix(path)) for omission in self[start:]]


def omission_of(name: str, omitted: Iterable[Omission]) -> Omission | None:
    """Return the omission of a column or member, or None if the name was not omitted."""
    return next((omission for omission in omitted if omission.path == name), None)


def member_of(wanted: pa.DataType | None, name: str) -> pa.DataType | None:
    """Return the wanted type of a struct's member, or None if the member is not wanted."""
    if wanted is None or not types.is_struct(wanted) or wanted.get_field_index(name) < 0:
        return None
    return wanted.field(name).type


def item_of(wanted: pa.DataType | None) -> pa.DataType | None:
    """Return the wanted type of a list's items or a map's values, or None if they are not wanted."""
    if wanted is None:
        return None
    if types.is_list(wanted):
        return wanted.value_type
    return wanted.item_type if types.is_map(wanted) else None
