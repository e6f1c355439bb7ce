"""Checks of JSON answers, and the reason in an answer that refuses a change."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

from pyspark_pulsar.errors import ProtocolError

_SHOWN: Final = 600


def as_object(answer: Any, where: str) -> dict[str, Any]:
    """Return the answer, after a check that it is a JSON object.

    Args:
        answer: The parsed JSON.
        where: The beginning of the error message.

    Raises:
        ProtocolError: The answer is not a JSON object.

    """
    if not isinstance(answer, dict):
        raise ProtocolError(
            f"{where}: expected a JSON object from admin.url, got {type(answer).__name__}; check admin.url"
        )
    return answer


def as_text_map(answer: Any, where: str) -> dict[str, str]:
    """Convert a JSON object to a map of strings, and None to an empty map. Raise the errors of `as_object`."""
    return {} if answer is None else {str(key): str(value) for key, value in as_object(answer, where).items()}


def as_names(answer: Any, where: str) -> list[str]:
    """Return the answer, after a check that it is a list of names.

    Args:
        answer: The parsed JSON.
        where: The beginning of the error message.

    Raises:
        ProtocolError: The answer is not a JSON array of strings.

    """
    if not isinstance(answer, list) or not all(isinstance(name, str) for name in answer):
        raise ProtocolError(f"{where}: expected a JSON array of names, got another answer; check admin.url")
    return answer


def reason_of(text: str) -> str:
    """Return the broker's reason for a refusal as one line of at most 600 characters.

    The reason is the field `reason` of the JSON object `text`, or its HTML-escaped field `message`.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = {}
    reason = document.get("reason") or document.get("message") if isinstance(document, dict) else None
    return re.sub(r"\s+", " ", html.unescape(str(reason or "no reason"))).strip()[:_SHOWN]
