"""Removal of old states of a Delta table, with the files that only these states use, and removal of whole tables."""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from pyspark_pulsar.history.columnar.delta.table_location import LOG, TableLocation
from pyspark_pulsar.history.columnar.delta.table_state import TableState
from pyspark_pulsar.runtime import time

_COMMIT_FILE: Final = re.compile(r"\d{20}\.json")
_HOUR_MS: Final = 3_600_000


def expire_states(state: TableState, older_than_ms: int) -> tuple[TableState, int]:
    """Remove expired commits from the log, and delete the data files that old commits removed from the table.

    Args:
        state: The table.
        older_than_ms: A time in Unix milliseconds. Files that were removed from the table before this time are deleted.
            The age of the time is rounded up to full hours.

    Returns:
        The state after the removal, and the number of removed commits.

    Raises:
        ColumnsUnavailable: The table cannot be read or written.

    """
    location = state.location
    hours = max(0, -(-(time.time_ns() // 1_000_000 - older_than_ms) // _HOUR_MS))
    with location.translated_faults():
        before = _commit_files(location)
        state.delta.vacuum(hours, dry_run=False, enforce_retention_duration=False)
        delta = location.load()
        delta.create_checkpoint()
        delta.cleanup_metadata()
        return TableState(location.load(), location), len(before - _commit_files(location))


def named_urls(state: TableState) -> set[str]:
    """Return the URLs of the data files of a state, and of the removed files that the log still lists.

    Raises:
        ColumnsUnavailable: The table cannot be read.

    """
    location, delta = state.location, state.delta
    with location.translated_faults():
        tombstones = delta.vacuum(0, dry_run=True, enforce_retention_duration=False)
        paths = pa.table(delta.get_add_actions()).column("path").to_pylist()
    return {location.url_of(name) for name in [*map(location.name_of, paths), *tombstones]}


def drop_table(location: TableLocation, *, keep_files: bool) -> bool:
    """Drop a table. With `keep_files`, the data files are kept, and the log is kept under another name.

    Returns:
        True if the table existed.

    Raises:
        ColumnsUnavailable: The table cannot be read or deleted.

    """
    with location.translated_faults():
        system, path = location.storage.locate(location.url)
        log = f"{path}/{LOG}"
        if system.get_file_info(log).type is not fs.FileType.Directory:
            return False
        if keep_files:
            _move(system, log, f"{log}.dropped-{time.time_ns() // 1_000_000}")
        else:
            # The log is deleted first. Without a log, the folder is not a table, even if files remain.
            system.delete_dir(log)
            system.delete_dir(path)
    return True


def listing(location: TableLocation, folder: str = "") -> list[fs.FileInfo]:
    """Return the direct contents of a folder, or an empty list if the folder does not exist. Raises `OSError`."""
    system, path = location.storage.locate(location.url)
    infos: list[fs.FileInfo] = system.get_file_info(fs.FileSelector(f"{path}/{folder}", allow_not_found=True))
    return infos


def _commit_files(location: TableLocation) -> set[str]:
    return {info.base_name for info in listing(location, LOG) if _COMMIT_FILE.fullmatch(info.base_name)}


def _move(system: Any, folder: str, to: str) -> None:
    """Rename a folder. In an object store, the files are copied, because object stores cannot rename a folder."""
    if isinstance(system, fs.LocalFileSystem):
        system.move(folder, to)
    else:
        fs.copy_files(folder, to, source_filesystem=system, destination_filesystem=system)
        system.delete_dir(folder)
