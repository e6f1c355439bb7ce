"""Spark's dictionary of texts to the options of one scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.connection import ConnectionOptions
from pyspark_pulsar.options.fields import OptionField, option_fields
from pyspark_pulsar.options.unknown_options import unknown_options

T = TypeVar("T", bound=ConnectionOptions)

# Spark hands its own options of a streaming query over with ours.
_OPTIONS_OF_SPARK = frozenset({"checkpointlocation", "queryname"})

# A URL with a user, and so perhaps a password; or one with a signature in its query.
_USER_OF_URL = re.compile(r"://[^/]*@|[?&]\w*(sig|token|key|secret)\w*=", re.IGNORECASE)


def parse_options(scope: type[T], given: Mapping[str, str]) -> T:
    """Read `given` as the options of `scope`. Raises `OptionError` naming the fault's key, as docs/options.md writes
    it: Spark gives it in small letters."""
    by_key: dict[str, str] = {}
    spellings: dict[str, str] = {}
    for name, option in option_fields(scope).items():
        for key in (option.key, *option.aliases):
            by_key[key.lower()] = name
            spellings[key.lower()] = key
    values: dict[str, Any] = {}
    seen: dict[str, str] = {}
    ours = {key: text for key, text in given.items() if key.lower() not in _OPTIONS_OF_SPARK}
    if unknown := [key for key in ours if key.lower() not in by_key]:
        raise OptionError(unknown_options(unknown, spellings.values()))
    for key, text in ours.items():
        field_name, spelling = by_key[key.lower()], spellings[key.lower()]
        if field_name in seen:
            raise OptionError(
                f"options {seen[field_name]!r} and {spelling!r} mean the same; give one of them"
            )
        seen[field_name] = spelling
        values[field_name] = _value(option_fields(scope)[field_name], str(text))
    for field in fields(scope):
        if field.name not in values and field.default is MISSING:
            option = option_fields(scope)[field.name]
            raise OptionError(f"option {option.key!r} is missing: {option.doc}")
    return scope(**values)


def _value(option: OptionField, text: str) -> Any:
    try:
        return option.parse(text)
    except OptionError:
        # It names the option itself.
        raise
    except ValueError as fault:
        hidden = option.secret or _USER_OF_URL.search(text)
        got = "has a wrong value (not shown, as it may hold secrets)" if hidden else f"is {text!r}"
        raise OptionError(f"option {option.key!r} {got}: expected {fault}") from None
