"""Places of messages, and their text."""

from __future__ import annotations

Place = tuple[int, int]
"""Ledger and entry of one message. Places of one topic are ordered as they were written."""


def place_text(place: Place | None) -> str | None:
    return None if place is None else f"{place[0]}:{place[1]}"


def parse_place(text: str | None) -> Place | None:
    """Raises ValueError."""
    if text is None:
        return None
    ledger, entry = text.split(":")
    return int(ledger), int(entry)
