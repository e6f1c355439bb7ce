"""Generated JSON schemas, messages in many forms, and possible later versions of the schemas.

A later version adds and removes members. A shared member usually keeps its type. A plain text, enum,
boolean, int or long may become any other leaf, if that may be null where the member was.
"""

import copy
import itertools
import json
from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

_NUMBERS = [
    "0",
    "1",
    "-5",
    "-0",
    "7.0",
    "1e1",
    "70E-1",
    '"7"',
    '" 8 "',
    '"1.0"',
    "2147483648",
    "1.5",
    "9" * 19,
]
_TEXTS = [
    '""',
    '"a"',
    '"\\u0061\\n"',
    '"\u00e9 \t"',
    '"7"',
    '"-1.50"',
    '"true"',
    '"NaN"',
    '"YQ=="',
    '"2024-05-06"',
]
_FRACTIONS = [
    "0",
    "-0",
    "-0.0",
    "1.5",
    "1e300",
    "0.1",
    "3",
    '"2.50"',
    '"NaN"',
    '"-Infinity"',
    '"INF"',
    "1e400",
]
_INSTANTS = [
    "0",
    "-1",
    "1714979289123",
    "1714979289.5",
    "-1.5",
    '"2024-05-06T07:08:09.123456Z"',
    '"1.5"',
    '"5"',
]
_LEAVES: list[tuple[Any, list[str]]] = [
    ("int", _NUMBERS),
    ("long", _NUMBERS),
    ("string", _TEXTS),
    ("boolean", ["true", "false", '"true"', "1"]),
    ({"type": "enum", "symbols": ["A", "B"]}, ['"A"', '"B"', '"\\u0041"', '"C"', "1"]),
]
"""Types without a special meaning, each with texts of values. Some of the texts do not fit the type."""

_MEANINGS: list[tuple[Any, list[str]]] = [
    ("double", _FRACTIONS),
    ("float", _FRACTIONS),
    ("bytes", _TEXTS),
    ({"type": "fixed", "size": 1}, _TEXTS),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, [*_NUMBERS, *_TEXTS]),
    ({"type": "long", "logicalType": "timestamp-millis"}, _INSTANTS),
    ({"type": "long", "logicalType": "timestamp-micros"}, _INSTANTS),
    ({"type": "long", "logicalType": "local-timestamp-nanos"}, ["5", "-1500", '"2024-05-06T07:08"', "[2024,5,6,7,8]"]),
    ({"type": "int", "logicalType": "date"}, ["5", "-1", '"2024-05-06"', "[2024,5,6]", '"+12024-05-06"']),
    ({"type": "int", "logicalType": "time-millis"}, ["5", "-1", '"07:08"', "[7,8,9,1000]", '"07:08:09.5"']),
    ({"type": "string", "logicalType": "uuid"}, ['"6F9619FF-8B86-D011-B42D-00CF4FC964FF"', '"x"']),
    ({"type": "string", "java-class": "java.math.BigDecimal"}, [*_NUMBERS, *_TEXTS]),
    ({"type": "int", "java-class": "java.lang.Character"}, ['"a"', '"\\ud800"', "97", '"ab"']),
    ({"type": "record", "name": "Object", "namespace": "java.lang", "fields": []}, [*_NUMBERS, '[{ }, "\\u0061"]']),
    ({"type": "record", "name": "Date", "namespace": "java.util", "fields": []}, ["5", "-1", '"5"']),
]  # fmt: skip
"""Types that a later version keeps."""

_DEFAULTS = {"int": 3, "long": 4, "string": "d", "boolean": True, "double": 1.5}
_BRANCHES = ["int", "string", "double", "boolean", "long"]
_COUNTER = itertools.count()


def _named(kind: Any) -> Any:
    """The same type, under a name that no other has."""
    kind = copy.deepcopy(kind)
    if isinstance(kind, dict) and kind["type"] in ("enum", "fixed", "record") and "name" not in kind:
        kind["name"] = f"N{next(_COUNTER)}"
    return kind


@st.composite
def types(draw: st.DrawFn, depth: int) -> Any:
    """A type; null is one of its branches at most once."""
    shapes = ["leaf"] * 3 + ["meaning"] * 2 + (["array", "map", "record", "union", "null"] if depth else [])
    shape = draw(st.sampled_from(shapes))
    if shape == "union":
        branches = draw(st.lists(st.sampled_from(_BRANCHES), min_size=2, max_size=3, unique=True))
        return draw(st.permutations(["null", *branches])) if draw(st.booleans()) else branches
    if shape == "null":
        return "null"
    made = _named(draw(_shapes(shape, depth)))
    return ["null", made] if draw(st.booleans()) else made


def _shapes(shape: str, depth: int) -> st.SearchStrategy[Any]:
    match shape:
        case "leaf":
            return st.sampled_from(_LEAVES).map(lambda leaf: leaf[0])
        case "meaning":
            return st.sampled_from(_MEANINGS).map(lambda leaf: leaf[0])
        case "array":
            return types(depth - 1).map(lambda kind: {"type": "array", "items": kind})
        case "map":
            return types(depth - 1).map(lambda kind: {"type": "map", "values": kind})
    return records(depth - 1, 0)


