"""Settings for types that contain themselves, and descriptions of the fields that no column can contain."""

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
    """The settings that determine how types that contain themselves become columns.

    Attributes:
        depth: How often a type that contains itself can occur on the path to a field, as in Spark's Avro and Protobuf
            readers. With a depth of 1, the columns lack each field that repeats a surrounding type.
        wanted: The columns of `.schema(...)` in Spark's types, or None. If these columns name a member, the member is
            read even beyond `depth`. A column of type string or binary can request a field in its raw form.

    """

    depth: int = 1
    wanted: pa.Schema | None = None

    def of_side(self, name: str) -> Unfolding:
        """Return the unfolding for the key schema or the value schema of a pair. `name` is `key` or `value`."""
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
        why: The reason why no column can contain the field, for errors.
        required: Whether a writer must set the field.
        is_recursion: Whether the reason is a type that contains itself.

    """

    path: str
    why: str
    required: bool = False
    is_recursion: bool = False

    def below(self, prefix: str) -> Omission:
        """Return the omission with `prefix` before its path. `prefix` is the path of a surrounding record or pair."""
        return replace(self, path=f"{prefix}{self.path}")

    def text(self) -> str:
        """Return the path of the field and the reason, for an error text."""
        return f"{self.path} ({self.why})"


class NotHeld(Exception):
    """An exception for a type that no column can contain. The conversion omits the nearest field around the type."""

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
        """Return the omission of the field at `path`, for the reason of this exception."""
        return Omission(path, self.why, required, self.is_recursion)


class Omissions(list[Omission]):
    """The fields that a walk through a schema definition omits.

    The list contains every omitted column. After 1000 omissions, the list accepts no omitted members of columns,
    because types that contain each other can have millions of paths.
    """

    def note(self, omission: Omission) -> None:
        """Add an omission, unless the list is full and the omitted field is a member of a column."""
        if len(self) < _MAX_OMISSIONS or "." not in omission.path:
            self.append(omission)

    def repeat(self, omitted: Iterable[Omission], path: str) -> None:
        """Add the omissions of a type that the walk converted before, with `path` before their own paths."""
        for omission in omitted:
            if len(self) >= _MAX_OMISSIONS:
                break
            self.append(omission.below(path))

    def since(self, start: int, path: str) -> list[Omission]:
        """Return the omissions from index `start` on, with paths relative to `path`."""
        return [replace(omission, path=omission.path.removeprefix(path)) for omission in self[start:]]


def omission_of(name: str, omitted: Iterable[Omission]) -> Omission | None:
    """Return the omission whose path is `name`, or None if no omitted field has this path."""
    return next((omission for omission in omitted if omission.path == name), None)


def member_of(wanted: pa.DataType | None, name: str) -> pa.DataType | None:
    """Return the type that the query requests for a struct's member, or None if the query does not name the member."""
    if wanted is None or not types.is_struct(wanted) or wanted.get_field_index(name) < 0:
        return None
    return wanted.field(name).type


def item_of(wanted: pa.DataType | None) -> pa.DataType | None:
    """Return the type that the query requests for a list's items or a map's values, or None without a request."""
    if wanted is None:
        return None
    if types.is_list(wanted):
        return wanted.value_type
    return wanted.item_type if types.is_map(wanted) else None
