"""Positions of messages in a checkpoint's topics, and their text form `ledger:entry`."""

from __future__ import annotations

Place = tuple[int, int]
"""Ledger and entry of one message. In one topic, positions sort in the order of writing."""


def place_text(place: Place | None) -> str | None:
    return None if place is None else f"{place[0]}:{place[1]}"


def parse_place(text: str | None) -> Place | None:
    """Parse `ledger:entry`. Raises ValueError."""
    if text is None:
        return None
    ledger, entry = text.split(":")
    return int(ledger), int(entry)
