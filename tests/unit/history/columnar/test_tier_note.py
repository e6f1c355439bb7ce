"""The note in which a topic names its table."""

from __future__ import annotations

from typing import Any

import pytest
from fixtures.columnar import PARTITION, TOPIC, add_ledger

from pyspark_pulsar.errors import ProtocolError, TierMismatch
from pyspark_pulsar.history.columnar.positions import TieredPartition
from pyspark_pulsar.history.columnar.tier_note import TierNote, catalog_place
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName

NAME = TopicName.parse(TOPIC)
NOTE = TierNote("ns.t", "id-1", {"type": "sql"}, {-1: Position(3, 0), 12: Position(7, 5)})


def test_a_note_is_read_as_it_was_written() -> None:
    assert TierNote.from_json(NOTE.to_json(), NAME) == NOTE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "expected a note that pyspark-pulsar wrote"),
        ("[]", "expected a note that pyspark-pulsar wrote"),
        ('{"version": 1, "table": "t"}', "run pyspark-pulsar tier forget to remove the note"),
        ('{"version": 2}', "expected a note in format version 1, got format version 2"),
    ],
)
def test_a_note_of_somebody_else(text: str, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        TierNote.from_json(text, NAME)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql+psycopg2://me:hush@db:5432/c?password=hush#hush", "postgresql+psycopg2://db:5432/c"),
        ("postgresql://me:hu/sh@hush@db/c", "postgresql://db/c"),
        ("https://hush-hush@rest/api", "https://rest/api"),
        ("sqlite:////data/a@b/catalog.db", "sqlite:////data/a@b/catalog.db"),
        ("s3://bucket/ware@house", "s3://bucket/ware@house"),
    ],
)
def test_places_of_catalogs_have_no_secrets(given: str, shown: str) -> None:
    settings = {"type": "sql", "uri": given, "token": "hush-hush", "s3.secret-access-key": "hush"}
    assert catalog_place(settings) == {"type": "sql", "uri": shown}
    assert catalog_place({"warehouse": "w/hush-hush", "token": "hush-hush"}) == {"warehouse": "w/***"}


def test_ends_of_a_note_never_go_back(table: Any) -> None:
    note = TierNote("", "").of_table(table, "ns.t", {})
    assert (note.id, note.ends) == (table.id, {0: Position(3, 0)})
    add_ledger(table, 3)
    later = note.of_table(table, "ns.t", {})
    assert later.ends == {0: Position(4, 0)}
    assert TierNote("ns.t", table.id, {}, {0: Position(9, 0)}).of_table(table, "ns.t", {}).ends == {
        0: Position(9, 0)
    }
    # The positions of another table are of no use.
    assert TierNote("ns.t", "id-1", {}, {0: Position(9, 0)}).of_table(table, "ns.t", {}) == later


def test_invalid_notes_are_refused() -> None:
    note = TierNote("ns.t", "id-1", {"type": "sql"}, {0: Position(7, 0)})
    note.check_table(NAME, "id-1", "table ns.t")
    note.check_tiered(PARTITION, TieredPartition(Position(1, 0)))
    note.check_end(PARTITION, TieredPartition(Position(7, 0)))
    with pytest.raises(TierMismatch, match=r"expected table ns\.t \(id id-1\).*got no table ns\.u"):
        note.check_table(NAME, None, "table ns.u")
    with pytest.raises(TierMismatch, match=r"got table ns\.t, whose id is id-2"):
        note.check_table(NAME, "id-2", "table ns.t")
    with pytest.raises(TierMismatch, match="up to 7:0:0, as before, got no messages"):
        note.check_tiered(PARTITION, None)
    with pytest.raises(TierMismatch, match="up to 7:0:0, as before, got messages up to 6:9:0"):
        note.check_end(PARTITION, TieredPartition(Position(6, 9)))
