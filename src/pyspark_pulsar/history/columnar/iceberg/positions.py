"""The positions that belong to the current snapshot of an Iceberg table. Driver only.

Each commit of ours writes the positions twice: into the table's property, which outlives expired snapshots, and into
the summary of the snapshot. A rollback moves the current snapshot back and leaves the property as it is, and so do
`CREATE OR REPLACE TABLE` and a table that is made from the definition of another. So the positions are those of the
last commit of ours among the snapshot's ancestors:

    an ancestor is a commit of ours                     the positions in its summary
    else, the oldest ancestor is the table's beginning  none: the rows were never added to this table
    else, a later snapshot has the property's text      unknown: the table was rolled back
    else, older ancestors are expired                   the property: our commit is expired too

pyiceberg takes the parent of an expired snapshot out of its children, so a snapshot without parent is a beginning only
if it is the table's first one, or if all of its files are its own.
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
    """Return the document of the positions of the current snapshot; None where it is not known or there is none.

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
    """Return whether a snapshot without parent never had one."""
    if (snapshot.sequence_number or _FIRST) <= _FIRST or snapshot.summary is None:
        return True
    told = snapshot.summary.additional_properties
    files = told.get("total-data-files")
    return files == told.get("added-data-files", "0") and told.get("deleted-data-files", "0") == "0"


def _document(snapshot: Snapshot) -> str | None:
    return None if snapshot.summary is None else snapshot.summary.additional_properties.get(POSITIONS)