@st.composite
def records(draw: st.DrawFn, depth: int = 2, least: int = 1) -> Document:
    """A record; some of its members have defaults."""
    fields = []
    for index, kind in enumerate(draw(st.lists(types(depth), min_size=least, max_size=4))):
        field = {"name": f"f{index}", "type": kind}
        if isinstance(kind, str) and kind in _DEFAULTS and draw(st.booleans()):
            field["default"] = _DEFAULTS[kind]
        elif isinstance(kind, list) and kind[0] == "null" and draw(st.booleans()):
            field["default"] = None
        fields.append(field)
    return _named({"type": "record", "fields": fields})


@st.composite
def evolved(draw: st.DrawFn, kind: Any) -> Any:
    """Draw what a later version may have instead of `kind`."""
    if isinstance(kind, list):
        others = [branch for branch in kind if branch != "null"]
        return kind if len(others) > 1 else ["null", draw(evolved(others[0]))]
    plain = {"type": kind} if isinstance(kind, str) else kind
    if any(_is_same(plain, leaf) for leaf, _ in _LEAVES):
        leaves = [leaf for leaf, _ in [*_LEAVES, *_MEANINGS] if leaf != _ANY]
        return kind if draw(st.booleans()) else _named(draw(st.sampled_from(leaves)))
    match plain["type"]:
        case "array":
            return {"type": "array", "items": draw(evolved(plain["items"]))}
        case "map":
            return {"type": "map", "values": draw(evolved(plain["values"]))}
        case "record" if "namespace" not in plain:
            return draw(evolved_record(plain))
    return kind


_ANY = _MEANINGS[-2][0]


def _is_same(kind: Document, leaf: Any) -> bool:
    plain = {"type": leaf} if isinstance(leaf, str) else leaf
    return {key: value for key, value in kind.items() if key != "name"} == plain


@st.composite
def evolved_record(draw: st.DrawFn, record: Document) -> Document:
    """A record with members added, removed and in another order."""
    fields = []
    for field in record["fields"]:
        if not draw(st.sampled_from([True, True, True, False])):
            continue
        kind = draw(evolved(field["type"]))
        later = {"name": field["name"], "type": kind}
        if field.get("default") is not None and kind == field["type"]:
            later["default"] = field["default"]
        fields.append(later)
    if draw(st.booleans()) or not fields:
        kind = draw(st.sampled_from(sorted(_DEFAULTS)))
        fields.append({"name": "added", "type": kind, "default": _DEFAULTS[kind]})
    if draw(st.booleans()):
        fields.append({"name": "extra", "type": ["null", "string"]})
    return _named({"type": "record", "fields": draw(st.permutations(fields))})


@st.composite
def messages(draw: st.DrawFn, kind: Any) -> str:
    """Draw the text of a value; most values fit the type."""
    if isinstance(kind, list):
        branch = draw(st.sampled_from(kind))
        tagged = len(kind) > 2 and branch != "null" and not draw(st.integers(0, 4))
        text = draw(messages(branch))
        return f'{{"{branch}":{text}}}' if tagged else text
    if kind == "null":
        return "null"
    plain = {"type": kind} if isinstance(kind, str) else kind
    found = [texts for leaf, texts in [*_LEAVES, *_MEANINGS] if _is_same(plain, leaf) or plain == leaf]
    if found:
        # The first ones are the usual ones.
        return draw(st.sampled_from(found[0][:3] * 3 + found[0]))
    space = draw(st.sampled_from(["", "", " ", "\n\t"]))
    match plain["type"]:
        case "array":
            return f"[{f'{space},'.join(draw(st.lists(messages(plain['items']), max_size=2)))}{space}]"
        case "map":
            keys = draw(st.lists(st.sampled_from(['"k"', '"\\u006b"', '"l"', '""']), max_size=2))
            pairs = [f"{key}{space}:{draw(messages(plain['values']))}" for key in keys]
            return f"{{{','.join(pairs)}}}"
    return draw(_objects(plain["fields"], space))


@st.composite
def _objects(draw: st.DrawFn, fields: list[Document], space: str) -> str:
    members = []
    for field in fields:
        count = draw(st.sampled_from([1] * 8 + [0, 2]))
        members += [f'"{field["name"]}":{space}{draw(messages(field["type"]))}' for _ in range(count)]
    if not draw(st.integers(0, 5)):
        name = draw(st.sampled_from(["added", "extra", "other", "f0"]))
        members.append(f'"{name}":{draw(st.sampled_from(["null", "5", json.dumps("x"), "{}"]))}')
    if not draw(st.integers(0, 3)):
        members = draw(st.permutations(members))
    return f"{{{f',{space}'.join(members)}}}"
