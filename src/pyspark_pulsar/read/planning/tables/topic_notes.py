"""The records that topics have of their tables (`columnar.tier_note`), called notes. Driver only.

Each note costs a request for a topic. So a note is fetched only if a plan depends on one of these questions:

    situation                                                        question that the note answers
    the table does not contain the topic partition, and the range    was the topic tiered to another table, or to a
    begins at `earliest` or before the first ledger                  state that was removed?
    the whole range is in the table, so no ledger is listed          is the topic still the same?
    the table ends before the first existing ledger                  was the table reset to an older state, or were
                                                                     messages lost?
    the topic partition is younger than the table's rows             was the topic created again, or was its metadata
                                                                     moved?
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PermissionDenied, TopicNotFoundError
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.tier_note import TIER_NOTE, TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.runtime import time

_REFRESH_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _FetchedNote:
    """A topic's note, and the time when it was fetched, in seconds by the clock of `TopicNotes`."""

    note: TierNote | None
    at: float


class TopicNotes:
    """The notes of topics. Each note is used for a minute. Used by one thread."""

    def __init__(
        self, admin: AdminClient, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Store the arguments.

        `report` logs a text once. `clock` returns monotonic seconds. The caller closes `admin`.
        """
        self._admin = admin
        self._report = report
        self._clock = clock
        self._fetched: dict[TopicName, _FetchedNote] = {}

    def refresh(self, topics: Collection[TopicName], older_than: float | None = None) -> None:
        """Fetch the notes of topics that were not fetched within the last `older_than` seconds (default: a minute).

        Several notes are fetched at the same time. The errors of `fetch_note` are raised, but a missing permission is
        only logged.
        """
        kept = _REFRESH_SECONDS if older_than is None else older_than
        now = self._clock()
        stale = [
            topic for topic in topics if topic not in self._fetched or now - self._fetched[topic].at >= kept
        ]
        notes = self._admin.map(self._fetch, stale)
        self._fetched |= {topic: _FetchedNote(note, now) for topic, note in zip(stale, notes, strict=True)}

    def get(self, topic: TopicName) -> TierNote | None:
        """Return the topic's note; None if the topic has no note.

        A note that is older than a minute is fetched again.
        """
        self.refresh([topic])
        return self._fetched[topic].note

    def _fetch(self, topic: TopicName) -> TierNote | None:
        try:
            return fetch_note(self._admin, topic)
        except PermissionDenied as fault:
            self._report(f"it is unknown whether topics were tiered to other tables: {fault}")
            return None


def fetch_note(admin: AdminClient, topic: TopicName) -> TierNote | None:
    """Return the note of a topic; None if the topic has no note or does not exist.

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
    """Raise `TierMismatch` unless `table` is the table that the topic's note names, with all partitions of the note.

    A topic without a note names no table, so every table passes.
    """
    if note is None:
        return
    topic = topic.without_partition()
    note.check_table(topic, None if table is None else table.id, tables.place(topic))
    for index in note.ends if table is not None else ():
        partition = TopicPartition(topic, index)
        note.check_tiered(partition, table.positions.get(partition) if table is not None else None)
