"""The notes of topics about their tables (`columnar.tier_note`), fetched if rows of a plan depend on them. Driver only.

Each note costs a request for a topic. So a note is fetched only to answer these questions:

    the table lacks the topic partition, and the range begins at `earliest` or before the first ledger
                                         was it tiered to another table, or to a state that was removed?
    the table holds the whole range      no ledger is listed: is the topic still the same?
    the table ends before the first existing ledger
                                         did the table go back to an older state, or were messages lost?
    the topic partition is younger than the table's rows
                                         was the topic created again, or was its metadata moved?
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

_REFRESH_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _FetchedNote:
    """A topic's note, and when it was fetched, in seconds by the clock of `TopicNotes`."""

    note: TierNote | None
    at: float


class TopicNotes:
    """The notes of topics, kept for a minute. Used by one thread."""

    def __init__(
        self, admin: AdminClient, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`report` logs a text once. `clock` returns seconds. The caller closes `admin`."""
        self._admin = admin
        self._report = report
        self._clock = clock
        self._fetched: dict[TopicName, _FetchedNote] = {}

    def refresh(self, topics: Collection[TopicName], older_than: float | None = None) -> None:
        """Fetch the notes of topics that were not fetched within `older_than` seconds (default: a minute).

        Fetches several at the same time. Raises the errors of `fetch_note`, but logs a missing permission.
        """
        kept = _REFRESH_SECONDS if older_than is None else older_than
        now = self._clock()
        stale = [
            topic for topic in topics if topic not in self._fetched or now - self._fetched[topic].at >= kept
        ]
        notes = self._admin.map(self._fetch, stale)
        self._fetched |= {topic: _FetchedNote(note, now) for topic, note in zip(stale, notes, strict=True)}

    def get(self, topic: TopicName) -> TierNote | None:
        """Return the topic's note, fetched if the known one is too old; None if the topic has none."""
        self.refresh([topic])
        return self._fetched[topic].note

    def _fetch(self, topic: TopicName) -> TierNote | None:
        try:
            return fetch_note(self._admin, topic)
        except PermissionDenied as fault:
            self._report(f"it is unknown whether topics were tiered to other tables: {fault}")
            return None


def fetch_note(admin: AdminClient, topic: TopicName) -> TierNote | None:
    """Return the note of a topic; None if it has no note, or if the topic does not exist.

    Raises `ProtocolError` for a note that this version cannot parse, and the errors of `AdminClient`.
    """
    try:
        text = admin.topics.properties(topic.without_partition()).get(TIER_NOTE)
    except TopicNotFoundError:
        return None
    return None if text is None else TierNote.from_json(text, topic.without_partition())


def check_note(
    topic: TopicName, note: TierNote | None, tables: TopicTables, table: ColumnarTable | None
) -> None:
    """Raise `TierMismatch` unless the table (or None) is the one that the topic's note names, with all its partitions.

    A topic without a note names no table, so every table passes.
    """
    if note is None:
        return
    topic = topic.without_partition()
    note.check_table(topic, None if table is None else table.id, tables.place(topic))
    for index in note.ends if table is not None else ():
        partition = TopicPartition(topic, index)
        note.check_tiered(partition, table.positions.get(partition) if table is not None else None)
