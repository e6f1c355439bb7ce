"""Draws Protobuf files, and what the next version of a file changes."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from soak.evolution.protobuf_model import MAP, ONE, OPTIONAL, REPEATED, SCALARS, Field, File

_LABELS = [ONE] * 5 + [OPTIONAL, OPTIONAL, REPEATED, MAP]
_ALIKE = [
    ["int32", "int64", "uint32", "uint64", "bool"],
    ["sint32", "sint64"],
    ["string", "bytes"],
    ["fixed32", "sfixed32"],
    ["fixed64", "sfixed64"],
]
"""Types whose bytes each other's fields can hold."""


@dataclass
class ProtobufChanges:
    """Changes files in place. Each change returns what it did in words, or None where it could do nothing."""

    rng: random.Random
    given: int = 0
    removed: dict[str, list[Field]] = field(default_factory=dict)
    """The fields that messages no longer have."""

    def first(self) -> File:
        """A file of some messages, each of which refers to later ones only."""
        rng = self.rng
        file = File(rng.choice(["proto2", "proto3", "proto3"]))
        file.enums["E"] = [("ZERO", 0), ("ONE", 1), ("MINUS", -3), ("FAR", 1000)][: rng.randrange(2, 5)]
        count = rng.randrange(1, 4)
        file.messages = {f"M{index}": [] for index in range(count)}
        for name in file.messages:
            for _ in range(rng.randrange(1, 5) if name == "M0" else rng.randrange(3)):
                file.messages[name].append(self._field(file, name))
        return file

    def next_version(self, file: File) -> tuple[File, tuple[str, ...]]:
        """The next version of a file, and what was changed."""
        later, words = copy.deepcopy(file), []
        wanted = self.rng.choice([1, 1, 1, 2, 3])
        while len(words) < wanted:
            name = "M0" if self.rng.random() < 0.6 else self.rng.choice(list(later.messages))
            done = self.rng.choice(_CHANGES)(self, later, name)
            if done is not None:
                words.append(done if name == "M0" else f"{name}: {done}")
        return later, tuple(words)

    def _field(self, file: File, message: str) -> Field:
        self.given += 1
        taken = {each.number for each in file.messages[message]}
        number = self.rng.choice([n for n in range(1, 12) if n not in taken])
        return self._with_kind(file, message, Field(f"f{self.given}", number, ""))

    def _with_kind(self, file: File, message: str, each: Field) -> Field:
        rng = self.rng
        later = [name for name in file.messages if name > message]
        kind = rng.choice(SCALARS)
        if rng.random() < 0.35:
            kind = rng.choice([*later, "E"])
        label = rng.choice(_LABELS)
        oneof = rng.choice(["choice", None]) if label == ONE and rng.random() < 0.4 else None
        default = rng.choice([None, "7", "8"]) if file.syntax == "proto2" else None
        return replace(each, kind=kind, label=label, oneof=oneof, default=default)

    def _one(self, file: File, message: str) -> Field | None:
        fields = file.messages[message]
        return self.rng.choice(fields) if fields else None

    def add(self, file: File, message: str) -> str | None:
        """A new field, or a former name under another number, or a former number under another name."""
        if len(file.messages[message]) > 8:
            return None
        added = self._field(file, message)
        gone = self.removed.get(message, [])
        fields = file.messages[message]
        if gone and self.rng.random() < 0.6:
            former = self.rng.choice(gone)
            if self.rng.random() < 0.5 and all(each.name != former.name for each in fields):
                added.name = former.name
            elif all(each.number != former.number for each in fields):
                added.number = former.number
        fields.append(added)
        return f"adds {added}"

    def remove(self, file: File, message: str) -> str | None:
        gone = self._one(file, message)
        if gone is None:
            return None
        file.messages[message].remove(gone)
        self.removed.setdefault(message, []).append(gone)
        return f"removes {gone}"

    def bring_back(self, file: File, message: str) -> str | None:
        fields = file.messages[message]
        taken = {each.name for each in fields} | {each.number for each in fields}
        gone = [each for each in self.removed.get(message, []) if not {each.name, each.number} & taken]
        if not gone:
            return None
        back = copy.deepcopy(self.rng.choice(gone))
        fields.append(back)
        return f"brings back {back}"

    def rename(self, file: File, message: str) -> str | None:
        renamed = self._one(file, message)
        if renamed is None:
            return None
        self.given += 1
        former, renamed.name = renamed.name, f"f{self.given}"
        return f"renames {former} to {renamed.name}"

    def renumber(self, file: File, message: str) -> str | None:
        moved = self._one(file, message)
        if moved is None:
            return None
        taken = {each.number for each in file.messages[message]}
        moved.number = self.rng.choice([n for n in range(1, 12) if n not in taken])
        return f"moves {moved.name} to number {moved.number}"

    def swap(self, file: File, message: str) -> str | None:
        """Two fields have each other's names, which is the same as each other's numbers and types."""
        fields = file.messages[message]
        if len(fields) < 2:
            return None
        one, other = self.rng.sample(fields, 2)
        if self.rng.random() < 0.5:
            one.name, other.name = other.name, one.name
            return f"swaps the names {one.name} and {other.name}"
        one.number, other.number = other.number, one.number
        return f"swaps the numbers of {one.name} and {other.name}"

    def change_kind(self, file: File, message: str) -> str | None:
        changed = self._one(file, message)
        if changed is None:
            return None
        former = str(changed)
        alike = [kind for group in _ALIKE if changed.kind in group for kind in group]
        if alike and self.rng.random() < 0.5:
            changed.kind = self.rng.choice(alike)
        else:
            changed.kind = self._with_kind(file, message, changed).kind
        return f"changes {former} to {changed}" if str(changed) != former else None

    def change_label(self, file: File, message: str) -> str | None:
        changed = self._one(file, message)
        if changed is None:
            return None
        former = str(changed)
        changed.label = self.rng.choice(_LABELS)
        changed.oneof = self.rng.choice(["choice", "other", None]) if changed.label == ONE else None
        return f"changes {former} to {changed}" if str(changed) != former else None

    def change_default(self, file: File, message: str) -> str | None:
        changed = self._one(file, message)
        if changed is None or not file.has_default(changed):
            return None
        changed.default = self.rng.choice([None, "7", "8", "9"])
        return f"changes the default of {changed.name} to {changed.default}"

    def change_enum(self, file: File, message: str) -> str | None:
        values = file.enums["E"]
        if not any(each.kind == "E" for _, each in file.fields()):
            return None
        self.given += 1
        place = self.rng.randrange(1, len(values)) if len(values) > 1 else None
        match self.rng.choice(["add", "remove", "rename", "rename", "renumber"]):
            case "add":
                values.append((f"V{self.given}", self.rng.choice([5, 1, -3, 1000, 6])))
                values[:] = list({number: (text, number) for text, number in reversed(values)}.values())[::-1]
            case "remove" if place:
                del values[place]
            case "rename":
                place = place or 0
                values[place] = (f"V{self.given}", values[place][1])
            case "renumber" if place:
                unused = [n for n in (2, 3, 5, -3, 1000) if n not in [number for _, number in values]]
                values[place] = (values[place][0], self.rng.choice(unused))
            case _:
                return None
        return f"makes E {{{', '.join(f'{text}={number}' for text, number in values)}}}"

    def change_syntax(self, file: File, message: str) -> str | None:
        if self.rng.random() < 0.6:
            return None
        file.syntax = "proto3" if file.syntax == "proto2" else "proto2"
        return f"changes the syntax to {file.syntax}"


_CHANGES: list[Callable[[ProtobufChanges, File, str], str | None]] = [
    ProtobufChanges.add, ProtobufChanges.add, ProtobufChanges.add, ProtobufChanges.remove,
    ProtobufChanges.remove, ProtobufChanges.bring_back, ProtobufChanges.rename, ProtobufChanges.rename,
    ProtobufChanges.renumber, ProtobufChanges.swap, ProtobufChanges.change_kind, ProtobufChanges.change_kind,
    ProtobufChanges.change_label, ProtobufChanges.change_default, ProtobufChanges.change_enum,
    ProtobufChanges.change_enum, ProtobufChanges.change_syntax,
]  # fmt: skip
