"""Positions outlive what other engines do to a Delta table's log."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from fixtures.columnar import (
    TOPIC,
    add_ledger,
    append_commit,
    ledgers,
    loaded,
    optimize,
    positions_after,
    vacuum,
    values,
)

from pyspark_pulsar.errors import TierMismatch
from pyspark_pulsar.history.columnar.delta.positions import positions_of
from pyspark_pulsar.history.columnar.delta.table import DeltaFolder
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.model.topic import TopicName


def from_numbers(table: Any) -> TieredPositions:
    return positions_of(TopicName.parse(TOPIC), table._state._numbers)


def test_positions_are_numbers_too(folder: DeltaFolder, table: Any) -> None:
    for ledger in (3, 4):
        add_ledger(table, ledger)
        assert from_numbers(loaded(folder)) == loaded(folder).positions == positions_after(ledger)


def forget_log(table: Any) -> None:
    """Leave a checkpoint and the last commit, which is none of ours."""
    delta = DeltaTable(table.name)
    delta.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
    optimize(delta)
    delta = DeltaTable(table.name)
    delta.create_checkpoint()
    time.sleep(0.01)
    delta.cleanup_metadata()


def test_positions_outlive_the_log(folder: DeltaFolder, table: Any, tmp_path: Path) -> None:
    forget_log(table)
    vacuum(DeltaTable(table.name))
    commits = [path.read_text() for path in (tmp_path / "ns" / "t" / "_delta_log").glob("*.json")]
    assert not any("pulsar.positions" in commit for commit in commits)
    table = loaded(folder)
    assert table.positions == positions_after(2)
    assert values(table) == ledgers(1, 2)
    add_ledger(table, 3)
    assert (values(table), loaded(folder).positions) == (ledgers(1, 2, 3), positions_after(3))


def test_positions_are_found_before_many_commits_of_others(folder: DeltaFolder, table: Any) -> None:
    for _ in range(12):
        append_commit(Path(table.name.removeprefix("file://")), {"commitInfo": {"operation": "OTHER"}})
    assert loaded(folder).positions == positions_after(2)


def test_positions_are_those_of_the_state(folder: DeltaFolder, table: Any) -> None:
    """The history that delta-rs shows has later commits, whose rows would be left out."""
    stale = loaded(folder)
    add_ledger(table, 3)
    assert stale.positions == positions_after(2)
    assert len(stale.files()) == 2


def test_numbers_that_expire_are_an_error(folder: DeltaFolder, table: Any) -> None:
    path = Path(table.name.removeprefix("file://"))
    append_commit(path, {"txn": {"appId": "pulsar.positions/0/end.ledger", "version": 2}})
    forget_log(table)
    with pytest.raises(TierMismatch, match="some numbers are missing or of another commit"):
        _ = loaded(folder).positions


def test_positions_of_a_table_that_is_restored_go_back_with_its_files(
    folder: DeltaFolder, table: Any
) -> None:
    before = DeltaTable(table.name).version()
    for ledger in (3, 4):
        add_ledger(table, ledger)
    DeltaTable(table.name).restore(before)
    table = loaded(folder)
    assert (values(table), table.positions) == (ledgers(1, 2), positions_after(2))
    add_ledger(table, 3)
    assert (values(table), loaded(folder).positions) == (ledgers(1, 2, 3), positions_after(3))
    assert from_numbers(loaded(folder)) == positions_after(3)


@pytest.mark.parametrize("others", [0, 15, 40])
def test_positions_go_back_however_long_ago_a_table_was_restored(
    others: int, folder: DeltaFolder, table: Any
) -> None:
    """Transaction identifiers stay where they are: by these, ledgers 3 and 4 would count as tiered and be left out."""
    before = DeltaTable(table.name).version()
    for ledger in (3, 4):
        add_ledger(table, ledger)
    path = Path(table.name.removeprefix("file://"))
    for _ in range(others):
        append_commit(path, {"commitInfo": {"operation": "OTHER"}})
    DeltaTable(table.name).restore(before)
    for _ in range(others):
        append_commit(path, {"commitInfo": {"operation": "OTHER"}})
    assert (values(table), loaded(folder).positions) == (ledgers(1, 2), positions_after(2))


def test_a_table_that_is_restored_to_a_version_that_the_log_forgot(folder: DeltaFolder, table: Any) -> None:
    path = Path(table.name.removeprefix("file://"))
    forget_log(table)
    kept = DeltaTable(table.name).version()
    add_ledger(loaded(folder), 3)
    information = {"operation": "RESTORE", "operationParameters": {"version": str(kept)}}
    append_commit(path, {"commitInfo": information})
    with pytest.raises(TierMismatch, match="a log without these positions"):
        _ = loaded(folder).positions


def test_a_table_that_is_restored_to_a_time(folder: DeltaFolder, table: Any) -> None:
    path = Path(table.name.removeprefix("file://"))
    information = {"operation": "RESTORE", "operationParameters": {"timestamp": "2026-01-31"}}
    append_commit(path, {"commitInfo": information})
    with pytest.raises(TierMismatch, match="restore the table to a version, not to a time"):
        _ = loaded(folder).positions
