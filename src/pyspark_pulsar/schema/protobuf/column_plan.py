"""A Protobuf plan without the fields that no column holds: messages inside themselves beyond the depth that is shown.

A message that contains itself becomes one message of the plan for each level. Plans without such messages stay as
they are.
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
    """A plan of the fields that columns hold, and the fields that it leaves out."""

    plan: ProtobufPlan
    omitted: tuple[Omission, ...] = ()
    shows_more: bool = False
    """Whether the plan has fields that are left out unless a schema of the user names them."""


def column_plan(plan: ProtobufPlan, unfolding: Unfolding, *, where: str) -> ColumnPlan:
    """Return `plan` without the fields that no column holds. Raises SchemaError if it unfolds to too many messages."""
    affected = _reaching_a_cycle(plan)
    if 0 not in affected:
        return ColumnPlan(plan)
    wanted = None if unfolding.wanted is None else pa.struct(list(unfolding.wanted))
    unfolder = _Unfolder(plan, affected, unfolding.depth, where)
    unfolder.message(0, "", {}, wanted)
    unfolded = replace(plan, messages=tuple(unfolder.messages))
    return ColumnPlan(unfolded, tuple(unfolder.omitted), unfolder.shows_more)


def _reaching_a_cycle(plan: ProtobufPlan) -> set[int]:
    """The messages that contain one that contains itself: what is left when those whose messages all end are gone."""
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
    """The walk that makes the messages; each is added once for what is inside of it."""

    plan: ProtobufPlan
    affected: set[int]
    depth: int
    where: str
    messages: list[PlanMessage] = field(default_factory=list)
    omitted: Omissions = field(default_factory=Omissions)
    shows_more: bool = False
    _known: dict[Any, tuple[int, list[Omission]]] = field(default_factory=dict)

    def message(self, index: int, path: str, around: Mapping[int, int], wanted: pa.DataType | None) -> int:
        """The index of a message with the fields that are held; `around` counts the messages around. Raises `NotHeld`
        for a message that has no other fields; not for the one at the top."""
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
                f"{self.where}, field {path}: expected at most {_MAX_MESSAGES} messages with those in them, got more; "
                f"lower option {DEPTH_OPTION}, or name fewer members in .schema(...)"
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
