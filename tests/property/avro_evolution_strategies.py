"""Generated Avro schemas, values of them, and what a later version may make of them."""

import copy
from typing import Any

from hypothesis import strategies as st
from property.arrow_strategies import TEXT

PROMOTIONS = {
    "int": ["long", "float", "double"],
    "long": ["float", "double"],
    "float": ["double"],
    "string": ["bytes"],
    "bytes": ["string"],
}
SYMBOLS = ["A", "B", "C", "D"]
# Whole numbers that a 32-bit float holds, so that every promotion is exact.
_SMALL = st.integers(-(2**23), 2**23)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": _SMALL,
    "long": _SMALL,
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": TEXT,
    "bytes": TEXT.map(str.encode),
}
_DEFAULTS: dict[str, st.SearchStrategy[Any]] = {
    **_VALUES,
    "float": _SMALL.map(float),
    "double": _SMALL.map(float),
}
del _DEFAULTS["bytes"]  # fastavro hands them out as text


@st.composite
def types(draw: st.DrawFn, depth: int = 2) -> Any:
    """A type; those with names get one of their own by `named`."""
    kinds = ["atom", "atom", "enum", "fixed", *(["array", "map", "record", "null"] if depth else [])]
    match draw(st.sampled_from(kinds)):
        case "enum":
            count = draw(st.integers(1, len(SYMBOLS)))
            return {"type": "enum", "symbols": draw(st.permutations(SYMBOLS))[:count]}
        case "fixed":
            return {"type": "fixed", "size": draw(st.integers(1, 3))}
        case "array":
            return {"type": "array", "items": draw(types(depth - 1))}
        case "map":
            return {"type": "map", "values": draw(types(depth - 1))}
        case "record":
            return draw(records(depth - 1))
        case "null":
            inner = draw(types(depth - 1).filter(lambda kind: not isinstance(kind, list)))
            return draw(st.permutations(["null", inner]))
    return draw(st.sampled_from(sorted(_VALUES)))


@st.composite
def records(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """A record with at least one field."""
    kinds = draw(st.lists(types(depth), min_size=1, max_size=4))
    return {"type": "record", "fields": [{"name": f"f{i}", "type": kind} for i, kind in enumerate(kinds)]}


def named(kind: Any, path: str = "T") -> Any:
    """The same type, each type with a name named after its place, which a later version keeps."""
    if isinstance(kind, list):
        return [named(branch, path) for branch in kind]
    if isinstance(kind, dict):
        if kind["type"] in ("record", "enum", "fixed"):
            kind.setdefault("name", path)
        for step in ("items", "values"):
            if step in kind:
                kind[step] = named(kind[step], f"{path}_{step}")
        for field in kind.get("fields", ()):
            field["type"] = named(field["type"], f"{path}_{field['name']}")
    return kind


@st.composite
def values(draw: st.DrawFn, kind: Any) -> Any:
    """Draw a value of the type, as fastavro accepts it."""
    if isinstance(kind, str):
        return draw(_VALUES[kind])
    if isinstance(kind, list):
        branch = draw(st.sampled_from(kind))
        return None if branch == "null" else draw(values(branch))
    match kind["type"]:
        case "enum":
            return draw(st.sampled_from(kind["symbols"]))
        case "fixed":
            return draw(st.binary(min_size=kind["size"], max_size=kind["size"]))
        case "array":
            return draw(st.lists(values(kind["items"]), max_size=3))
        case "map":
            return draw(st.dictionaries(TEXT, values(kind["values"]), max_size=3))
    return {field["name"]: draw(values(field["type"])) for field in kind["fields"]}


@st.composite
def evolved_atom(draw: st.DrawFn, kind: str, change: str) -> Any:
    """The same, promoted, or the first branch of a union."""
    if change == "union":
        others = draw(st.lists(st.sampled_from(sorted(_VALUES)), min_size=1, max_size=3, unique=True))
        # The type itself is first: fastavro uses the first branch that fits, the kernel and Java use the same
        # type.
        return [kind, *(other for other in others if other != kind)]
    return draw(st.sampled_from(PROMOTIONS.get(kind, [kind]))) if change == "into" else kind


@st.composite
def evolved(draw: st.DrawFn, kind: Any) -> Any:
    """Draw what a later version may have instead of `kind`; most results, but not all, can be read."""
    change = draw(st.sampled_from(["no", "no", "into", "union", "null", "first", "other"]))
    if isinstance(kind, list):
        inner = next(branch for branch in kind if branch != "null")
        later = draw(evolved(inner).filter(lambda found: not isinstance(found, list)))
        return later if change == "first" else draw(st.permutations(["null", later]))
    if change == "other":
        return draw(st.sampled_from(sorted(_VALUES)))
    if change == "null":
        return draw(st.permutations(["null", kind]))
    if isinstance(kind, str):
        return draw(evolved_atom(kind, change))
    kind = copy.deepcopy(kind)
    match kind["type"]:
        case "enum":
            kind["symbols"] = draw(st.permutations(SYMBOLS))[: draw(st.integers(1, len(SYMBOLS)))]
            if draw(st.booleans()):
                kind["default"] = draw(st.sampled_from(kind["symbols"]))
        case "array":
            kind["items"] = draw(evolved(kind["items"]))
        case "map":
            kind["values"] = draw(evolved(kind["values"]))
        case "record":
            kind["fields"] = draw(evolved_fields(kind["fields"]))
    return kind


@st.composite
def renamed(draw: st.DrawFn, record: dict[str, Any]) -> dict[str, Any]:
    """Draw a record with renamed fields, whose earlier names are aliases: chains and swaps.

    The record itself may get a new name as well, with the earlier one as an alias.
    """
    fields = [field for field in record["fields"] if "aliases" not in field]
    names = [field["name"] for field in fields]
    others = draw(st.permutations([*names, "chained"]))[: len(names)]
    for field, name in zip(fields, others, strict=True):
        if name != field["name"]:
            field["aliases"] = [field["name"]]
            field["name"] = name
    taken = {field["name"] for field in fields}
    rest = [field for field in record["fields"] if field["name"] not in taken]
    again = {"name": "Again", "aliases": [record["name"]]} if draw(st.booleans()) else {}
    return {**record, **again, "fields": [*fields, *rest]}


@st.composite
def with_later_default(draw: st.DrawFn, record: dict[str, Any]) -> dict[str, Any]:
    """A record with a further field that is a union, whose default is a value of any of its branches."""
    kinds = draw(
        st.lists(
            st.sampled_from(["boolean", "string", "long", "double"]), min_size=1, max_size=3, unique=True
        )
    )
    branches = draw(st.permutations(["null", *kinds]))
    kind = draw(st.sampled_from(branches))
    default = None if kind == "null" else draw(_DEFAULTS[kind])
    field = {"name": "later", "type": branches, "default": default}
    return {**record, "fields": [*record["fields"], field]}


@st.composite
def evolved_fields(draw: st.DrawFn, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fields changed, removed, renamed with an alias, added with a default, in another order."""
    later = []
    for field in fields:
        change = draw(st.sampled_from(["keep", "keep", "keep", "remove", "rename"]))
        kind = draw(evolved(field["type"]))
        if change == "rename":
            later.append({"name": f"{field['name']}_new", "aliases": [field["name"]], "type": kind})
        elif change == "keep":
            later.append({"name": field["name"], "type": kind})
    if draw(st.booleans()) or not later:
        kind = draw(st.sampled_from(sorted(_DEFAULTS)))
        later.append({"name": "added", "type": kind, "default": draw(_DEFAULTS[kind])})
    return draw(st.permutations(later))
