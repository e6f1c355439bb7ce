"""The record that reads what several Avro records describe: by Avro's schema resolution, and without loss.

https://avro.apache.org/docs/1.12.0/specification/#schema-resolution. The union has every field that one of the records
has, each of a type that all of its writers are resolved to: the wider number, the finer unit, the symbols and branches
of all. A field that some of them lack has its default there, or null. Names of records say nothing, as in Avro's Java
library; names of enums and fixed do, without their namespaces.

What Avro would resolve but not without loss, or only by taking one meaning for another, differs: a bare number and a
time, an instant and a local time, decimals of more than 38 digits. JSON messages do not say by which version they were
written, so for JSON whatever changes the text of a value differs as well: units of time, scales, branches of unions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pyspark_pulsar.schema.avro.aliases import one_name_for_each
from pyspark_pulsar.schema.avro.leaf_union import PROMOTIONS, leaf_union, recoded
from pyspark_pulsar.schema.avro.tree import (
    NULL,
    NULL_DEFAULT,
    Array,
    Enum,
    Field,
    Fixed,
    Leaf,
    Map,
    Omitted,
    RecordType,
    Type,
    TypeName,
    Union,
    branches,
    is_nullable,
    label,
    nullable,
)

WriterTypes: TypeAlias = Sequence[tuple[int, Type]]
"""Types at one place, as its writers have them, each with the index of the record that it is in."""


class IncompatibleTypes(Exception):
    """Two records that no reader reads both of: their indices, the field's path, and what each has there."""

    def __init__(self, path: str, first: tuple[int, str], second: tuple[int, str]) -> None:
        super().__init__(path)
        self.path = path
        self.first = first
        self.second = second


def check_related(fields: Sequence[Collection[object]]) -> None:
    """Raises `IncompatibleTypes` for records that no chain of shared fields connects: where every field has a default,
    Avro would resolve anything to anything, to a table of nothing but defaults. One without fields is at home
    everywhere."""
    parts: list[tuple[int, set[object]]] = []
    for index, own in enumerate(fields):
        shared = [part for part in parts if not part[1].isdisjoint(own)]
        first = min((start for start, _ in shared), default=index)
        parts = [part for part in parts if part not in shared]
        if own:
            parts.append((first, set(own).union(*(names for _, names in shared))))
    if len(parts) > 1:
        first, other = sorted(start for start, _ in parts)[:2]
        raise IncompatibleTypes("", (first, "one with no field of the other"), (other, "one with none of it"))


def record_union(records: Sequence[RecordType], *, by_name: bool) -> RecordType:
    """What reads all of `records`, at least one; fields in the order of the first, then those that others add.

    Where records have different defaults for a field, the first has its way. `by_name` says that values are JSON.
    Raises `IncompatibleTypes`.
    """
    union = _RecordUnion(by_name=by_name)
    names = one_name_for_each(records, aliases_count=not by_name)
    check_related([{names.get(member.name, member.name) for member in record.fields} for record in records])
    record = union.type([*enumerate(records)], "")
    union.check_readable(len(records))
    if not isinstance(record, RecordType):
        raise TypeError(f"expected a record, got {type(record).__name__}")
    return record


@dataclass(frozen=True)
class _RequiredField:
    """A field that has to be there, and a record that lacks it."""

    path: str
    lacking: int


