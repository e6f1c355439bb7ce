"""Parsing of an option whose text is a JSON object."""

from __future__ import annotations

import json
from typing import Any

from pyspark_pulsar.errors import OptionError


def json_object(key: str, text: str, expected: str) -> dict[str, Any]:
    """Return the JSON object in the text of an option.

    Args:
        key: The option's name, for the error.
        text: The text of the option.
        expected: The expected value in words, with an example.

    Raises:
        OptionError: If the text is not a JSON object.

    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise OptionError(f"option {key!r} is {text!r}: expected {expected} ({fault})") from None
    if not isinstance(document, dict):
        raise OptionError(f"option {key!r} is {text!r}: expected {expected}")
    return document
