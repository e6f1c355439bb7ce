"""What topics say of their tables (`columnar.tier_note`), asked where rows of a plan depend on it. Driver only.

A note costs a request for each topic, so it is asked for only where nothing else tells:

    the table lacks the topic partition, and the range begins at earliest or before the first ledger
                                         was it tiered to another table, or to a state that is gone?
    the table holds the whole range      no ledger is asked for: is it still the same topic?
    the table ends before the first ledger that is left
                                         did the table go back, or was something lost?
    the topic partition is younger than the table's rows
                                         was it made again, or was its metadata moved?
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PermissionDenied, TopicNotFoundError
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.tier_note import TIER_NOTE, TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.model.topic import TopicName, TopicPartition

_LOOK_AGAIN_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Asked:
    note: TierNote | None
    at: float
    """Seconds, by the clock of `TopicNotes`."""


class TopicNotes:
    """The notes of topics, kept for a minute. Used by one thread."""

    def __init__(
        self, admin: AdminClient, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`tell`: tells the user something once. `clock`: seconds. The caller closes `admin`."""
        self._admin = admin
        self._tell = tell
        self._clock = clock
        self._asked: dict[TopicName, _Asked] = {}

    def refresh(self, topics: Collection[TopicName], older_than: float | None = None) -> None:
        """Ask for the notes of topics that were not asked for within so many seconds, a minute by default; some at
        once. Raises the errors of `fetch_note` but for a missing right, which is logged."""
        kept = _LOOK_AGAIN_SECONDS if older_than is None else older_than
        now = self._clock()
        stale = [topic for topic in topics if topic not in self._asked or now - self._asked[topic].at >= kept]
        notes = self._admin.map(self._fetch, stale)
        self._asked |= {topic: _Asked(note, now) for topic, note in zip(stale, notes, strict=True)}

    def of(self, topic: TopicName) -> TierNote | None:
        """Return the note as it was told last; None where the topic has none. Asks where it was not told yet."""
        self.refresh([topic])
        return self._asked[topic].note

    def _fetch(self, topic: TopicName) -> TierNote | None:
        try:
            return fetch_note(self._admin, topic)
        except PermissionDenied as fault:
            self._tell(f"it is not known whether topics were tiered to other tables: {fault}")
            return None


def fetch_note(admin: AdminClient, topic: TopicName) -> TierNote | None:
    """Return the note of a topic; None where it has none, or where there is no such topic. Raises `ProtocolError` for a
    note that this version cannot read, and the errors of `AdminClient`."""
    try:
        text = admin.topics.properties(topic.without_partition()).get(TIER_NOTE)
    except TopicNotFoundError:
        return None
    return None if text is None else TierNote.from_json(text, topic.without_partition())


def check_note(
    topic: TopicName, note: TierNote | None, tables: TopicTables, table: ColumnarTable | None
) -> None:
    """Raise `TierMismatch` unless the table, None for none, is the one that the topic names, with all topic partitions
    that it had. A topic without a note names none."""
    if note is None:
        return
    topic = topic.without_partition()
    note.check_table(topic, None if table is None else table.id, tables.place(topic))
    for index in note.ends if table is not None else ():
        partition = TopicPartition(topic, index)
        note.check_tiered(partition, table.positions.of(partition) if table is not None else None)
