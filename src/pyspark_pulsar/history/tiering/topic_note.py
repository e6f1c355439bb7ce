"""Writes and removes the note of a topic (`columnar.tier_note`). Driver only.

The note is written before the first commit of a table, so a topic whose table has rows also has a note. A round writes
the note before its commit, so the note has earlier positions than the table until the next round. These earlier
positions are harmless. If the role is not allowed to change the properties of the topic, the topic is tiered without a
note. The process then logs one warning for the topic.
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
_warned_topics: Final[set[TopicName]] = set()
"""The topics for which this process has logged the warning about a missing note."""


def write_note(
    admin: AdminClient, tables: TopicTables, topic: TopicName, table: ColumnarTable, note: TierNote | None
) -> TierNote | None:
    """Write the note of a topic unless the note is up to date.

    Args:
        admin: The admin REST API.
        tables: The lookup that found the table. The note contains the settings of this lookup.
        topic: The topic, without partition suffix.
        table: The topic's table. The caller has checked that the table belongs to the topic.
        note: The topic's present note; None if the topic has no note.

    Returns:
        The topic's note after the call. If the role is not allowed to set properties of the topic, the result is
        `note`.

    """
    after = (note or TierNote("", "")).of_table(table, tables.identifier(topic), tables.catalog_place)
    if after == note:
        return after
    try:
        admin.topics.set_properties(topic, {TIER_NOTE: after.to_json()})
    except PermissionDenied as fault:
        if note is None and topic not in _warned_topics:
            _warned_topics.add(topic)
            _log.warning(
                "Naming the topic's table in the topic's properties failed, because the role is not allowed to set the "
                "property %s (%s). Run one round with an authorized role, to let reads detect a wrong or empty "
                "catalog: %s",
                TIER_NOTE, fault, topic,
            )  # fmt: skip
        return note
    return after


def remove_note(admin: AdminClient, topic: TopicName) -> bool:
    """Remove the note of a topic, and return whether the topic had one. Raises `TopicNotFoundError`."""
    topic = topic.without_partition()
    if TIER_NOTE not in admin.topics.properties(topic):
        return False
    admin.topics.remove_property(topic, TIER_NOTE)
    return True


def drop_table(admin: AdminClient, tables: TopicTables, topic: TopicName, *, keep_files: bool) -> bool:
    """Drop the table of a topic, and remove the topic's note if the note names this table.

    Args:
        admin: The admin REST API.
        tables: The lookup that finds the table's catalog and name.
        topic: The topic. The topic itself can already be deleted.
        keep_files: Whether to keep the table's files.

    Returns:
        True if the table existed.

    Raises:
        TierMismatch: The topic's note names another table than the dropped table, or the table does not exist.

    """
    topic, identifier = topic.without_partition(), tables.identifier(topic)
    note, found = fetch_note(admin, topic), None
    if note is not None:
        try:
            table = tables.catalog.load(identifier)
            found = None if table is None else table.id
        except ColumnsUnavailable:
            # A table that cannot be read has no known id, but can be dropped. So the name and the catalog identify the
            # table.
            is_named = (note.table, note.catalog) == (identifier, tables.catalog_place)
            found = note.id if is_named else None
    dropped = tables.catalog.drop(identifier, keep_files=keep_files)
    if note is not None and dropped and note.id == found:
        admin.topics.remove_property(topic, TIER_NOTE)
    elif note is not None:
        raise TierMismatch(
            f"topic {topic}: expected {note.place}, which contains the topic's history, got {tables.place(topic)}, "
            f"which {'was dropped' if dropped else 'does not exist'}; to tier the topic from scratch, run {BEGIN_AGAIN}"
        )
    return dropped
