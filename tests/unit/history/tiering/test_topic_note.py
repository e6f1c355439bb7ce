"""Writing the note of a topic: when it is needed, and the report to a role without the permission."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fixtures.columnar import IDENTIFIER, TOPIC, add_ledger, definition

from pyspark_pulsar.errors import PermissionDenied, TierMismatch
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.tier_note import TIER_NOTE, TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.topic_note import drop_table, write_note
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions, parse_options

NAME = TopicName.parse(TOPIC)


@dataclass
class Admin:
    """A topic's properties, as `AdminClient` reaches them."""

    properties: dict[str, str] = field(default_factory=dict)
    may_change: bool = True
    changes: int = 0

    @property
    def topics(self) -> Any:
        return SimpleNamespace(
            properties=lambda _: dict(self.properties),
            set_properties=self._set,
            remove_property=lambda _, key: self.properties.pop(key),
        )

    def _set(self, topic: TopicName, properties: dict[str, str]) -> None:
        assert topic == NAME
        if not self.may_change:
            raise PermissionDenied("403")
        self.changes += 1
        self.properties |= properties


@pytest.fixture
def tables(tmp_path: Path) -> TopicTables:
    catalog = json.dumps({"type": "delta", "path": str(tmp_path)})
    given = {"service.url": "pulsar://h:1", "admin.url": "http://h:1", "topic": TOPIC, "tierCatalog": catalog}
    return TopicTables(parse_options(ReadOptions, {**given, "tierTable": "ns.{topic}"}))


@pytest.fixture
def table(tables: TopicTables) -> ColumnarTable:
    return tables.catalog.create(IDENTIFIER, definition())


def test_a_note_is_written_before_rows_and_when_they_are_there(
    tables: TopicTables, table: ColumnarTable, tmp_path: Path
) -> None:
    admin: Any = Admin()
    note = write_note(admin, tables, NAME, table, None)
    assert note == TierNote(IDENTIFIER, table.id, {"type": "delta", "path": str(tmp_path)})
    assert TierNote.from_json(admin.properties[TIER_NOTE], NAME) == note
    assert write_note(admin, tables, NAME, table, note) == note
    add_ledger(table, 1)
    later = write_note(admin, tables, NAME, table, note)
    assert later is not None
    assert (later.ends, admin.changes) == ({0: Position(2, 0)}, 2)


def test_a_role_that_may_not_change_properties(
    tables: TopicTables, table: ColumnarTable, caplog: pytest.LogCaptureFixture
) -> None:
    admin: Any = Admin(may_change=False)
    for _ in range(2):
        assert write_note(admin, tables, NAME, table, None) is None
    assert caplog.text.count("Naming the topic's table in the topic's properties failed") == 1
    # The place is known, so only a weaker note is left.
    note = TierNote(IDENTIFIER, table.id)
    assert write_note(admin, tables, NAME, table, note) == note


def test_dropping_another_table_than_that_of_the_note(tables: TopicTables, table: ColumnarTable) -> None:
    admin: Any = Admin({TIER_NOTE: TierNote("ns.other", "id-1").to_json()})
    for word in ("was dropped", "does not exist"):
        with pytest.raises(TierMismatch, match=rf"expected table ns\.other .* which {word}"):
            drop_table(admin, tables, NAME, keep_files=True)
    assert TIER_NOTE in admin.properties
    assert table.id


def test_a_table_that_cannot_be_read_can_be_dropped(tables: TopicTables, table: ColumnarTable) -> None:
    admin: Any = Admin()
    write_note(admin, tables, NAME, table, None)
    for commit in Path(table.name.removeprefix("file://"), "_delta_log").glob("*.json"):
        commit.write_text("{broken")
    assert drop_table(admin, tables, NAME, keep_files=False)
    assert admin.properties == {}
