"""The note of a topic, `columnar.tier_note`, as tiering writes and removes it. Driver only.

A note is written before the first commit of a table, so a table with rows always has one. How far the topic is tiered
is added at the next round: a round that dies in between leaves a note that is behind its table, which is harmless. A
role that may not change the topic tiers it without a note, and is told once what it goes without.
"""

from __future__ import annotations

import logging
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import ColumnsUnavailable, PermissionDenied, TierMismatch
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.tier_note import BEGIN_AGAIN, TIER_NOTE, TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.read.planning.tables.topic_notes import fetch_note

_log: Final = logging.getLogger(__name__)
_told: Final[set[TopicName]] = set()
"""The topics of which this process has said that they have no note."""


def write_note(
    admin: AdminClient, tables: TopicTables, topic: TopicName, table: ColumnarTable, note: TierNote | None
) -> TierNote | None:
    """Write the note of a topic unless it says all already.

    Args:
        admin: The admin REST API.
        tables: The settings by which the table was found.
        topic: The topic, without partition suffix.
        table: The topic's table, which the caller has compared with the topic.
        note: What the topic says now.

    Returns:
        What the topic says after that: the same as before where the role may not set properties of the topic.

    """
    after = (note or TierNote("", "")).of_table(table, tables.identifier(topic), tables.catalog_place)
    if after == note:
        return after
    try:
        admin.topics.set_properties(topic, {TIER_NOTE: after.to_json()})
    except PermissionDenied as fault:
        if note is None and topic not in _told:
            _told.add(topic)
            _log.warning(
                "topic %s: its property %s does not say which table it is tiered to, since the role may not set it "
                "(%s). A catalog's place that is empty, or another table, will not be noticed. Grant the role the "
                "right to change the topic's properties, or run one round with a role that has it",
                topic, TIER_NOTE, fault,
            )  # fmt: skip
        return note
    return after


def remove_note(admin: AdminClient, topic: TopicName) -> bool:
    """Remove the note of a topic, whatever it says, and return whether there was one. Raises `TopicNotFoundError`."""
    topic = topic.without_partition()
    if TIER_NOTE not in admin.topics.properties(topic):
        return False
    admin.topics.remove_property(topic, TIER_NOTE)
    return True


def drop_table(admin: AdminClient, tables: TopicTables, topic: TopicName, *, keep_files: bool) -> bool:
    """Drop the table of a topic and remove the note that names it.

    Args:
        admin: The admin REST API.
        tables: The settings by which the table is found.
        topic: The topic, which may be deleted already.
        keep_files: Whether the table's files stay.

    Returns:
        Whether there was a table.

    Raises:
        TierMismatch: The topic names another table than the one that was found, which is dropped, or than none.

    """
    topic, identifier = topic.without_partition(), tables.identifier(topic)
    note, found = fetch_note(admin, topic), None
    if note is not None:
        try:
            table = tables.catalog.load(identifier)
            found = None if table is None else table.id
        except ColumnsUnavailable:
            # A table that cannot be read can be dropped, and its name tells which it is.
            is_named = (note.table, note.catalog) == (identifier, tables.catalog_place)
            found = note.id if is_named else None
    dropped = tables.catalog.drop(identifier, keep_files=keep_files)
    if note is not None and dropped and note.id == found:
        admin.topics.remove_property(topic, TIER_NOTE)
    elif note is not None:
        raise TierMismatch(
            f"topic {topic}: its history is in {note.place}, and not in {tables.place(topic)}, which "
            f"{'is dropped' if dropped else 'does not exist'}. If the history is to begin again, run {BEGIN_AGAIN}"
        )
    return dropped
