"""The positions of an Iceberg table are from its current snapshot, whatever its property contains."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from fixtures.columnar import IDENTIFIER, add_ledger, definition, loaded, positions_after, rows_of
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from pyspark_pulsar.errors import TierMismatch
from pyspark_pulsar.history.columnar.iceberg.catalog import IcebergCatalog
from pyspark_pulsar.history.columnar.iceberg.positions import positions_of_snapshot
from pyspark_pulsar.history.columnar.table import POSITIONS


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}"}


@pytest.fixture
def catalog(properties: dict[str, str]) -> IcebergCatalog:
    return IcebergCatalog.open("default", properties)


@pytest.fixture
def theirs(properties: dict[str, str]) -> Catalog:
    """The catalog, as another engine opens it."""
    return load_catalog("default", **properties)


@pytest.fixture
def snapshots(catalog: IcebergCatalog, theirs: Catalog) -> list[int]:
    """Return the positions of a table with ledgers 1, 2 and 3, a commit each."""
    table = catalog.create(IDENTIFIER, definition())
    for ledger in (1, 2, 3):
        add_ledger(table, ledger)
    return [snapshot.snapshot_id for snapshot in theirs.load_table(IDENTIFIER).metadata.snapshots]


def append(theirs: Catalog) -> None:
    """A commit of another engine."""
    table = theirs.load_table(IDENTIFIER)
    kinds = table.schema().as_arrow()
    rows = pa.Table.from_batches([rows_of(9)])
    if "__tieredBy" in kinds.names:
        rows = rows.append_column("__tieredBy", pa.nulls(3, pa.int64()))
    table.append(rows.cast(kinds))


def roll_back(theirs: Catalog, snapshot: int) -> None:
    theirs.load_table(IDENTIFIER).manage_snapshots().rollback_to_snapshot(snapshot).commit()


def expire(theirs: Catalog, *snapshots: int) -> None:
    theirs.load_table(IDENTIFIER).maintenance.expire_snapshots().by_ids(list(snapshots)).commit()


def test_a_new_table_has_none(catalog: IcebergCatalog, theirs: Catalog) -> None:
    assert not catalog.create(IDENTIFIER, definition()).positions.partitions
    append(theirs)
    assert not loaded(catalog).positions.partitions


@pytest.mark.usefixtures("snapshots")
def test_commits_of_others_move_nothing(catalog: IcebergCatalog, theirs: Catalog) -> None:
    append(theirs)
    append(theirs)
    assert loaded(catalog).positions == positions_after(3)


def test_a_table_that_is_rolled_back(catalog: IcebergCatalog, theirs: Catalog, snapshots: list[int]) -> None:
    roll_back(theirs, snapshots[0])
    assert loaded(catalog).positions == positions_after(1)
    append(theirs)
    table = loaded(catalog)
    assert table.positions == positions_after(1)
    add_ledger(table, 2)
    assert table.positions == loaded(catalog).positions == positions_after(2)


def test_snapshots_that_expired(catalog: IcebergCatalog, theirs: Catalog, snapshots: list[int]) -> None:
    append(theirs)
    expire(theirs, *snapshots)
    assert loaded(catalog).positions == positions_after(3)


def test_snapshots_that_expired_but_for_one_with_a_tag(
    catalog: IcebergCatalog, theirs: Catalog, snapshots: list[int]
) -> None:
    theirs.load_table(IDENTIFIER).manage_snapshots().create_tag(snapshots[2], "kept").commit()
    append(theirs)
    between = theirs.load_table(IDENTIFIER).current_snapshot()
    assert between is not None
    append(theirs)
    expire(theirs, *snapshots[:2], between.snapshot_id)
    assert loaded(catalog).positions == positions_after(3)


def test_a_rollback_to_a_state_whose_commit_expired(
    catalog: IcebergCatalog, theirs: Catalog, snapshots: list[int]
) -> None:
    """The state has ledgers 1 to 3, but no record of them exists any more; ledger 4 is in another snapshot."""
    append(theirs)
    snapshot = theirs.load_table(IDENTIFIER).current_snapshot()
    assert snapshot is not None
    add_ledger(loaded(catalog), 4)
    roll_back(theirs, snapshot.snapshot_id)
    expire(theirs, *snapshots)
    with pytest.raises(
        TierMismatch, match=r"expected a commit of pyspark-pulsar among the ancestors .* rolled back"
    ):
        _ = loaded(catalog).positions


@pytest.mark.parametrize("rows", [0, 3])
def test_a_table_that_is_made_from_the_definition_of_another(
    rows: int, catalog: IcebergCatalog, theirs: Catalog, snapshots: list[int]
) -> None:
    assert snapshots
    table = theirs.load_table(IDENTIFIER)
    copied = table.scan(limit=rows).to_arrow()
    theirs.drop_table(IDENTIFIER)
    made = theirs.create_table(
        IDENTIFIER, table.schema(), partition_spec=table.spec(), properties=table.properties
    )
    if rows:
        made.append(copied)
    with pytest.raises(TierMismatch, match="created as a copy of another table"):
        _ = loaded(catalog).positions


@pytest.mark.parametrize("is_expired", [False, True])
def test_a_table_that_was_replaced(
    is_expired: bool,
    catalog: IcebergCatalog,
    theirs: Catalog,
    snapshots: list[int],
) -> None:
    """Replace the table as CREATE OR REPLACE TABLE does: the same identity and properties, a snapshot without
    parent.
    """
    metadata = theirs.load_table(IDENTIFIER).metadata
    first = metadata.snapshots[0]
    assert first.summary is not None
    files = {key: text for key, text in first.summary.additional_properties.items() if key != POSITIONS}
    replaced = Snapshot(  # type: ignore[call-arg]
        snapshot_id=77, sequence_number=4, timestamp_ms=first.timestamp_ms, manifest_list=first.manifest_list,
        summary=Summary(Operation.APPEND, **files),
    )  # fmt: skip
    kept = [] if is_expired else metadata.snapshots
    assert len(snapshots) == len(metadata.snapshots)
    changed = metadata.model_copy(update={"snapshots": [*kept, replaced], "current_snapshot_id": 77})
    assert positions_of_snapshot(changed, metadata.properties[POSITIONS]) is None
    assert loaded(catalog).positions == positions_after(3)
