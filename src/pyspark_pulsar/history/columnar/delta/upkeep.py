"""Removes old states of a Delta table, the files that only they have, and whole tables."""

from __future__ import annotations

import re
import time
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from pyspark_pulsar.history.columnar.delta.place import LOG, TablePlace
from pyspark_pulsar.history.columnar.delta.state import TableState

_COMMIT_FILE: Final = re.compile(r"\d{20}\.json")
_HOUR_MS: Final = 3_600_000


def expire_states(state: TableState, older_than_ms: int) -> tuple[TableState, int]:
    """Remove commits from the log that its retention no longer keeps, and delete files that were removed before a time.

    Args:
        state: The table.
        older_than_ms: The time in Unix milliseconds. The age is rounded up to whole hours.

    Returns:
        The state after the removal, and the number of removed commits.

    Raises:
        ColumnsUnavailable: The table cannot be read or written.

    """
    place = state.place
    hours = max(0, -(-(time.time_ns() // 1_000_000 - older_than_ms) // _HOUR_MS))
    with place.translated_faults():
        before = _commit_files(place)
        state.delta.vacuum(hours, dry_run=False, enforce_retention_duration=False)
        delta = place.load()
        delta.create_checkpoint()
        delta.cleanup_metadata()
        return TableState(place.load(), place), len(before - _commit_files(place))


def named_urls(state: TableState) -> set[str]:
    """Return the URLs of the state's files, and of files that the log still lists as removed.

    Raises:
        ColumnsUnavailable: The table cannot be read.

    """
    place, delta = state.place, state.delta
    with place.translated_faults():
        tombstones = delta.vacuum(0, dry_run=True, enforce_retention_duration=False)
        paths = pa.table(delta.get_add_actions()).column("path").to_pylist()
    return {place.url_of(name) for name in [*map(place.name_of, paths), *tombstones]}


def drop_table(place: TablePlace, *, keep_files: bool) -> bool:
    """Drop a table. With `keep_files`, the log also stays, under another name.

    Returns:
        True if the table existed.

    Raises:
        ColumnsUnavailable: The table cannot be read or deleted.

    """
    with place.translated_faults():
        system, path = place.storage.located(place.url)
        log = f"{path}/{LOG}"
        if system.get_file_info(log).type is not fs.FileType.Directory:
            return False
        if keep_files:
            _move(system, log, f"{log}.dropped-{time.time_ns() // 1_000_000}")
        else:
            system.delete_dir(
                log
            )  # Without its log, a table with remaining files no longer counts as a table.
            system.delete_dir(path)
    return True


def listing(place: TablePlace, folder: str = "") -> list[fs.FileInfo]:
    """Return the direct contents of a folder, or nothing if the folder does not exist. Raises `OSError`."""
    system, path = place.storage.located(place.url)
    infos: list[fs.FileInfo] = system.get_file_info(fs.FileSelector(f"{path}/{folder}", allow_not_found=True))
    return infos


def _commit_files(place: TablePlace) -> set[str]:
    return {info.base_name for info in listing(place, LOG) if _COMMIT_FILE.fullmatch(info.base_name)}


def _move(system: Any, folder: str, to: str) -> None:
    """Rename a folder. Object stores have no folders to rename, so their files are copied."""
    if isinstance(system, fs.LocalFileSystem):
        system.move(folder, to)
    else:
        fs.copy_files(folder, to, source_filesystem=system, destination_filesystem=system)
        system.delete_dir(folder)
