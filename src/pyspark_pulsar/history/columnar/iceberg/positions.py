"""The positions that belong to the current snapshot of an Iceberg table. Driver only.

Each commit of this package writes the positions to the table property and to the snapshot's summary. The table property
remains when snapshots expire. However, the property can be wrong in two cases. A rollback or `CREATE OR REPLACE TABLE`
changes the current snapshot and not the property. A table that is created from another table's definition has a copy of
the other table's property. So this module searches the current snapshot and its ancestors, beginning with the latest,
and applies the first rule that matches:

    an ancestor is a commit of this package             the positions are in the ancestor's summary
    the oldest ancestor is the table's first snapshot   no positions exist, because no rows were added to this table
    a later snapshot has the same text as the property  the positions are unknown, because the table was rolled back
    older ancestors have expired                        the property is valid, and its commit has expired too

When a snapshot expires, pyiceberg removes the snapshot's id from its child snapshots. So a snapshot without a parent is
not necessarily the table's first snapshot. The first snapshot has the first sequence number, or added all of its files.
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
    """Return the document with the positions of the current snapshot, or None if these are unknown or do not exist.

    Args:
        metadata: The table's metadata.
        document: The positions document in the table property.

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
    """Return whether a snapshot without a parent is the table's first snapshot. Otherwise its parent has expired."""
    if (snapshot.sequence_number or _FIRST) <= _FIRST or snapshot.summary is None:
        return True
    summary = snapshot.summary.additional_properties
    files = summary.get("total-data-files")
    return files == summary.get("added-data-files", "0") and summary.get("deleted-data-files", "0") == "0"


def _document(snapshot: Snapshot) -> str | None:
    return None if snapshot.summary is None else snapshot.summary.additional_properties.get(POSITIONS)
