"""The text of an option that is a JSON object."""

from __future__ import annotations

import json
from typing import Any

from pyspark_pulsar.errors import OptionError


def json_object(text: str, expected: str) -> dict[str, Any]:
    """Raises `OptionError` for any other text; `expected` begins its text: the option, and what it takes."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise OptionError(f"{expected}; got {text!r} ({fault})") from None
    if not isinstance(document, dict):
        raise OptionError(f"{expected}; got {text!r}")
    return document
