"""Rewriting of the Avro document of a JSON schema, to describe the forms of JSON values.

Pulsar describes JSON values by an Avro document. Java's client writes JSON by the library Jackson, which writes some
Java classes in a form that the document does not describe. `java.time.Instant` is `timestamp-micros` in the document,
and a number of seconds with a decimal point in JSON. `java.util.Date` is a record without fields in the document, and a
number of milliseconds in JSON. `json_document` replaces each of these types by the Avro type of its column. The
attribute `jsonForm` of the new type is the name of the form for the kernel (`avro_schema/json_form.rs`):

    instant-UNIT          a number with a decimal point in seconds, a whole number in UNIT, or a text in ISO 8601
    local-date-time-UNIT  an array such as [year, ..., minute], a text in ISO 8601, or a whole number in UNIT
    time-UNIT             an array such as [hour, minute], a text in ISO 8601, or a whole number in UNIT
    date                  an array [year, month, day], a text in ISO 8601, or a whole number of days
    char                  a text of one character; the column contains its UTF-16 code unit
    decimal, integer      a number; the column contains its text
    any                   any value; the column contains its JSON
    number                a number as in the document, without a special form

Decision 0059 contains the measurements with Pulsar's client 4.0.8 and Jackson 2.17.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

FORM: Final = "jsonForm"

_MICROS: Final = {"seconds": (10**6, 1), "millis": (10**3, 1), "micros": (1, 1), "nanos": (1, 10**3)}
"""The multiplier and the divisor that convert a number to microseconds, by the unit of the number."""


def _form(kind: str, logical: str, form: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical, FORM: form}


_TIMES: Final = {
    ("int", "date"): _form("int", "date", "date"),
    ("int", "time-millis"): _form("long", "time-micros", "time-millis"),
    ("long", "time-micros"): _form("long", "time-micros", "time-micros"),
    **{
        ("long", f"{logical}-{unit}"): _form("long", f"{logical}-micros", f"{form}-{unit}")
        for logical, form in (("timestamp", "instant"), ("local-timestamp", "local-date-time"))
        for unit in ("millis", "micros", "nanos")
    },
}
"""The rewritten types of dates and times, by primitive type and logical type."""

_NUMBERS: Final = {
    made[FORM]: {"type": kind, "logicalType": logical} for (kind, logical), made in _TIMES.items()
}
"""The original types of dates and times, by the form of the rewritten type."""

_DATE: Final = _form("long", "timestamp-millis", "number")
_ANY: Final = {"type": "string", FORM: "any"}
_ZONED: Final = _form("long", "timestamp-micros", "instant-seconds")

_BY_JAVA_CLASS: Final = {
    ("string", "java.math.BigDecimal"): {"type": "string", FORM: "decimal"},
    ("string", "java.math.BigInteger"): {"type": "string", FORM: "integer"},
    ("int", "java.lang.Character"): {"type": "int", FORM: "char"},
}

_RECORDS: Final[dict[str, Any]] = {
    "java.util.Date": _DATE,
    "java.util.Calendar": _DATE,
    "java.util.GregorianCalendar": _DATE,
    "java.sql.Date": _DATE,
    "java.sql.Timestamp": _DATE,
    "java.sql.Time": "string",
    "java.time.ZonedDateTime": _ZONED,
    "java.time.OffsetDateTime": _ZONED,
    "java.time.OffsetTime": _ANY,
    "java.time.Duration": _ANY,
    "java.time.Period": "string",
    "java.time.Year": "int",
    "java.time.YearMonth": {"type": "array", "items": "int"},
    "java.time.MonthDay": "string",
    "java.time.ZoneId": "string",
    "java.time.ZoneOffset": "string",
    "java.util.Locale": "string",
    "java.util.Optional": _ANY,
    "java.util.OptionalInt": "int",
    "java.util.OptionalLong": "long",
    "java.util.OptionalDouble": "double",
    "java.util.concurrent.atomic.AtomicBoolean": "boolean",
    "java.util.concurrent.atomic.AtomicInteger": "int",
    "java.util.concurrent.atomic.AtomicLong": "long",
    "java.util.concurrent.atomic.AtomicReference": _ANY,
    "java.lang.Object": _ANY,
}
"""The Avro types of values that Jackson writes, by Java class.

Java's client describes each of these classes as a record without fields.
"""

_PAIR_NAMESPACE: Final = "org.apache.avro.reflect"
_EMPTY: Final = "java.util.Optional"
_MAX_TYPES: Final = 100_000
_DEFINED: Final = ("record", "error", "enum", "fixed")


def json_document(document: str) -> str:
    """Return the document of a JSON schema, with the attribute `jsonForm` on each type that has a special form.

    A document that already has these attributes is unchanged. A document that is not valid Avro is also unchanged,
    because later parsers of the document report its faults.
    """
    try:
        node = json.loads(document)
        made = _Rewriter().type(node, "")
        return json.dumps(made, separators=(",", ":"), ensure_ascii=False) if made != node else document
    except (ValueError, RecursionError):
        return document


def times_as_numbers(document: str) -> str:
    """Return a document from `json_document` with dates and times as numbers, in the units of the topic's schema."""
    return json.dumps(_without_times(json.loads(document)), separators=(",", ":"), ensure_ascii=False)


def _without_times(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_times(item) for item in node]
    if not isinstance(node, dict):
        return node
    if _text(node.get(FORM)) in _NUMBERS:
        return _NUMBERS[node[FORM]]
    return {key: each if key == "default" else _without_times(each) for key, each in node.items()}


