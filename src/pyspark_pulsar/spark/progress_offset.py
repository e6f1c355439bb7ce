"""Offsets of a source in the form that PySpark shows in a query's progress."""

from __future__ import annotations

import ast
import json
from typing import Any


def offset_document(text: str | None) -> Any:
    """Return the offset in a text as a Python object, or None if the text cannot be parsed.

    Texts of other sources may have any form. The text of a Pulsar source is JSON. In `lastProgress` and over Spark
    Connect, PySpark 4.1 shows this JSON object in Python's notation instead.
    """
    try:
        return json.loads(text or "null")
    except ValueError:
        pass
    try:
        return ast.literal_eval(text or "None")
    except (ValueError, SyntaxError):
        return None
