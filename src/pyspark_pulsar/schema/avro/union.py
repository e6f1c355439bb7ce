"""Unions of Avro records. A union reads the messages of all records, by Avro's schema resolution.

The rules are those in https://avro.apache.org/docs/1.12.0/specification/#schema-resolution. The union has every field
of each record. A field of the union has a type to which the types of all writers resolve. For example, int and long
become long, and two enums become an enum with the symbols of both. If a record lacks a field, the field is read as its
default or as null. As in Avro's Java library, names of records do not matter. Names of enums and fixed types matter,
but their namespaces do not.

Avro resolves some types for which this module has no union, because in a union, values would lose digits or change
their meaning. Examples are a number and a time, an instant and a local time, and decimals that need more than 38 digits
together. The kernel decodes a JSON message without its schema version. In JSON, types whose values have different texts
therefore have no union either. Examples are different time units, different decimal scales, and different branches of
unions.
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
"""The types of the writers at one path, each with the index of the writer's record."""


class IncompatibleTypes(Exception):
    """An exception for two records without a union, with the path of a field and its type in each record.

    Attributes:
        path: The path of the field; empty if the whole records are incompatible.
        first: The index of a record, and a text for its type at the path.
        second: The index of the other record, and a text for its type at the path.

    """

    def __init__(self, path: str, first: tuple[int, str], second: tuple[int, str]) -> None:
        super().__init__(path)
        self.path = path
        self.first = first
        self.second = second


def check_related(fields: Sequence[Collection[object]]) -> None:
    """Raise `IncompatibleTypes` if no chain of shared fields connects all records.

    Without this check, Avro would resolve unrelated records to each other if every field has a default. A table of such
    records would contain only defaults. A record without fields is related to every record.

    Args:
        fields: The names of the fields of each record.

    """
    parts: list[tuple[int, set[object]]] = []
    for index, own in enumerate(fields):
        shared = [part for part in parts if not part[1].isdisjoint(own)]
        first = min((start for start, _ in shared), default=index)
        parts = [part for part in parts if part not in shared]
        if own:
            parts.append((first, set(own).union(*(names for _, names in shared))))
    if len(parts) > 1:
        first, other = sorted(start for start, _ in parts)[:2]
        raise IncompatibleTypes("", (first, "a record"), (other, "a record without a common field"))


def record_union(records: Sequence[RecordType], *, by_name: bool) -> RecordType:
    """Return the record that reads the messages of all records. At least one record is required.

    The fields of the first record are first, in their order. Additional fields of the other records follow. If the
    defaults of a field differ, the union has the first default.

    Args:
        records: The records.
        by_name: Whether the values are JSON, which identifies each field by its name.

    Raises:
        IncompatibleTypes: If no record reads the messages of all records.

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
    """The path of a required field, and the index of a record that lacks the field."""

    path: str
    lacking: int


@dataclass
class _RecordUnion:
    """A simultaneous walk through all records. The walk returns types to which the types of all writers resolve.

    Attributes:
        needed: By the index of a record, a required field of the record that another record lacks.

    """

    by_name: bool
    needed: dict[int, _RequiredField] = field(default_factory=dict)

    def check_readable(self, count: int) -> None:
        """Raise `IncompatibleTypes` if each record requires a field that another record lacks.

        Such records are unrelated, because Avro resolves none of them to another.
        """
        if len(self.needed) < count:
            return
        first = self.needed[0]
        raise IncompatibleTypes(first.path, (0, "required"), (first.lacking, "missing"))

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
            return resolved[0] if len(resolved) == 1 else Union.from_branches(*resolved)
        first = with_null[0]
        null_first = not isinstance(first, Union) or first.branches[0] == NULL
        return nullable(Union.from_branches(*resolved), null_first=null_first) if resolved else NULL

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
        """Return a name with aliases by which a reader accepts both names, or None if Avro allows no common name.

        In JSON, any two names have a common name.
        """
        ones, others = ({name.short, *_shorts(name.aliases)} for name in (one, other))
        if not self.by_name and not ones & others:
            return None
        return TypeName(one.short, tuple(sorted((ones | others) - {one.short})))

    def _general(self, writers: WriterTypes, path: str) -> tuple[Type, ...]:
        """Return the branches of the union of several unions. The branches of the first union are first."""
        first = next(one for one in writers if len(branches(one[1])) > 1)
        others = [one for one in writers if one is not first]
        groups: dict[str, list[tuple[int, Type]]] = {label(branch): [] for branch in branches(first[1])}
        for index, kind in [first, *others]:
            own = branches(kind)
            homes = [self._home(branch, own, groups) for branch in own]
            # The result also has branches that another union lacks, but two unions must share at least one branch.
            shared = not own or any(home in groups for home in homes)
            ambiguous = len(set(homes)) < len(homes)
            if not shared or ambiguous or (self.by_name and kind != first[1]):
                raise IncompatibleTypes(path, (first[0], described(first[1])), (index, described(kind)))
            for home, branch in zip(homes, own, strict=True):
                groups.setdefault(home, []).append((index, branch))
        return tuple(self._plain(group, path) for group in groups.values())

    def _home(self, branch: Type, beside: Sequence[Type], groups: dict[str, list[tuple[int, Type]]]) -> str:
        """Return the label of the group of branches to which a branch belongs.

        A branch belongs to the group with its name or type. If a union has only one record, and only one group has
        records, the record belongs to this group. A primitive outside a union belongs to the first group to which Avro
        promotes the primitive.
        """
        own = label(branch)
        if own in groups:
            return own
        records = [name for name, group in groups.items() if group and isinstance(group[0][1], RecordType)]
        if isinstance(branch, RecordType) and len(records) == 1:
            return records[0] if sum(isinstance(kind, RecordType) for kind in beside) == 1 else own
        if isinstance(branch, Leaf) and len(beside) == 1:
            # Avro reads a value as the first branch of the reader's union to which the value can be promoted.
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
            # In Avro, the default of a field with a union is a value of the first branch.
            kind = nullable(kind, null_first=default == NULL_DEFAULT) if kind != NULL else kind
        elif default is not None and is_nullable(kind):
            kind = nullable(kind, null_first=False)
        return Field(name, kind, default, () if self.by_name else tuple(sorted(aliases)))


def _shorts(names: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[2] for name in names}


def described(kind: Type) -> str:
    """Return a type as text for an error message."""
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
            return f"{kind.label}, which no column can contain"
    return "union of " + ", ".join(described(branch) for branch in kind.branches)


def _base(kind: Leaf | Fixed) -> str:
    return kind.kind if isinstance(kind, Leaf) else f"fixed {kind.name.short} of {kind.size} bytes"
