"""A check for entries that a broker has skipped although they exist. Executor only.

A broker may move the cursors of all subscriptions of a topic, even if retention keeps the skipped messages. In a
namespace with a message TTL, the broker moves the cursors every five minutes, to the first message that has not
expired. The broker also moves the cursors when a user expires messages or clears the backlog. After a move, the broker
continues at the new position, without notice to the consumer.

Other ids are missing permanently, because consumers do not see their entries (markers, aborted transactions, compacted
entries), or because their ledgers no longer exist. If the cursor is still at its first position, no entry was skipped.
Otherwise a second consumer reads at the missing ids.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.model.position import EARLIEST, Position

_MOST_LOOKS: Final = 8
"""Maximum number of gaps to check. With more gaps, reading the entries again is cheaper."""

FirstAfter = Callable[[Position], Position | None]


def cut_where_skipped(
    entries: EntryBatch, following: Position, mark_delete: Callable[[], Position], first_after: FirstAfter
) -> bool:
    """Return whether the broker has skipped entries, and cut `entries` to the part before the gap.

    If so, the consumer must begin again after that part.

    Args:
        entries: The next entries that the consumer received.
        following: The position of the entry that was expected next.
        mark_delete: Requests the position of the consumer's cursor.
        first_after: Requests the first position that a new consumer receives if it starts at the given position;
            None if the new consumer receives nothing.

    """
    gaps = entries.gaps((following.ledger, following.entry))
    if not gaps:
        return False
    # Only the broker moves the cursor, because the consumer never acknowledges.
    cursor = mark_delete()
    for number, (begin, end) in enumerate(gaps):
        start = Position(*begin)
        if cursor <= start:
            return False
        first = None if number == _MOST_LOOKS else first_after(start)
        if number == _MOST_LOOKS or (first is not None and first < Position(*end)):
            entries.trim(EARLIEST.as_tuple(), start.as_tuple())
            return True
    return False
