"""Commits to a Delta table: two at the same time, upkeep by other engines in between, and answers that are
lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pytest
from deltalake import CommitProperties, DeltaTable, Field, Transaction
from fixtures.columnar import (
    IDENTIFIER,
    add_ledger,
    append_commit,
    definition,
    last_commit,
    ledgers,
    loaded,
    optimize,
    positions_after,
    rows_of,
    vacuum,
    values,
    written,
)

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.delta.commit import write_commit
from pyspark_pulsar.history.columnar.delta.positions import COMMITS
from pyspark_pulsar.history.columnar.delta.table import DeltaColumnarTable, DeltaFolder
from pyspark_pulsar.history.columnar.table import TableMoved

ByOthers = Callable[[DeltaTable], Any]


# Two commits at the same time


def test_of_two_commits_upon_one_state_one_wins(folder: DeltaFolder, table: Any) -> None:
    first, second = loaded(folder), loaded(folder)
    files = written(second, rows_of(3))
    add_ledger(first, 3)
    with pytest.raises(TableMoved):
        second.commit(files, positions_after(3))
    assert values(table) == ledgers(1, 2, 3)
    assert loaded(folder).positions == positions_after(3)


def test_files_without_positions_would_be_committed_twice(folder: DeltaFolder) -> None:
    """The control of tierers that are killed: one that commits files, and has not committed positions."""
    table = folder.create(IDENTIFIER, definition())
    table.commit(written(table, rows_of(1)), table.positions)
    after = loaded(folder)
    assert (after.positions.partitions, values(after)) == ({}, ledgers(1))
    add_ledger(after, 1)
    assert values(loaded(folder)) == sorted(ledgers(1) * 2)


def test_a_commit_that_only_moves_positions_counts_as_well(folder: DeltaFolder, table: Any) -> None:
    first, second = loaded(folder), loaded(folder)
    first.commit([], positions_after(5))
    with pytest.raises(TableMoved):
        add_ledger(second, 3)
    assert (values(table), loaded(folder).positions) == (ledgers(1, 2), positions_after(5))


@pytest.mark.parametrize(
    ("fenced", "retries", "fault"),
    [
        (False, None, None),
        (True, None, "Concurrent transaction failed"),
        (False, 0, "Failed to commit transaction: 0"),
        (True, 0, "Failed to commit transaction: 0"),
    ],
)
def test_retries_of_delta_rs_let_both_land_but_for_the_fence(
    fenced: bool, retries: int | None, fault: str | None, folder: DeltaFolder, table: Any
) -> None:
    """The control of the tests above: what delta-rs does by itself, here with the add action of another commit."""
    files = written(table, rows_of(3))
    add = table._add_action(files[0], is_change=True)
    properties = CommitProperties(
        max_commit_retries=retries, app_transactions=[Transaction(COMMITS, 3)] if fenced else None
    )
    stale = DeltaTable(table.name)
    add_ledger(loaded(folder), 3)

    def commit() -> None:
        stale.create_write_transaction([add], "append", stale.schema(), commit_properties=properties)

    if fault is None:
        commit()
        assert values(table) == sorted([*ledgers(1, 2), *ledgers(3) * 2])
    else:
        with pytest.raises(deltalake.exceptions.CommitFailedError, match=fault):
            commit()
        assert values(table) == ledgers(1, 2, 3)


def test_many_tierers_at_once(folder: DeltaFolder) -> None:
    """Each writer continues from the table that it sees, as rounds do; each ledger must be committed once."""
    folder.create(IDENTIFIER, definition())
    last, lost, ready = 12, [0] * 4, threading.Barrier(4)

    def tier(number: int) -> None:
        ready.wait()
        while True:
            table = loaded(folder)
            tiered = [one.end.ledger for one in table.positions.partitions.values()]
            following = max(tiered, default=1)
            if following > last:
                return
            try:
                add_ledger(table, following)
            except TableMoved:
                lost[number] += 1

    threads = [threading.Thread(target=tier, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert values(loaded(folder)) == ledgers(*range(1, last + 1))
    assert sum(lost) > 0


def test_of_two_that_make_a_table_one_wins(folder: DeltaFolder) -> None:
    ready, outcomes = threading.Barrier(4), []

    def create() -> None:
        ready.wait()
        try:
            folder.create(IDENTIFIER, definition())
            outcomes.append("made")
        except TableMoved:
            outcomes.append("moved")

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["made", "moved", "moved", "moved"]
    assert DeltaTable(loaded(folder).name).version() == 0


# Commits of other engines in between


@pytest.mark.parametrize("by_others", [optimize, vacuum])
def test_a_commit_succeeds_after_upkeep_by_others(
    by_others: ByOthers, folder: DeltaFolder, table: Any
) -> None:
    optimize(DeltaTable(table.name))  # So that a vacuum finds something.
    table = loaded(folder)
    version = table.version
    by_others(DeltaTable(table.name))
    add_ledger(table, 3)
    assert values(table) == ledgers(1, 2, 3)
    assert table.positions == loaded(folder).positions == positions_after(3)
    assert table.version == loaded(folder).version != version


@pytest.mark.parametrize(
    "by_others",
    [
        lambda delta: delta.alter.set_table_properties({"delta.checkpointInterval": "5"}),
        lambda delta: delta.alter.add_columns([Field("more", "long")]),
    ],
)
def test_a_commit_is_refused_after_a_change_of_columns_or_settings(
    by_others: ByOthers, folder: DeltaFolder, table: Any
) -> None:
    files = written(table, rows_of(3))
    by_others(DeltaTable(table.name))
    with pytest.raises(TableMoved, match="Failed to commit"):
        table.commit(files, positions_after(3))
    assert values(loaded(folder)) == ledgers(1, 2)


def test_files_are_replaced(folder: DeltaFolder, table: Any, tmp_path: Path) -> None:
    old = table.files()
    table.commit(written(table, rows_of(1), rows_of(2)), table.positions, old)
    assert values(table) == ledgers(1, 2)
    assert [file.ledgers for file in table.files()] == [(1, 2)]
    actions = last_commit(tmp_path / "ns" / "t")
    files = [action[kind] for action in actions for kind in ("add", "remove") if kind in action]
    assert [file["dataChange"] for file in files] == [False] * 3
    assert table.known_urls() > {file.url for file in old}
    assert table.positions == positions_after(2)


def test_files_are_not_replaced_after_a_commit_of_others(folder: DeltaFolder, table: Any) -> None:
    for by_others in (optimize, lambda _: add_ledger(loaded(folder), 3)):
        stale = loaded(folder)
        old, new = stale.files(), written(stale, rows_of(1), rows_of(2))
        by_others(DeltaTable(table.name))
        with pytest.raises(TableMoved):
            stale.commit(new, stale.positions, old)
    assert values(table) == ledgers(1, 2, 3)


def test_files_are_not_replaced_after_a_commit_of_others_at_the_last_moment(
    folder: DeltaFolder, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = DeltaColumnarTable._note

    def note_and_optimize(self: DeltaColumnarTable, notes: dict[str, str]) -> None:
        note(self, notes)
        optimize(DeltaTable(self.name))

    monkeypatch.setattr(DeltaColumnarTable, "_note", note_and_optimize)
    old, new = table.files(), written(table, rows_of(1), rows_of(2))
    with pytest.raises(TableMoved):
        table.commit(new, table.positions, old)
    assert values(table) == ledgers(1, 2)


def test_a_rearrangement_of_others_that_began_before_ours_is_refused(folder: DeltaFolder, table: Any) -> None:
    stale = DeltaTable(table.name)
    table.commit(written(table, rows_of(1), rows_of(2)), table.positions, table.files())
    with pytest.raises(deltalake.exceptions.CommitFailedError, match="Metadata changed"):
        optimize(stale)
    assert values(table) == ledgers(1, 2)


# Faults


def test_a_commit_whose_answer_is_lost_is_done(folder: DeltaFolder, table: Any) -> None:
    state, file = table._state, written(table, rows_of(3))[0]

    def write(delta: DeltaTable, properties: CommitProperties) -> None:
        delta.create_write_transaction(
            [table._add_action(file, is_change=True)], "append", delta.schema(), commit_properties=properties
        )
        raise OSError("the connection was reset")

    assert write_commit(state, write).version == state.version + 1
    assert values(table) == ledgers(1, 2, 3)


def test_a_commit_with_an_unknown_result(table: Any) -> None:
    def write(delta: DeltaTable, properties: CommitProperties) -> None:
        raise OSError("the connection was reset")

    with pytest.raises(ColumnsUnavailable, match="the connection was reset; reload the table"):
        write_commit(table._state, write)


def test_a_table_that_takes_no_commit_is_no_lost_race(folder: DeltaFolder) -> None:
    table = folder.create(IDENTIFIER, definition(**{"delta.appendOnly": "true"}))
    add_ledger(table, 1)
    with pytest.raises(deltalake.exceptions.CommitFailedError):
        DeltaTable(table.name).delete("value > 0")
    path = Path(table.name.removeprefix("file://"))
    append_commit(path, {"protocol": {
        "minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly", "invariants", "unheardOf"],
    }})  # fmt: skip
    with pytest.raises(ColumnsUnavailable):
        add_ledger(loaded(folder), 2)
