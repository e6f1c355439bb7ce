"""Spark's dictionary of texts to the options of one scope."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.connection import ConnectionOptions
from pyspark_pulsar.options.fields import OptionField, option_fields

T = TypeVar("T", bound=ConnectionOptions)

# Spark hands its own options of a streaming query over with ours.
_OPTIONS_OF_SPARK = frozenset({"checkpointlocation", "queryname"})

# A URL with a user, and so perhaps a password; or one with a signature in its query.
_USER_OF_URL = re.compile(r"://[^/]*@|[?&]\w*(sig|token|key|secret)\w*=", re.IGNORECASE)


def parse_options(scope: type[T], given: Mapping[str, str]) -> T:
    """Read `given` as the options of `scope`. Raises `OptionError` naming every fault's key."""
    by_key: dict[str, str] = {}
    for name, option in option_fields(scope).items():
        for key in (option.key, *option.aliases):
            by_key[key.lower()] = name
    values: dict[str, Any] = {}
    seen: dict[str, str] = {}
    for key, text in given.items():
        if key.lower() in _OPTIONS_OF_SPARK:
            continue
        field_name = by_key.get(key.lower())
        if field_name is None:
            raise OptionError(_unknown(key, scope))
        if field_name in seen:
            raise OptionError(f"options {seen[field_name]!r} and {key!r} mean the same; give one of them")
        seen[field_name] = key
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
        got = "something else (not shown, as it may hold secrets)" if hidden else repr(text)
        raise OptionError(f"option {option.key!r}: expected {fault}, got {got}") from None


def _unknown(key: str, scope: type[ConnectionOptions]) -> str:
    known = [key for option in option_fields(scope).values() for key in (option.key, *option.aliases)]
    lowered = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key.lower(), lowered, n=1, cutoff=0.6)
    hint = f"did you mean {lowered[close[0]]!r}?" if close else "known are " + ", ".join(sorted(known))
    return f"unknown option {key!r}; {hint}"
