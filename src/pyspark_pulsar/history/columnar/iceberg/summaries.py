"""Snapshot summaries for commits with partition keys that Python cannot write as dates. Driver only.

To count partition keys, pyiceberg converts each partition key of a commit to text. The conversion raises OverflowError
or ValueError for days and hours outside the years 1 to 9999. Readers do not need these texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Summary


def tolerate_unwritable_keys(update: Any) -> Any:
    """Change an update so that partition keys without a text cause no error.

    If the text of one key cannot be computed, the summary of the update does not count partition keys at all.

    Args:
        update: The result of pyiceberg's `fast_append` or `overwrite`. The function changes this object.

    """
    with_keys = update._summary  # noqa: SLF001 - pyiceberg has no setting for the summary

    def summary(properties: dict[str, str]) -> Summary:
        try:
            counted: Summary = with_keys(properties)
        except (OverflowError, ValueError):
            counted = _count_without_keys(update, properties)
        return counted

    update._summary = summary  # noqa: SLF001
    return update


def _count_without_keys(update: Any, properties: dict[str, str]) -> Summary:
    from pyiceberg.table.snapshots import Summary, UpdateMetrics, update_snapshot_summaries

    counts = UpdateMetrics()
    for file in update._added_data_files:  # noqa: SLF001
        counts.add_file(file)
    for file in update._deleted_data_files:  # noqa: SLF001
        counts.remove_file(file)
    parent = update._parent_snapshot_id  # noqa: SLF001
    metadata = update._transaction.table_metadata  # noqa: SLF001
    before = None if parent is None else metadata.snapshot_by_id(parent)
    return update_snapshot_summaries(
        Summary(operation=update._operation, **counts.to_dict(), **properties),  # noqa: SLF001
        None if before is None else before.summary,
    )
