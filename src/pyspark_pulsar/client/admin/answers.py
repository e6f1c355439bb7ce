"""What the JSON of an answer must be, and the words in which a broker refuses a change."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

from pyspark_pulsar.errors import ProtocolError

_SHOWN: Final = 600


def as_object(answer: Any, where: str) -> dict[str, Any]:
    """Raises `ProtocolError` for what is no JSON object; `where` begins the message, as in all of these."""
    if not isinstance(answer, dict):
        raise ProtocolError(f"{where}: expected a JSON object from admin.url, got {type(answer).__name__}")
    return answer


def as_text_map(answer: Any, where: str) -> dict[str, str]:
    """An empty answer is an empty map."""
    return {} if answer is None else {str(key): str(value) for key, value in as_object(answer, where).items()}


def as_names(answer: Any, where: str) -> list[str]:
    """Raises `ProtocolError` for what is no array of texts."""
    if not isinstance(answer, list) or not all(isinstance(name, str) for name in answer):
        raise ProtocolError(f"{where}: expected a JSON array of names from admin.url, got another answer")
    return answer


def reason_of(text: str) -> str:
    """Why the broker refused a change, in one line: `reason` or, HTML-escaped, `message`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = {}
    reason = document.get("reason") or document.get("message") if isinstance(document, dict) else None
    return re.sub(r"\s+", " ", html.unescape(str(reason or "no reason"))).strip()[:_SHOWN]
