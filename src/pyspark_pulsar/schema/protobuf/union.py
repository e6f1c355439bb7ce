"""Unions of Protobuf message types. A union reads the messages of all types without loss, by field number.

The rules are those in https://protobuf.dev/programming-guides/proto3/#updating. Equal field numbers are weak evidence
of related types, because almost every message type has a field 1. Two message types therefore have no union if they use
one number for fields with different names. Message types with the same full name are an exception, because they are
versions of one message type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from pyspark_pulsar.schema.avro.union import IncompatibleTypes, check_related
from pyspark_pulsar.schema.protobuf.plan import PlanEnum, PlanField, PlanMessage, ProtobufPlan

WriterMessages: TypeAlias = Sequence[tuple[int, int]]
"""The message types of the writers at one path.

Each message type is a pair: the index of a plan, and the index of the message type in this plan.
"""

# Pairs of a narrow and a wide type with the same encoding. The wide type contains all values of the narrow type.
_WIDER: Final = (
    ("int32", "int64"),
    ("uint32", "int64"),
    ("uint32", "uint64"),
    ("sint32", "sint64"),
    ("string", "bytes"),
)


def plan_union(plans: Sequence[ProtobufPlan]) -> ProtobufPlan:
    """Return the plan that reads the messages of all plans. At least one plan is required.

    The fields of the first plan are first, in their order. Additional fields of the other plans follow.

    Raises:
        IncompatibleTypes: If no plan reads the messages of all plans.

    """
    roots = [plan.messages[0] for plan in plans]
    # The full name counts as a common field, because two versions of one message type can have no field in common.
    check_related(
        [{*(member.number for member in root.fields), *(root.fields and [root.name])} for root in roots]
    )
    union = _MessageUnion(plans)
    union.message(tuple((index, 0) for index in range(len(plans))), "")
    return ProtobufPlan(tuple(union.messages), tuple(union.enums))


@dataclass
class _MessageUnion:
    """A simultaneous walk through all plans, which builds their union."""

    plans: Sequence[ProtobufPlan]
    messages: list[PlanMessage] = field(default_factory=list)
    enums: list[PlanEnum] = field(default_factory=list)
    # Types can contain themselves, and can refer to each other many times, so the walk visits each combination once.
    met: dict[WriterMessages, int] = field(default_factory=dict)

    def message(self, writers: WriterMessages, path: str) -> int:
        """Return the index of the message type that reads the message types of all writers."""
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
            # If the presence or the defaults differ, the writers disagree about the value of an absent field.
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
            # If several names of an enum have the same number, a read returns the first name.
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
        """Return the index of the oneof of a field, or None if the field is not in the same oneof for all writers.

        A writer without the oneof can set several fields of the oneof. If the reader had the oneof, a read would return
        only one of these fields.
        """
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
    """Return the shape and the default, which determine how an absent field is read.

    A required field counts as optional, because a message that lacks the field has another message type.
    """
    if member.shape in ("optional", "required"):
        return ("optional", member.absent)
    return (member.shape, member.absent)


def _described(member: PlanField) -> str:
    default = "" if member.absent is None else f", {member.absent or 'empty'} when absent"
    return f"{member.shape} {member.kind} {member.name} = {member.number}{default}"
