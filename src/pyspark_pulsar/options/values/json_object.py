"""The text of an option that is a JSON object."""

from __future__ import annotations

import json
from typing import Any

from pyspark_pulsar.errors import OptionError


def json_object(key: str, text: str, expected: str) -> dict[str, Any]:
    """Raises `OptionError` for any other text of the option `key`; `expected` is what it takes."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise OptionError(f"option {key!r} is {text!r}: expected {expected} ({fault})") from None
    if not isinstance(document, dict):
        raise OptionError(f"option {key!r} is {text!r}: expected {expected}")
    return document
