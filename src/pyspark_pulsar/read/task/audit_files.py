"""The files that tasks write where option `auditPath` says: one small JSON document for each task attempt.

    <auditPath>/<run>/<task>-<random>.json

A file is there whole or not at all: where a file system can rename, it is written under a name that begins with a dot
first; object stores show what is written when it is complete.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyarrow import fs

from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import OptionError

_VERSION: Final = 1
_SUFFIX: Final = ".json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AuditPart:
    """What one reader has given of one range of a split."""

    reader: str
    ledger: int
    last_ledger: int
    """The same as `ledger`, but for what the broker has given of several."""
    start: str
    """Positions as in `startingOffsets`; `end` is exclusive."""
    end: str
    first: str | None
    """The first and the last entry that came, `ledger:entry`."""
    last: str | None
    expected: int | None
    """Entries; None from the broker, which does not send all that it stores."""
    entries: int
    messages: int
    """In these entries, also those outside the range and those that a filter drops."""
    size: int
    """Bytes of these entries."""
    short: bool
    fallback: str | None
    """Why this reader went on where another was to read."""
    seconds: float
    """From the reader's first request to its last entry, decoding and Spark's taking included."""


@dataclass(frozen=True, slots=True)
class AuditFile:
    """What one task attempt has done."""

    run: str
    topic: str
    partition: int
    start: str
    """Of the split; with topic, partition and `end` it names it within a run."""
    end: str
    attempt: int
    task: int
    state: str
    """`finished` or `failed`."""
    error: str | None
    finished_ms: int
    seconds: float
    parts: tuple[AuditPart, ...]
    slots: tuple[int, int] | None = None
    """Of a split by key, which hash slots, the second exclusive. Each such split of a range reads all its entries."""


def write_audit(path: str, document: AuditFile) -> None:
    """Raises `OptionError` where that is not possible."""
    text = json.dumps({"version": _VERSION, **asdict(document)}, ensure_ascii=False)

    def write() -> None:
        store, folder = _open(path)
        name = f"{document.task}-{secrets.token_hex(8)}{_SUFFIX}"
        home = f"{folder}/{document.run or 'run'}"
        if not isinstance(store, (fs.LocalFileSystem, fs.HadoopFileSystem)):
            _put(store, f"{home}/{name}", text)
            return
        store.create_dir(home, recursive=True)
        _put(store, f"{home}/.{name}", text)
        store.move(f"{home}/.{name}", f"{home}/{name}")

    _told(path, "that tasks can write", write)


def audit_files(path: str) -> list[AuditFile]:
    """All that were written there, in the order in which they were finished. Raises `OptionError`."""

    def read() -> list[AuditFile]:
        store, folder = _open(path)
        listed = store.get_file_info(fs.FileSelector(folder, recursive=True))
        names = [
            info.path
            for info in listed
            if info.is_file and info.extension == _SUFFIX[1:] and not info.base_name.startswith(".")
        ]
        return map_concurrently(lambda name: _parse(store, name), names)

    return sorted(_told(path, "of audits", read), key=lambda file: (file.finished_ms, file.task))


def _told(path: str, purpose: str, action: Callable[[], T]) -> T:
    try:
        return action()
    except (OSError, pa.ArrowException) as fault:
        raise OptionError(f"option 'auditPath': expected a folder {purpose}, got {path!r}: {fault}") from None


def _open(path: str) -> tuple[fs.FileSystem, str]:
    # Spark says s3a where Arrow says s3.
    url = "s3://" + path.removeprefix("s3a://") if path.startswith("s3a://") else path
    if "://" not in url:
        return fs.LocalFileSystem(), url.rstrip("/") or "/"
    store, folder = fs.FileSystem.from_uri(url)
    return store, folder.rstrip("/")


def _put(store: fs.FileSystem, name: str, text: str) -> None:
    with store.open_output_stream(name) as target:
        target.write(text.encode())


def _parse(store: fs.FileSystem, name: str) -> AuditFile:
    with store.open_input_stream(name) as source:
        data = source.read()
    try:
        document: dict[str, Any] = json.loads(data)
        version = document.pop("version")
        if version != _VERSION:
            raise OptionError(
                f"{name}: expected an audit of version {_VERSION}, got version {version}; use the version of "
                f"pyspark-pulsar that wrote it"
            )
        parts = tuple(AuditPart(**part) for part in document.pop("parts"))
        slots = document.pop("slots", None)
        return AuditFile(**document, parts=parts, slots=tuple(slots) if slots else None)
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        if isinstance(fault, OptionError):
            raise
        raise OptionError(
            f"{name}: expected an audit, got another file ({fault!r}); give the folder that auditPath named"
        ) from None