@dataclass
class _RecordUnion:
    """The walk through all records at once, place by place; each method gives the type that reads its writers'."""

    by_name: bool
    # By record: a field of its own that keeps it from reading another record.
    needed: dict[int, _RequiredField] = field(default_factory=dict)

    def check_readable(self, count: int) -> None:
        """Records that all demand what others lack have nothing to do with each other: Avro would resolve none of
        them to another."""
        if len(self.needed) < count:
            return
        first = self.needed[0]
        raise IncompatibleTypes(first.path, (0, "a field without a default"), (first.lacking, "none"))

    def type(self, writers: WriterTypes, path: str) -> Type:
        kinds = [kind for _, kind in writers]
        if all(kind == kinds[0] for kind in kinds[1:]):
            return kinds[0]
        others = [(index, branches(kind)) for index, kind in writers]
        resolved: tuple[Type, ...] = ()
        if any(len(own) > 1 for _, own in others):
            resolved = self._general(writers, path)
        elif any(own for _, own in others):
            resolved = (self._plain([(index, own[0]) for index, own in others if own], path),)
        with_null = [kind for kind in kinds if is_nullable(kind)]
        if not with_null:
            return resolved[0] if len(resolved) == 1 else Union.of(*resolved)
        first = with_null[0]
        null_first = not isinstance(first, Union) or first.branches[0] == NULL
        return nullable(Union.of(*resolved), null_first=null_first) if resolved else NULL

    def _plain(self, writers: WriterTypes, path: str) -> Type:
        index, first = writers[0]
        for other, kind in writers[1:]:
            if type(kind) is not type(first):
                raise IncompatibleTypes(path, (index, described(first)), (other, described(kind)))
        match first:
            case RecordType():
                return self._record([(i, kind) for i, kind in writers if isinstance(kind, RecordType)], path)
            case Array():
                items = [(i, kind.items) for i, kind in writers if isinstance(kind, Array)]
                return Array(self.type(items, f"{path}[]"))
            case Map():
                values = [(i, kind.values) for i, kind in writers if isinstance(kind, Map)]
                return Map(self.type(values, f"{path}{{}}"))
        widest: Type = first
        for other, kind in writers[1:]:
            wider = self._wider(widest, kind)
            if wider is None:
                raise IncompatibleTypes(path, (index, described(first)), (other, described(kind)))
            widest = wider
        return widest

    def _wider(self, one: Type, other: Type) -> Type | None:
        if isinstance(one, Enum) and isinstance(other, Enum):
            name = self._name(one.name, other.name)
            symbols = tuple(dict.fromkeys((*one.symbols, *other.symbols)))
            return Enum(name, symbols, one.default or other.default) if name else None
        if isinstance(one, Fixed) and isinstance(other, Fixed):
            name = self._name(one.name, other.name)
            if name is None or one.size != other.size:
                return None
            return leaf_union(replace(one, name=name), replace(other, name=name), by_name=self.by_name)
        if isinstance(one, Leaf) and isinstance(other, Leaf):
            return leaf_union(one, other, by_name=self.by_name)
        return None

    def _name(self, one: TypeName, other: TypeName) -> TypeName | None:
        """The name by which a reader knows both; None when Avro would refuse it. JSON has no such names."""
        ones, others = ({name.short, *_shorts(name.aliases)} for name in (one, other))
        if not self.by_name and not ones & others:
            return None
        return TypeName(one.short, tuple(sorted((ones | others) - {one.short})))

    def _general(self, writers: WriterTypes, path: str) -> tuple[Type, ...]:
        """Branches of all unions, those of the first one first."""
        first = next(one for one in writers if len(branches(one[1])) > 1)
        others = [one for one in writers if one is not first]
        groups: dict[str, list[tuple[int, Type]]] = {label(branch): [] for branch in branches(first[1])}
        for index, kind in [first, *others]:
            own = branches(kind)
            homes = [self._home(branch, own, groups) for branch in own]
            # Of two unions, a branch of one is read as such even if the other lacks it; but one they must share.
            shared = not own or any(home in groups for home in homes)
            ambiguous = len(set(homes)) < len(homes)
            if not shared or ambiguous or (self.by_name and kind != first[1]):
                raise IncompatibleTypes(path, (first[0], described(first[1])), (index, described(kind)))
            for home, branch in zip(homes, own, strict=True):
                groups.setdefault(home, []).append((index, branch))
        return tuple(self._plain(group, path) for group in groups.values())

    def _home(self, branch: Type, beside: Sequence[Type], groups: dict[str, list[tuple[int, Type]]]) -> str:
        """The label of the branches that `branch` is read with: those of its name or kind; the only record on both
        sides, whatever its name; for a type that is no union, the first that it can be promoted to."""
        own = label(branch)
        if own in groups:
            return own
        records = [name for name, group in groups.items() if group and isinstance(group[0][1], RecordType)]
        if isinstance(branch, RecordType) and len(records) == 1:
            return records[0] if sum(isinstance(kind, RecordType) for kind in beside) == 1 else own
        if isinstance(branch, Leaf) and len(beside) == 1:
            # Readers take the first branch that Avro's promotions allow.
            promoted = next((name for name in groups if name in PROMOTIONS.get(branch.kind, ())), None)
            if (
                promoted
                and groups[promoted]
                and self._wider(groups[promoted][0][1], branch) == Leaf(promoted)
            ):
                return promoted
        return own

    def _record(self, writers: Sequence[tuple[int, RecordType]], path: str) -> RecordType:
        names = one_name_for_each([kind for _, kind in writers], aliases_count=not self.by_name)
        members: dict[str, list[tuple[int, Field]]] = {}
        for index, kind in writers:
            for member in kind.fields:
                members.setdefault(names.get(member.name, member.name), []).append((index, member))
        everyone = [index for index, _ in writers]
        fields = [self._field(name, own, everyone, members, path) for name, own in members.items()]
        return RecordType(writers[0][1].name, tuple(fields))

    def _field(
        self,
        name: str,
        writers: list[tuple[int, Field]],
        everyone: list[int],
        members: Iterable[str],
        path: str,
    ) -> Field:
        place = f"{path}.{name}" if path else name
        kind = self.type([(index, member.type) for index, member in writers], place)
        default = next(
            (recoded(member.default, member.type, kind) for _, member in writers if member.default is not None), None
        )  # fmt: skip
        known_names = {known_name for _, member in writers for known_name in (member.name, *member.aliases)}
        aliases = known_names - {name, *members}
        present = {index for index, _ in writers}
        lacking = next((index for index in everyone if index not in present), None)
        if lacking is not None and default is None:
            if not is_nullable(kind):
                for index in present:
                    self.needed.setdefault(index, _RequiredField(place, lacking))
            default = NULL_DEFAULT
        if default == NULL_DEFAULT or (lacking is not None and self.by_name):
            # A default belongs to the first branch.
            kind = nullable(kind, null_first=default == NULL_DEFAULT) if kind != NULL else kind
        elif default is not None and is_nullable(kind):
            kind = nullable(kind, null_first=False)
        return Field(name, kind, default, () if self.by_name else tuple(sorted(aliases)))


def _shorts(names: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[2] for name in names}


def described(kind: Type) -> str:
    """A type as a message names it."""
    match kind:
        case Leaf() | Fixed() if kind.logical == "decimal":
            return f"decimal({kind.precision}, {kind.scale}) on {_base(kind)}"
        case Leaf() | Fixed():
            return f"{kind.logical} on {_base(kind)}" if kind.logical else _base(kind)
        case Enum():
            return f"enum {kind.name.short}"
        case RecordType():
            return "record"
        case Array():
            return f"array of {described(kind.items)}"
        case Map():
            return f"map of {described(kind.values)}"
        case Omitted():
            return f"{kind.label}, which no column holds"
    return "union of " + ", ".join(described(branch) for branch in kind.branches)


def _base(kind: Leaf | Fixed) -> str:
    return kind.kind if isinstance(kind, Leaf) else f"fixed {kind.name.short} of {kind.size} bytes"
