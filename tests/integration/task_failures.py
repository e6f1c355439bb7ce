"""Actions that fail in a task; actions that fail before any task use the fixture `refused`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def failure(action: Callable[[], Any], kind: str) -> str:
    """Return the error text of `action`, which must name `kind`."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark wraps what Python raises
        action()
    text = str(caught.value)
    assert kind in text, text
    return text
