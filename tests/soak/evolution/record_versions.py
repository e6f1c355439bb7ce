"""Draws versions of records for topics with Avro and with JSON schemas, and messages that are encoded by them."""

from __future__ import annotations

import base64
import io
import json
import math
import random
from decimal import Decimal
from typing import Any

import fastavro
from soak.evolution.avro_changes import Changes, type_words, with_valid_defaults
from soak.evolution.avro_types import NULL, Names, draw_record, draw_value
from soak.evolution.steps import Message, Version

_ROOT = "T"


class RecordVersions:
    """The versions of one topic, and messages of each of them."""

    def __init__(self, rng: random.Random, count: int, *, is_json: bool) -> None:
        self._rng = rng
        self._is_json = is_json
        names = Names()
        changes = Changes(rng, names)
        document = draw_record(rng, names, 2, fewest=1) | {"name": _ROOT}
        self._documents = [document]
        self.versions = [_version(0, document, ())]
        while len(self.versions) < count:
            document, words = changes.next_version(document)
            self._documents.append(with_valid_defaults(rng, document))
            self.versions.append(_version(len(self.versions), document, words))

    def message(self, version: int) -> Message:
        """Draw a message by a version."""
        document = self._documents[version]
        value = draw_value(self._rng, document)
        if self._is_json:
            text = json.dumps(self._members(document, value), default=_json_text)
            return Message(text.encode(), text)
        return Message(encoded(document, value), f"{value}")

    def _members(self, record: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
        """The value as an object in which members may be null or absent, and others may be there."""
        rng = self._rng
        members = {each["name"]: self._nested(each["type"], value[each["name"]]) for each in record["fields"]}
        for name in list(members):
            draw = rng.random()
            if draw < 0.1:
                del members[name]
            elif draw < 0.15:
                members[name] = None
        if rng.random() < 0.15:
            members.setdefault(
                f"f{rng.randrange(1, 12)}", rng.choice([None, 1, "A", True, {"f2": 1}, [1], 0.5])
            )
        return dict(rng.sample(list(members.items()), len(members)))

    def _nested(self, kind: Any, value: Any) -> Any:
        if isinstance(kind, list):
            records = [branch for branch in kind if branch != NULL and not isinstance(branch, str)]
            return self._nested(records[0], value) if isinstance(value, dict | list) and records else value
        if isinstance(kind, dict):
            if kind["type"] == "array":
                return [self._nested(kind["items"], each) for each in value]
            if kind["type"] == "map":
                return {key: self._nested(kind["values"], each) for key, each in value.items()}
            if kind["type"] == "record":
                return self._members(kind, value)
        # JSON has no such numbers.
        return 2.5 if isinstance(value, float) and not math.isfinite(value) else value


def encoded(document: dict[str, Any], value: dict[str, Any]) -> bytes:
    """A value in Avro's binary encoding."""
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, fastavro.parse_schema(document), value)
    return sink.getvalue()


def _json_text(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else base64.b64encode(value).decode()


def _version(number: int, document: dict[str, Any], changes: tuple[str, ...]) -> Version:
    # The registry takes two documents for one version where they differ in aliases alone.
    return Version(json.dumps(document | {"version": number}), type_words(document), changes)
