"""The positions that belong to the current snapshot of an Iceberg table. Driver only.

Each of our commits writes the positions twice: to the table's property, which remains when snapshots expire, and to the
snapshot's summary. A rollback moves the current snapshot back and leaves the property unchanged. So do `CREATE OR
REPLACE TABLE`, and a table that is created from another table's definition. So the positions are from our last commit
among the snapshot's ancestors. The first matching rule applies:

    an ancestor is one of our commits                   the positions in its summary
    the oldest ancestor is the table's beginning        none: the rows were never added to this table
    a later snapshot has the property's text            unknown: the table was rolled back
    older ancestors are expired                         the property: our commit is expired too

When a snapshot expires, pyiceberg removes it as the parent of its children. So a snapshot without a parent is the
beginning only if it is the table's first one, or if it added all of its files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark_pulsar.history.columnar.table import POSITIONS

_FIRST: Final = 1
"""The sequence number of a table's first snapshot."""

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot


def positions_of_snapshot(metadata: TableMetadata, document: str) -> str | None:
    """Return the document with the positions of the current snapshot, or None if they are unknown or do not exist.

    Args:
        metadata: The table's metadata.
        document: The document in the table's property.

    """
    by_id = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    number, oldest = metadata.current_snapshot_id, None
    while number is not None and (snapshot := by_id.get(number)) is not None:
        own = _document(snapshot)
        if own is not None:
            return own
        number, oldest = snapshot.parent_snapshot_id, snapshot
    if oldest is None or (number is None and _is_beginning(oldest)):
        return None
    reached = oldest.sequence_number or 0
    is_rolled_back = any(
        _document(other) == document and (other.sequence_number or 0) > reached
        for other in metadata.snapshots
    )
    return None if is_rolled_back else document


def _is_beginning(snapshot: Snapshot) -> bool:
    """Return whether a snapshot without a parent never had one."""
    if (snapshot.sequence_number or _FIRST) <= _FIRST or snapshot.summary is None:
        return True
    summary = snapshot.summary.additional_properties
    files = summary.get("total-data-files")
    return files == summary.get("added-data-files", "0") and summary.get("deleted-data-files", "0") == "0"


def _document(snapshot: Snapshot) -> str | None:
    return None if snapshot.summary is None else snapshot.summary.additional_properties.get(POSITIONS)
