"""The position of a message in a topic, and its text."""

from __future__ import annotations

MessagePosition = tuple[int, int]
"""Ledger and entry of one message. Positions of one topic are ordered as they were written."""


def position_text(position: MessagePosition | None) -> str | None:
    """Return `ledger:entry`; None for None."""
    return None if position is None else f"{position[0]}:{position[1]}"


def parse_position(text: str | None) -> MessagePosition | None:
    """Parse `ledger:entry`; None stays None. Raises ValueError for any other text."""
    if text is None:
        return None
    ledger, entry = text.split(":")
    return int(ledger), int(entry)
