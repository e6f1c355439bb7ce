"""Positions in a topic partition, and their order.

A position is the *next message to read*: `ledger:entry:batchIndex`. So the start of a range is
inclusive, the end exclusive, and nothing is ever "read once and thrown away". Positions are ordered as
Pulsar stores messages: ledger ids of one topic grow, entry ids grow inside a ledger. Gaps in either are
normal (transaction markers, rolled ledgers) and mean nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError

# Ledger and entry have 64 bits in Pulsar, the batch index 32.
_TEXT = re.compile(r"(?P<ledger>\d{1,18}):(?P<entry>\d{1,18})(?::(?P<batch_index>\d{1,9}))?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The next message to read. `batch_index` counts messages inside a batched entry from 0."""

    ledger: int
    entry: int
    batch_index: int = 0

    @classmethod
    def parse(cls, text: str) -> Position:
        """`earliest` or `ledger:entry[:batchIndex]`. Raises `OptionError`."""
        if text == "earliest":
            return EARLIEST
        match = _TEXT.fullmatch(text)
        if not match:
            raise OptionError(
                f"{text!r} is no position: expected 'ledger:entry' or 'ledger:entry:batchIndex' (the next message to "
                f"read, for example '12:0' or '12:7:30') or 'earliest'"
            )
        return cls(int(match["ledger"]), int(match["entry"]), int(match["batch_index"] or 0))

    def __str__(self) -> str:
        return "earliest" if self == EARLIEST else f"{self.ledger}:{self.entry}:{self.batch_index}"

    @property
    def is_earliest(self) -> bool:
        return self.ledger < 0

    def as_tuple(self) -> tuple[int, int, int]:
        return (self.ledger, self.entry, self.batch_index)


EARLIEST = Position(-1, -1, 0)
"""Before every message, whatever the first ledger still kept is."""


def after_entry(ledger: int, entry: int) -> Position:
    """The position behind a whole entry; `EARLIEST` for the (-1, -1) of an empty topic."""
    return EARLIEST if ledger < 0 or entry < 0 else Position(ledger, entry + 1, 0)
