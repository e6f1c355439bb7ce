"""Draws what the next version of an Avro record changes."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from soak.evolution.avro_types import (
    NULL,
    PROMOTIONS,
    SCALARS,
    SYMBOLS,
    Names,
    draw_default,
    draw_field,
    draw_type,
)

Change = Callable[["Changes", dict[str, Any]], str | None]
_ODD_NAMES = ["_corrupt_record", "publishTime_day", "ts_day", "value", "key"]


@dataclass
class Changes:
    """Changes records in place. Each change returns what it did in words, or None where it could do nothing."""

    rng: random.Random
    names: Names
    removed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The fields that records no longer have, by the record's name."""

    def next_version(self, document: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The next version of a document, and what was changed."""
        later, words = copy.deepcopy(document), []
        wanted = self.rng.choice([1, 1, 1, 2, 3])
        while len(words) < wanted:
            found = list(records_in(later))
            path, record = found[0] if self.rng.random() < 0.5 else self.rng.choice(found)
            done = self.rng.choice(_CHANGES)(self, record)
            if done is not None:
                words.append(f"{path}: {done}" if path else done)
        return later, tuple(words)

    def _field(self, record: dict[str, Any]) -> dict[str, Any] | None:
        return self.rng.choice(record["fields"]) if record["fields"] else None

    def _insert(self, record: dict[str, Any], added: dict[str, Any]) -> None:
        record["fields"].insert(self.rng.randrange(len(record["fields"]) + 1), added)

    def add(self, record: dict[str, Any]) -> str:
        added = draw_field(self.rng, self.names, 1, has_default=self.rng.random() < 0.9)
        names = {each["name"] for each in record["fields"]}
        if self.rng.random() < 0.06:
            odd = self.rng.choice([*_ODD_NAMES, *(name.upper() for name in names)])
            added["name"] = odd if odd not in names else added["name"]
        self._insert(record, added)
        return f"adds {_shown(added)}"

    def remove(self, record: dict[str, Any]) -> str | None:
        gone = self._field(record)
        if gone is None or (len(record["fields"]) == 1 and self.rng.random() < 0.5):
            return None
        record["fields"].remove(gone)
        self.removed.setdefault(record["name"], []).append(gone)
        return f"removes {gone['name']}"

    def bring_back(self, record: dict[str, Any]) -> str | None:
        """A field that was removed comes back: the same, or its name with another type."""
        names = {each["name"] for each in record["fields"]}
        gone = [each for each in self.removed.get(record["name"], []) if each["name"] not in names]
        if not gone:
            return None
        back = copy.deepcopy(self.rng.choice(gone))
        if self.rng.random() < 0.3:
            back["type"] = draw_type(self.rng, self.names, 1)
            back.pop("default", None)
        if self.rng.random() < 0.8 or "default" in back:
            back["default"] = draw_default(self.rng, back["type"])
        self._insert(record, back)
        return f"brings back {_shown(back)}"

    def change_default(self, record: dict[str, Any]) -> str | None:
        changed = self._field(record)
        if changed is None:
            return None
        if "default" in changed and self.rng.random() < 0.3:
            del changed["default"]
            return f"removes the default of {changed['name']}"
        changed["default"] = draw_default(self.rng, changed["type"])
        return f"makes {changed['default']!r} the default of {changed['name']}"

    def rename(self, record: dict[str, Any]) -> str | None:
        """One field, or two that swap their names, or a chain."""
        if not record["fields"]:
            return None
        count = min(len(record["fields"]), self.rng.choice([1, 1, 2, 3]))
        renamed = self.rng.sample(record["fields"], count)
        former = [each["name"] for each in renamed]
        names = [*former[1:], former[0]]
        if count == 1 or self.rng.random() < 0.5:
            names[-1] = self.names.new("f")
        is_aliased = self.rng.random() < 0.9
        for each, name in zip(renamed, names, strict=True):
            if is_aliased:
                earlier = each.get("aliases", []) if self.rng.random() < 0.5 else []
                each["aliases"] = [each["name"], *(alias for alias in earlier if alias != name)]
            each["name"] = name
        words = ", ".join(f"{old} to {new}" for old, new in zip(former, names, strict=True))
        return f"renames {words}, {'with' if is_aliased else 'without'} aliases"

    def change_type(self, record: dict[str, Any]) -> str | None:
        changed = self._field(record)
        if changed is None:
            return None
        former = changed["type"]
        changed["type"] = self._changed(copy.deepcopy(former))
        if changed["type"] == former:
            return None
        if "default" in changed:
            changed["default"] = draw_default(self.rng, changed["type"])
        return f"changes {changed['name']} from {type_words(former)} to {type_words(changed['type'])}"

    def reorder(self, record: dict[str, Any]) -> str | None:
        if len(record["fields"]) < 2:
            return None
        self.rng.shuffle(record["fields"])
        return f"orders fields as {', '.join(each['name'] for each in record['fields'])}"

    def _changed(self, kind: Any) -> Any:
        rng = self.rng
        if isinstance(kind, list):
            return self._changed_union(kind)
        if rng.random() < 0.15:
            return [NULL, kind]
        if rng.random() < 0.12:
            return draw_type(rng, self.names, 1)
        name = kind if isinstance(kind, str) else kind["type"]
        return self._changed_scalar(kind, name) if name in SCALARS else self._changed_named(kind)

    def _changed_scalar(self, kind: Any, name: str) -> Any:
        rng = self.rng
        if rng.random() < 0.2:
            return rng.sample([kind, *rng.sample([each for each in SCALARS if each != name], 1)], 2)
        return rng.choice(PROMOTIONS.get(name, SCALARS) if rng.random() < 0.6 else SCALARS)

    def _changed_named(self, kind: dict[str, Any]) -> Any:
        rng = self.rng
        match kind["type"]:
            case "enum":
                return self._changed_enum(kind)
            case "array":
                kind["items"] = self._changed(kind["items"])
            case "map":
                kind["values"] = self._changed(kind["values"])
            case "fixed":
                kind["size"] += rng.choice([0, 1])
                return kind if rng.random() < 0.5 else rng.choice(["bytes", "string"])
            case "record":
                return kind if rng.random() < 0.5 else [NULL, kind]
        return kind

    def _changed_union(self, kind: list[Any]) -> Any:
        rng, names = self.rng, {_branch(branch) for branch in kind}
        match rng.choice(["widen", "widen", "narrow", "reorder", "inner", "inner"]):
            case "widen":
                more = rng.choice([*SCALARS, NULL])
                return kind if more in names else rng.sample([*kind, more], len(kind) + 1)
            case "narrow":
                return rng.choice([branch for branch in kind if branch != NULL] or kind)
            case "reorder":
                return rng.sample(kind, len(kind))
        place = rng.randrange(len(kind))
        changed = self._changed(kind[place]) if kind[place] != NULL else NULL
        if isinstance(changed, list) or _branch(changed) in names:
            return kind
        return [*kind[:place], changed, *kind[place + 1 :]]

    def _changed_enum(self, kind: dict[str, Any]) -> dict[str, Any] | str:
        rng = self.rng
        match rng.choice(["add", "remove", "rename", "order", "default", "string"]):
            case "add":
                kind["symbols"] += [each for each in SYMBOLS if each not in kind["symbols"]][:1]
            case "remove":
                kind["symbols"] = rng.sample(kind["symbols"], max(1, len(kind["symbols"]) - 1))
            case "rename":
                others = [each for each in SYMBOLS if each not in kind["symbols"]]
                kind["symbols"][rng.randrange(len(kind["symbols"]))] = rng.choice(others)
            case "order":
                rng.shuffle(kind["symbols"])
            case "default":
                kind["default"] = rng.choice(kind["symbols"])
            case "string":
                return "string"
        if kind.get("default") not in kind["symbols"]:
            kind.pop("default", None)
        return kind


_CHANGES: list[Change] = [
    Changes.add, Changes.add, Changes.remove, Changes.remove, Changes.bring_back, Changes.bring_back,
    Changes.change_default, Changes.rename, Changes.rename, Changes.change_type, Changes.change_type,
    Changes.change_type, Changes.reorder,
]  # fmt: skip


def records_in(kind: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a type with their paths, the outermost first."""
    if isinstance(kind, list):
        for branch in kind:
            yield from records_in(branch, path)
    elif isinstance(kind, dict):
        if kind["type"] == "record":
            yield path, kind
            for each in kind["fields"]:
                yield from records_in(each["type"], f"{path}.{each['name']}".lstrip("."))
        for inner in ("items", "values"):
            if inner in kind:
                yield from records_in(kind[inner], f"{path}.{inner}")


def with_valid_defaults(rng: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """A document whose defaults fit the types that the changes left, inside records too."""
    for _, record in reversed(list(records_in(document))):
        for each in record["fields"]:
            if isinstance(each.get("default"), dict):
                each["default"] = draw_default(rng, each["type"])
    return document


def _branch(kind: Any) -> str:
    return kind if isinstance(kind, str) else kind.get("name", kind["type"])


def type_words(kind: Any) -> str:
    if isinstance(kind, list):
        return f"[{', '.join(map(type_words, kind))}]"
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "record":
            return f"{kind['name']}{{{', '.join(map(_shown, kind['fields']))}}}"
        case "enum":
            default = f" default {kind['default']}" if "default" in kind else ""
            return f"enum({','.join(kind['symbols'])}{default})"
        case "array" | "map":
            return f"{kind['type']}<{type_words(kind.get('items', kind.get('values')))}>"
        case "fixed":
            return f"fixed({kind['size']})"
    return str(kind["logicalType"])


def _shown(each: dict[str, Any]) -> str:
    default = f" = {each['default']!r}" if "default" in each else ""
    aliases = f" aliases {','.join(each['aliases'])}" if "aliases" in each else ""
    return f"{each['name']}: {type_words(each['type'])}{default}{aliases}"