@dataclass
class _Rewriter:
    """A walk that rewrites one document.

    If a replaced type contained the definition of a named type, the walk inserts the definition at the next use of the
    name.
    """

    # The definitions of named types by full name, each with its enclosing namespace.
    known: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    types: int = 0

    def type(self, node: Any, namespace: str, *, in_union: bool = False) -> Any:
        self.types += 1
        if self.types > _MAX_TYPES:
            raise ValueError(f"expected at most {_MAX_TYPES} types, got more")
        if isinstance(node, list):
            return self._union(node, namespace)
        if isinstance(node, str):
            return self._reference(node, namespace, in_union=in_union)
        if not isinstance(node, dict) or FORM in node:
            return node
        kind = node.get("type")
        if not isinstance(kind, str):
            return node | {"type": self.type(kind, namespace, in_union=in_union)}
        if kind in _DEFINED:
            return self._defined(node, namespace, in_union=in_union)
        if kind == "array":
            return self._array(node, namespace)
        if kind == "map":
            return node | {"values": self.type(node.get("values"), namespace)}
        found = _BY_JAVA_CLASS.get((kind, _text(node.get("java-class"))))
        return found or _TIMES.get((kind, _text(node.get("logicalType"))), node)

    def _union(self, branches: list[Any], namespace: str) -> Any:
        if len([branch for branch in branches if branch != "null"]) == 1:
            return [self.type(branch, namespace, in_union=True) for branch in branches]
        # In a union of several types, a form would not determine the branch of a value, so the branches have no forms.
        return [self._branch(branch, namespace) for branch in branches]

    def _branch(self, node: Any, namespace: str) -> Any:
        made = self.type(node, namespace, in_union=True)
        return node if isinstance(made, dict) and FORM in made else made

    def _reference(self, name: str, namespace: str, *, in_union: bool) -> Any:
        full = _full_name(name, namespace)
        if full not in self.known or full in self.written:
            return name
        node, around = self.known[full]
        # The enclosing namespace can differ from the namespace at the definition, so the walk writes the full name.
        return self._defined(node | {"name": full}, around, in_union=in_union)

    def _defined(self, node: dict[str, Any], namespace: str, *, in_union: bool) -> Any:
        own = node.get("namespace")
        full = _full_name(_text(node.get("name")), own if isinstance(own, str) else namespace)
        self.known[full] = (node, namespace)
        if full in _RECORDS and node.get("fields") == []:
            found = _RECORDS[full]
            # Jackson writes an empty Optional as null, although the document does not allow null.
            return found if in_union or not full.startswith(_EMPTY) else ["null", found]
        self.written.add(full)
        fields = node.get("fields")
        if not isinstance(fields, list):
            return node
        space = full.rpartition(".")[0]
        return node | {"fields": [self._field(each, space) for each in fields]}

    def _field(self, node: Any, namespace: str) -> Any:
        if not isinstance(node, dict) or "type" not in node:
            return node
        kind = self.type(node["type"], namespace)
        made = node | {"type": kind}
        rescaled = "default" in node and kind != node["type"]
        return made | {"default": _in_micros(node["default"], kind)} if rescaled else made

    def _array(self, node: dict[str, Any], namespace: str) -> Any:
        items = node.get("items")
        if node.get("java-class") == "[C":
            return "string"
        pair = self._pair(items, namespace)
        if pair is None:
            return node | {"items": self.type(items, namespace)}
        # Jackson writes every map as a JSON object, even if the keys are not strings.
        key, value = (each.get("type") if isinstance(each, dict) else None for each in pair["fields"])
        written = set(self.written)
        self.type(key, _PAIR_NAMESPACE)
        self.written = written
        return {"type": "map", "values": self.type(value, _PAIR_NAMESPACE)}

    def _pair(self, items: Any, namespace: str) -> dict[str, Any] | None:
        """Return the record for the entries of a map without string keys, or None if `items` is no such record."""
        full = _full_name(items, namespace) if isinstance(items, str) else ""
        record = self.known[full][0] if full in self.known else items
        if not isinstance(record, dict) or record.get("namespace") != _PAIR_NAMESPACE:
            return None
        fields = record.get("fields")
        names = (
            [each.get("name") for each in fields if isinstance(each, dict)]
            if isinstance(fields, list)
            else []
        )
        if not _text(record.get("name")).startswith("Pair") or names != ["key", "value"]:
            return None
        self.known[_full_name(record["name"], _PAIR_NAMESPACE)] = (record, namespace)
        return record


def _in_micros(default: Any, kind: Any) -> Any:
    """Convert the default of a field to the unit of the rewritten type."""
    if isinstance(kind, list):
        return _in_micros(default, next((branch for branch in kind if branch != "null"), None))
    if not isinstance(kind, dict):
        return default
    if isinstance(default, int) and not isinstance(default, bool):
        times, per = _MICROS.get(_text(kind.get(FORM)).rpartition("-")[2], (1, 1))
        return default * times // per
    if isinstance(default, list) and kind.get("type") == "array":
        return [_in_micros(item, kind.get("items")) for item in default]
    if not isinstance(default, dict):
        return default
    if kind.get("type") == "map":
        return {key: _in_micros(item, kind.get("values")) for key, item in default.items()}
    types = {each.get("name"): each.get("type") for each in kind.get("fields", ()) if isinstance(each, dict)}
    return {key: _in_micros(item, types.get(key)) for key, item in default.items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
