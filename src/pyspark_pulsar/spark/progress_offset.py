"""An offset of a source as PySpark shows it in a query's progress."""

from __future__ import annotations

import ast
import json
from typing import Any


def offset_document(text: str | None) -> Any:
    """What the text says; None where it says nothing that is understood, as of a source that is not ours.

    It is JSON. But PySpark 4.1 shows an object as Python does, in `lastProgress` and over Spark Connect.
    """
    try:
        return json.loads(text or "null")
    except ValueError:
        pass
    try:
        return ast.literal_eval(text or "None")
    except (ValueError, SyntaxError):
        return None
