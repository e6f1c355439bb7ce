"""Entries that a broker has skipped although they are there. Executor only.

A broker moves the cursors of all subscriptions of a topic, whatever its retention keeps: every five minutes to the
first message that has not expired, where a namespace has a message TTL, and when somebody expires messages or clears
the backlog. It then goes on behind, without a word to the consumer.

Ids are also missing for good: what consumers do not see (markers, aborted transactions, what compaction removed), and
ledgers that are gone. So a cursor that stands where it began proves that nothing was skipped, and else a second
consumer is asked for what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.model.position import EARLIEST, Position

_MOST_LOOKS: Final = 8
"""More gaps are cheaper to read again."""

FirstBehind = Callable[[Position], Position | None]


def cut_where_skipped(
    entries: EntryBatch, following: Position, mark_delete: Callable[[], Position], first_behind: FirstBehind
) -> bool:
    """Whether the broker has skipped something: then `entries` are only those before it, and the consumer has to
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
        first = None if number == _MOST_LOOKS else first_behind(start)
        if number == _MOST_LOOKS or (first is not None and first < Position(*end)):
            entries.trim(EARLIEST.as_tuple(), start.as_tuple())
            return True
    return False
