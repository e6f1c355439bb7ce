"""The position of a message in a topic, and its text."""

from __future__ import annotations

MessagePosition = tuple[int, int]
"""The ledger id and entry id of one message. A later message of the same topic has a larger position."""


def position_text(position: MessagePosition | None) -> str | None:
    """Format a position as `ledger:entry`; return None if `position` is None."""
    return None if position is None else f"{position[0]}:{position[1]}"


def parse_position(text: str | None) -> MessagePosition | None:
    """Parse `ledger:entry`; return None if `text` is None. Raises ValueError for any other text."""
    if text is None:
        return None
    ledger, entry = text.split(":")
    return int(ledger), int(entry)
