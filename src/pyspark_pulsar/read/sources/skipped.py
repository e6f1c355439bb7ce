"""Entries that a broker has passed over although they are there. Executor only.

A broker moves the cursors of all subscriptions of a topic, whatever its retention keeps: every five minutes to the
first message that has not expired, where a namespace has a message TTL, and when somebody expires messages or clears
the backlog. It then goes on behind, without a word to the consumer.

Ids are also missing for good: what consumers do not see (markers, aborted transactions, what compaction removed), and
ledgers that are gone. So a cursor that stands where it began proves that nothing was passed over, and else a second
consumer is asked for what is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.position import EARLIEST, Position

_MOST_LOOKS: Final = 8
"""More gaps are cheaper to read again."""
_LOOK_SECONDS: Final = 1.0

FirstBehind = Callable[[Position], tuple[int, int] | None]


def cut_where_passed_over(
    entries: EntryBatch, following: Position, mark_delete: Callable[[], Position], first_behind: FirstBehind
) -> bool:
    """Whether the broker has passed over something: then `entries` are only those before it, and the consumer has to
    begin anew there.

    `entries` are the next that the consumer took, and `following` is what should come. `mark_delete`: asks where its
    cursor stands. `first_behind`: asks what another consumer gets first that begins at a position; None where nothing
    comes.
    """
    gaps = entries.gaps((following.ledger, following.entry))
    if not gaps:
        return False
    # None but the broker moves it: it is never acknowledged to.
    stands = mark_delete()
    for number, (begin, end) in enumerate(gaps):
        start = Position(*begin)
        if stands <= start:
            return False
        found = None if number == _MOST_LOOKS else first_behind(start)
        if number == _MOST_LOOKS or (found is not None and found < end):
            entries.trim(EARLIEST.as_tuple(), start.as_tuple())
            return True
    return False


def first_entry(consumer: EntryConsumer, start: Position, deadline: float) -> tuple[int, int] | None:
    """What a new consumer that begins at `start` gets first; None when there is nothing there or behind. Closes it.

    Raises `ConnectionFailed`, and `DeadlineExceeded` at `deadline` (of `time.monotonic`).
    """
    try:
        consumer.add_permits(1)
        while (entries := consumer.take(_LOOK_SECONDS)) is None:
            if consumer.end(deadline - time.monotonic()) <= start:
                return None
            if time.monotonic() > deadline:
                raise DeadlineExceeded(f"expected the first entry at {start} or behind it, got none in time")
        return entries.first
    finally:
        consumer.close()
