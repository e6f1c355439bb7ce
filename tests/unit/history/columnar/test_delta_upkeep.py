"""The effect of this package's upkeep on a Delta table."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from fixtures.columnar import (
    IDENTIFIER,
    add_ledger,
    definition,
    ledgers,
    loaded,
    positions_after,
    rows_of,
    values,
    written,
)

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.delta.table import DeltaFolder
from pyspark_pulsar.history.tiering.upkeep import compact, small_neighbors, sweep


def test_neighbours_become_one_file(folder: DeltaFolder) -> None:
    """Return the files of one partition whose rows one schema tiered."""
    table = folder.create(IDENTIFIER, definition("day(__publishTime)", "item"))
    for ledger, item in enumerate(("a", "a", None, None), 1):
        add_ledger(table, ledger, item=item)
    for ledger in (5, 6):
        add_ledger(table, ledger, item=None, more=ledger)
    before = rows_in(table)
    assert compact(loaded(folder)) == (6, 3)
    after = loaded(folder)
    files = {file.ledgers: file for file in after.files()}
    assert files.keys() == {(1, 2), (3, 4), (5, 6)}
    for bounds, file in files.items():
        with after.rows.storage.open_input(file.url) as source:
            assert ("more" in pq.read_schema(source).names) == (bounds == (5, 6))
    assert rows_in(after) == before
    assert after.positions == positions_after(6)
    assert compact(after) == (0, 0)


def test_files_of_other_engines_stay(folder: DeltaFolder, table: Any) -> None:
    """Their rows are in any order, but a file of this package promises the order of positions."""
    rows = DeltaTable(table.name).to_pyarrow_table()
    backwards = rows.sort_by([("value", "descending")])
    write_deltalake(table.name, backwards.slice(3), mode="overwrite")
    write_deltalake(table.name, backwards.slice(0, 3), mode="append")
    theirs = loaded(folder)
    assert [len(group) for group in small_neighbors(theirs.files(), 1 << 20)] == [2]
    assert compact(theirs) == (0, 0)
    assert values(theirs) == ledgers(1, 2)


def part(first: int, last: int, size: int = 10, key: str = "k", **further: Any) -> DataFile:
    """A file with the ledgers from `first` to `last`."""
    return DataFile(
        f"{key}{first}",
        size,
        1,
        partitions=(0, 0),
        ledgers=(first, last),
        entries=(0, 9),
        key=(key,),
        **{"tiered_by": (7, 7), **further},
    )


@pytest.mark.parametrize(
    ("files", "joined"),
    [
        ([part(1, 1), part(2, 2), part(3, 3)], [[1, 2, 3]]),
        # Large, or with deleted rows, or of other columns: it stays, and what is around it stays apart.
        ([part(1, 1), part(2, 2, size=900), part(3, 3)], []),
        ([part(1, 1), part(2, 2), part(3, 3, size=900), part(4, 4), part(5, 5)], [[1, 2], [4, 5]]),
        ([part(1, 1), part(2, 2, deletes=("d",)), part(3, 3)], []),
        ([part(1, 1), part(2, 2, columns=frozenset([1])), part(3, 3)], []),
        ([part(1, 1), part(2, 2, tiered_by=(8, 8)), part(3, 3), part(4, 4)], [[3, 4]]),
        ([part(1, 1), part(2, 2, tiered_by=(7, 8)), part(3, 3, tiered_by=None)], []),
        # Other keys have rows of the same ledgers.
        ([part(1, 2), part(1, 2, size=900, key="other"), part(3, 4)], [[1, 3]]),
        ([part(1, 2), part(2, 3)], []),
    ],
)
def test_only_neighbours_are_joined(files: list[DataFile], joined: list[list[int]]) -> None:
    found = [[file.ledgers[0] for file in group if file.ledgers] for group in small_neighbors(files, 1000)]
    assert found == joined
    assert list(small_neighbors(files[::-1], 1000)) == list(small_neighbors(files, 1000))


def rows_in(table: Any) -> list[dict[str, Any]]:
    """Return the rows as delta-rs reads them."""
    rows = pa.table(DeltaTable(table.name).scan(columns=["value", "item", "more"]).read_all())
    return sorted(rows.to_pylist(), key=lambda row: row["value"])


def test_files_that_no_commit_names_are_swept(folder: DeltaFolder, table: Any) -> None:
    old = table.files()
    written(table, rows_of(3))
    table.commit(written(table, rows_of(1), rows_of(2)), table.positions, old)
    assert sweep(loaded(folder)) == 0
    # The log still knows what it has removed.
    assert sweep(loaded(folder), older_than=-10) == 1
    assert table.known_urls() > {file.url for file in old}
    add_ledger(loaded(folder), 3)
    assert values(table) == ledgers(1, 2, 3)


def test_old_states_are_forgotten(folder: DeltaFolder, table: Any, tmp_path: Path) -> None:
    old = table.files()
    table.commit(written(table, rows_of(1), rows_of(2)), table.positions, old)
    now = time.time_ns() // 1_000_000
    assert table.expire(now - 3_600_000) == 0
    assert len(list(tmp_path.rglob("*-0-*.parquet"))) == 3
    DeltaTable(table.name).alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
    time.sleep(0.01)
    table = loaded(folder)
    assert table.expire(now + 10_000) > 0
    assert len(list(tmp_path.rglob("*-0-*.parquet"))) == 1
    assert values(table) == ledgers(1, 2)
    assert table.positions == loaded(folder).positions == positions_after(2)
    add_ledger(table, 3)
    assert values(table) == ledgers(1, 2, 3)


def test_a_file_that_cannot_be_read_is_named(table: Any) -> None:
    """The file is not one of the files that may not be joined."""
    url = table.files()[0].url
    path = Path(url.removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ColumnsUnavailable, match=re.escape(f"data file {url} cannot be read: ArrowInvalid")):
        compact(table)
