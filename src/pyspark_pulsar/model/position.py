"""Positions in a topic partition, and their order.

A position denotes the *next message to read*: `ledger:entry:batchIndex`. Therefore the start of a range is inclusive
and its end is exclusive, and no reader reads a message only to discard the message.

The order of positions is the order in which Pulsar stores messages. Ledger ids grow within a topic, and entry ids grow
within a ledger. Gaps between ids are normal, for example because of transaction markers and closed ledgers. A gap does
not mean that a message is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError

# In Pulsar, ledger and entry ids have 64 bits, and the batch index has 32.
_TEXT = re.compile(r"(?P<ledger>\d{1,18}):(?P<entry>\d{1,18})(?::(?P<batch_index>\d{1,9}))?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The position of the next message to read. `batch_index` is the number of a message in a batched entry, from 0."""

    ledger: int
    entry: int
    batch_index: int = 0

    @classmethod
    def parse(cls, text: str) -> Position:
        """Parse `earliest` or `ledger:entry[:batchIndex]`. Raise `OptionError` for other texts."""
        if text == "earliest":
            return EARLIEST
        match = _TEXT.fullmatch(text)
        if not match:
            raise OptionError(
                f"{text!r} is no position: expected 'earliest', 'ledger:entry' or 'ledger:entry:batchIndex'; use the "
                f"position of the next message to read, for example '12:0' or '12:7:30'"
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
"""The position before all messages of a topic, even after retention has removed the first ledgers."""


def after_entry(ledger: int, entry: int) -> Position:
    """Return the position after a whole entry, or `EARLIEST` if the entry is `-1:-1`, the last of an empty topic."""
    return EARLIEST if ledger < 0 or entry < 0 else Position(ledger, entry + 1, 0)
