"""Parsing of Spark's dictionary of option texts into an instance of an options class."""

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

# Spark passes its own options of a streaming query together with the options of the source.
_SPARK_OPTIONS = frozenset({"checkpointlocation", "queryname"})

# Matches a URL with a user and possibly a password, and a URL with a signature in the query.
_URL_SECRET = re.compile(r"://[^/]*@|[?&]\w*(sig|token|key|secret)\w*=", re.IGNORECASE)


def parse_options(scope: type[T], given: Mapping[str, str]) -> T:
    """Parse texts into the options of a scope.

    Args:
        scope: The class of the options, for example `ReadOptions`.
        given: The texts of the options by key. The case of keys is ignored. Spark's own options are ignored too.

    Raises:
        OptionError: If an option is unknown, duplicate, malformed or missing, or if options conflict with each other.
            The message spells the key as docs/options.md does, because Spark passes keys in lower case.

    """
    by_key: dict[str, str] = {}
    spellings: dict[str, str] = {}
    for name, option in option_fields(scope).items():
        for key in (option.key, *option.aliases):
            by_key[key.lower()] = name
            spellings[key.lower()] = key
    values: dict[str, Any] = {}
    seen: dict[str, str] = {}
    ours = {key: text for key, text in given.items() if key.lower() not in _SPARK_OPTIONS}
    if unknown := [key for key in ours if key.lower() not in by_key]:
        raise OptionError(unknown_options(unknown, spellings.values()))
    for key, text in ours.items():
        field_name, spelling = by_key[key.lower()], spellings[key.lower()]
        if field_name in seen:
            raise OptionError(
                f"options {seen[field_name]!r} and {spelling!r} mean the same; set only one of them"
            )
        seen[field_name] = spelling
        values[field_name] = _value(option_fields(scope)[field_name], str(text))
    for field in fields(scope):
        if field.name not in values and field.default is MISSING:
            option = option_fields(scope)[field.name]
            raise OptionError(f"option {option.key!r} is missing; set it. {option.doc}")
    return scope(**values)


def _value(option: OptionField, text: str) -> Any:
    try:
        return option.parse(text)
    except OptionError:
        # The error already names the option.
        raise
    except ValueError as fault:
        is_hidden = option.secret or _URL_SECRET.search(text)
        got = "has a wrong value (not shown, because it may hold secrets)" if is_hidden else f"is {text!r}"
        raise OptionError(f"option {option.key!r} {got}: expected {fault}") from None
