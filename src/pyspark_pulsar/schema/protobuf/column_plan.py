"""Removal of Protobuf fields that no column can contain.

Such a field is a message that contains itself more often than `Unfolding.depth`.

A message type that contains itself becomes a separate message type of the plan for each level. A plan without a message
type that contains itself is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.protobuf.plan import PlanField, PlanMessage, ProtobufPlan
from pyspark_pulsar.schema.unfolding import (
    DEPTH_OPTION,
    NotHeld,
    Omission,
    Omissions,
    Unfolding,
    item_of,
    member_of,
)

_MAX_MESSAGES: Final = 20_000


@dataclass(frozen=True)
class ColumnPlan:
    """A plan of the fields that columns can contain, and a list of the omitted fields.

    Attributes:
        shows_more: Whether the plan has fields that columns contain only because of `.schema(...)` or option
            `recursiveFieldMaxDepth`. Tables lack these fields.

    """

    plan: ProtobufPlan
    omitted: tuple[Omission, ...] = ()
    shows_more: bool = False


def column_plan(plan: ProtobufPlan, unfolding: Unfolding, *, where: str) -> ColumnPlan:
    """Return a plan without the fields that no column can contain.

    Raises:
        SchemaError: If the new plan has more than 20,000 messages.

    """
    affected = _reaching_a_cycle(plan)
    if 0 not in affected:
        return ColumnPlan(plan)
    wanted = None if unfolding.wanted is None else pa.struct(list(unfolding.wanted))
    unfolder = _Unfolder(plan, affected, unfolding.depth, where)
    unfolder.message(0, "", {}, wanted)
    unfolded = replace(plan, messages=tuple(unfolder.messages))
    return ColumnPlan(unfolded, tuple(unfolder.omitted), unfolder.shows_more)


def _reaching_a_cycle(plan: ProtobufPlan) -> set[int]:
    """Return the indices of messages in which a message that contains itself occurs at any depth.

    The algorithm repeatedly removes each message whose nested messages are all removed, and returns the other messages.
    """
    inner = {index: set(_inner(message)) for index, message in enumerate(plan.messages)}
    around: dict[int, set[int]] = {}
    for index, others in inner.items():
        for other in others:
            around.setdefault(other, set()).add(index)
    ending = [index for index, others in inner.items() if not others]
    while ending:
        index = ending.pop()
        del inner[index]
        for other in around.get(index, ()):
            inner[other].discard(index)
            if not inner[other]:
                ending.append(other)
    return set(inner)


def _inner(message: PlanMessage) -> list[int]:
    if message.meaning is not None:
        return []
    return [one.type for one in message.fields if one.type is not None and one.kind in ("message", "group")]


@dataclass
class _Unfolder:
    """A walk that builds the messages of the new plan. The new plan contains equal messages only once."""

    plan: ProtobufPlan
    affected: set[int]
    depth: int
    where: str
    messages: list[PlanMessage] = field(default_factory=list)
    omitted: Omissions = field(default_factory=Omissions)
    shows_more: bool = False
    _known: dict[Any, tuple[int, list[Omission]]] = field(default_factory=dict)

    def message(self, index: int, path: str, around: Mapping[int, int], wanted: pa.DataType | None) -> int:
        """Add a message with the fields that columns can contain, and return its index.

        Args:
            index: The index of the message in the original plan.
            path: The path of the field; empty at the top.
            around: The index of each message on the path to the field, with its number of occurrences on the path.
            wanted: The type that the query requests for the field; None without a request.

        Raises:
            NotHeld: If the message occurs too often on the path, or if no column can contain any of its fields. The
                message at the top never raises this exception.

        """
        if index not in self.affected:
            around = {}
        elif 0 < self.depth <= around.get(index, 0) and not (wanted is not None and types.is_struct(wanted)):
            raise NotHeld.contains_itself(self.plan.messages[index].name)
        self.shows_more |= index in around
        key = (index, tuple(sorted(around.items())))
        if wanted is None and key in self._known:
            made, omitted = self._known[key]
            self.omitted.repeat(omitted, path)
            return made
        made, start = len(self.messages), len(self.omitted)
        if made >= _MAX_MESSAGES:
            raise SchemaError(
                f"{self.where}, field {path}: expected at most {_MAX_MESSAGES} messages including nested ones, got "
                f"more; lower option {DEPTH_OPTION}, or name fewer members in .schema(...)"
            )
        message = self.plan.messages[index]
        self.messages.append(message)
        if index in self.affected:
            around = {**around, index: around.get(index, 0) + 1}
        fields, why = self._fields(message, path, around, wanted)
        if why is not None and not fields and path:
            del self.omitted[start:], self.messages[made:]
            raise why
        self.messages[made] = replace(message, fields=tuple(fields))
        if wanted is None:
            below = self.omitted.since(start, path)
            self._known[key] = made, below
        return made

    def _fields(
        self, message: PlanMessage, path: str, around: Mapping[int, int], wanted: pa.DataType | None
    ) -> tuple[list[PlanField], NotHeld | None]:
        fields: list[PlanField] = []
        why: NotHeld | None = None
        for member in message.fields:
            below = f"{path}.{member.name}" if path else member.name
            try:
                fields.append(self._field(member, below, around, member_of(wanted, member.name)))
            except NotHeld as fault:
                why = why or fault
                self.omitted.note(fault.at(below, required=member.shape == "required"))
        return fields, why

    def _field(
        self, member: PlanField, path: str, around: Mapping[int, int], wanted: pa.DataType | None
    ) -> PlanField:
        if member.type is None or member.kind not in ("message", "group"):
            return member
        if member.shape == "map":
            return self._map(member, member.type, path, around, item_of(wanted))
        item = item_of(wanted) if member.shape == "repeated" else wanted
        try:
            return replace(member, type=self.message(member.type, path, around, item))
        except NotHeld:
            if item is None or not types.is_binary(item) or member.kind == "group":
                raise
            self.shows_more = True
            return replace(member, type=None)

    def _map(
        self,
        member: PlanField,
        entry: int,
        path: str,
        around: Mapping[int, int],
        wanted: pa.DataType | None,
    ) -> PlanField:
        message = self.plan.messages[entry]
        key, value = message.fields
        made = self._field(value, f"{path}{{}}", around, wanted)
        self.messages.append(replace(message, fields=(key, made)))
        return replace(member, type=len(self.messages) - 1)
