"""What is forgotten of a Delta table: old states, files that only they had, and the table itself."""

from __future__ import annotations

import re
import time
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from pyspark_pulsar.history.columnar.delta.table_location import LOG, TableLocation
from pyspark_pulsar.history.columnar.delta.table_state import TableState

_COMMIT_FILE: Final = re.compile(r"\d{20}\.json")
_HOUR_MS: Final = 3_600_000


def expired(state: TableState, older_than_ms: int) -> tuple[TableState, int]:
    """The state behind, and how many commits the log has forgotten. Files that were removed from the table before that
    time (Unix milliseconds, rounded down to a whole hour ago) are deleted. Raises `ColumnsUnavailable`."""
    location = state.location
    hours = max(0, -(-(time.time_ns() // 1_000_000 - older_than_ms) // _HOUR_MS))
    with location.told():
        before = _commit_files(location)
        state.delta.vacuum(hours, dry_run=False, enforce_retention_duration=False)
        delta = location.load()
        delta.create_checkpoint()
        delta.cleanup_metadata()
        return TableState(location.load(), location), len(before - _commit_files(location))


def named_urls(state: TableState) -> set[str]:
    """Of the state's files, and of those that the log still calls removed. Raises `ColumnsUnavailable`."""
    location, delta = state.location, state.delta
    with location.told():
        tombstones = delta.vacuum(0, dry_run=True, enforce_retention_duration=False)
        paths = pa.table(delta.get_add_actions()).column("path").to_pylist()
    return {location.url_of(name) for name in [*map(location.name_of, paths), *tombstones]}


def removed(location: TableLocation, *, keep_files: bool) -> bool:
    """Whether there was a table. With `keep_files` its log stays too, under another name. Raises
    `ColumnsUnavailable`."""
    with location.told():
        system, path = location.storage.located(location.url)
        log = f"{path}/{LOG}"
        if system.get_file_info(log).type is not fs.FileType.Directory:
            return False
        if keep_files:
            _move(system, log, f"{log}.dropped-{time.time_ns() // 1_000_000}")
        else:
            system.delete_dir(log)  # Before the rest, so that no half of a table is left.
            system.delete_dir(path)
    return True


def listing(location: TableLocation, folder: str = "") -> list[fs.FileInfo]:
    """What lies in a folder of the location, and not deeper; nothing where there is none. Raises `OSError`."""
    system, path = location.storage.located(location.url)
    infos: list[fs.FileInfo] = system.get_file_info(fs.FileSelector(f"{path}/{folder}", allow_not_found=True))
    return infos


def _commit_files(location: TableLocation) -> set[str]:
    return {info.base_name for info in listing(location, LOG) if _COMMIT_FILE.fullmatch(info.base_name)}


def _move(system: Any, folder: str, to: str) -> None:
    """Stores of objects have no folders that could be renamed."""
    if isinstance(system, fs.LocalFileSystem):
        system.move(folder, to)
    else:
        fs.copy_files(folder, to, source_filesystem=system, destination_filesystem=system)
        system.delete_dir(folder)
