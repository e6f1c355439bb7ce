"""The Protobuf message that reads what several message types describe, by number and without loss.

https://protobuf.dev/programming-guides/proto3/#updating. Numbers say little between topics that have nothing to do with
each other: almost every message has a field 1. So where two types have another name for a number, they differ, unless
both are versions of one message, of the same full name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from pyspark_pulsar.schema.avro.union import IncompatibleTypes, check_related
from pyspark_pulsar.schema.protobuf.plan import PlanEnum, PlanField, PlanMessage, ProtobufPlan

WriterMessages: TypeAlias = Sequence[tuple[int, int]]
"""Message types at one place, as its writers have them: the index of the plan, and of the type in it."""

# Numbers that lie in bytes alike, from narrow to wide, and hold each other's values.
_WIDER: Final = (
    ("int32", "int64"),
    ("uint32", "int64"),
    ("uint32", "uint64"),
    ("sint32", "sint64"),
    ("string", "bytes"),
)


def plan_union(plans: Sequence[ProtobufPlan]) -> ProtobufPlan:
    """What reads messages of all `plans`, at least one; fields in the order of the first, then those that others add.
    Raises `IncompatibleTypes`."""
    roots = [plan.messages[0] for plan in plans]
    # Of one message, versions may have no field in common.
    check_related(
        [{*(member.number for member in root.fields), *(root.fields and [root.name])} for root in roots]
    )
    union = _MessageUnion(plans)
    union.message(tuple((index, 0) for index in range(len(plans))), "")
    return ProtobufPlan(tuple(union.messages), tuple(union.enums))


@dataclass
class _MessageUnion:
    """The walk through all plans at once, and the plan that it makes."""

    plans: Sequence[ProtobufPlan]
    messages: list[PlanMessage] = field(default_factory=list)
    enums: list[PlanEnum] = field(default_factory=list)
    # Types contain themselves, and each other many times over.
    met: dict[WriterMessages, int] = field(default_factory=dict)

    def message(self, writers: WriterMessages, path: str) -> int:
        """The index of the type that reads all of `writers`."""
        if writers in self.met:
            return self.met[writers]
        index = self.met[writers] = len(self.messages)
        types = [(plan, self.plans[plan].messages[kind]) for plan, kind in writers]
        (first, one), *others = types
        self.messages.append(one)
        for other, kind in others:
            if kind.meaning != one.meaning:
                raise IncompatibleTypes(path, (first, one.name), (other, kind.name))
        numbers: dict[int, list[tuple[int, PlanField]]] = {}
        for plan, kind in types:
            for member in kind.fields:
                numbers.setdefault(member.number, []).append((plan, member))
        self._check_names(types, numbers, path)
        oneofs: list[str] = []
        fields = tuple(self._field(own, types, oneofs, path) for own in numbers.values())
        self.messages[index] = PlanMessage(one.name, fields, tuple(oneofs), one.meaning)
        return index

    def _check_names(
        self,
        types: Sequence[tuple[int, PlanMessage]],
        numbers: dict[int, list[tuple[int, PlanField]]],
        path: str,
    ) -> None:
        named: dict[str, tuple[int, PlanField]] = {}
        messages = {plan: kind.name for plan, kind in types}
        for writers in numbers.values():
            first, one = writers[0]
            for other, member in writers[1:]:
                if member.name != one.name and messages[first] != messages[other]:
                    raise IncompatibleTypes(
                        f"{path}{one.name}", (first, _described(one)), (other, _described(member))
                    )
            other, member = named.setdefault(one.name, writers[0])
            if member.number != one.number:
                raise IncompatibleTypes(
                    f"{path}{one.name}", (other, _described(member)), (first, _described(one))
                )

    def _field(
        self,
        writers: list[tuple[int, PlanField]],
        types: Sequence[tuple[int, PlanMessage]],
        oneofs: list[str],
        path: str,
    ) -> PlanField:
        first, one = writers[0]
        place = f"{path}{one.name}"
        kind = one.kind
        for other, member in writers[1:]:
            wider = _wider(kind, member.kind)
            # An absent field is zero to one and null to the other, or has another default.
            same = _presence(one) == _presence(member)
            if wider is None or not same or (one.type is None) != (member.type is None):
                raise IncompatibleTypes(place, (first, _described(one)), (other, _described(member)))
            kind = wider
        shapes = {member.shape for _, member in writers}
        lacking = len(writers) < len(types)
        shape = one.shape if len(shapes) == 1 and not (lacking and one.shape == "required") else "optional"
        absent = next((member.absent for _, member in writers if member.absent is not None), None)
        return replace(
            one,
            kind=kind,
            shape=shape,
            type=None if one.type is None else self._type(writers, place),
            oneof=self._oneof(writers, types, oneofs),
            absent=absent,
        )

    def _type(self, writers: list[tuple[int, PlanField]], path: str) -> int:
        types = tuple((plan, member.type or 0) for plan, member in writers)
        if writers[0][1].kind != "enum":
            return self.message(types, f"{path}.")
        values: dict[int, tuple[int, str]] = {}
        closed = True
        for plan, index in types:
            known = self.plans[plan].enums[index]
            closed &= known.closed
            # Of the names that share a number, the first is the one that is shown.
            for number, name in {number: name for name, number in reversed(known.values)}.items():
                other, called = values.setdefault(number, (plan, name))
                if called != name:
                    raise IncompatibleTypes(
                        path, (other, f"{called} = {number}"), (plan, f"{name} = {number}")
                    )
        named = sorted((number, name) for number, (_, name) in values.items())
        self.enums.append(PlanEnum(closed, tuple((name, number) for number, name in named)))
        return len(self.enums) - 1

    def _oneof(
        self,
        writers: list[tuple[int, PlanField]],
        types: Sequence[tuple[int, PlanMessage]],
        oneofs: list[str],
    ) -> int | None:
        """A choice that not all know of is none: it would hide what the others set beside each other."""
        owners = dict(types)
        names = {
            None if member.oneof is None else owners[plan].oneofs[member.oneof] for plan, member in writers
        }
        name = names.pop()
        if names or name is None:
            return None
        if name not in oneofs:
            oneofs.append(name)
        return oneofs.index(name)


def _wider(one: str, other: str) -> str | None:
    if one == other:
        return one
    return next((wide for narrow, wide in _WIDER if {one, other} == {narrow, wide}), None) or (
        "int64" if {one, other} == {"int32", "uint32"} else None
    )


def _presence(member: PlanField) -> tuple[str, str | None]:
    """What an absent field means; a required one is never absent where its writers know of it."""
    if member.shape in ("optional", "required"):
        return ("optional", member.absent)
    return (member.shape, member.absent)


def _described(member: PlanField) -> str:
    default = "" if member.absent is None else f", {member.absent or 'empty'} when absent"
    return f"{member.shape} {member.kind} {member.name} = {member.number}{default}"
