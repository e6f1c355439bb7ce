"""The audit files that tasks write if option `auditPath` is set: one small JSON document for each task attempt.

    <auditPath>/<run>/<task>-<random>.json

No program can read an incomplete file. If the file system can rename, a file is first written with a name that begins
with a dot. Object stores show a file only when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyarrow import fs

from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.runtime import secrets

_VERSION: Final = 1
_SUFFIX: Final = ".json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AuditPart:
    """The counts of one reader for one range of a split."""

    reader: str
    ledger: int
    last_ledger: int
    """The id of the last ledger.

    The id differs from `ledger` only if the broker has sent entries of several ledgers.
    """
    start: str
    """The start of the range, as a position in the form of `startingOffsets`. `end` is the end (exclusive)."""
    end: str
    first: str | None
    """The first received entry, as `ledger:entry`. `last` is the last received entry."""
    last: str | None
    expected: int | None
    """Expected number of entries.

    The number is None if the reader is the broker, because the broker does not send all stored entries.
    """
    entries: int
    messages: int
    """Number of messages in these entries, including messages outside of the range and messages that a filter drops."""
    size: int
    """Size of these entries in bytes."""
    short: bool
    fallback: str | None
    """The reason why this reader has read the range instead of another reader; None if the range was planned for it."""
    seconds: float
    """Seconds from the reader's first request to its last entry, including decoding and waiting for Spark."""


@dataclass(frozen=True, slots=True)
class AuditFile:
    """The audit of one task attempt."""

    run: str
    topic: str
    partition: int
    start: str
    """Start of the split. The topic, the partition, `start` and `end` together identify the split within a run."""
    end: str
    attempt: int
    task: int
    state: str
    """The state of the task attempt: `finished` or `failed`."""
    error: str | None
    finished_ms: int
    seconds: float
    parts: tuple[AuditPart, ...]
    slots: tuple[int, int] | None = None
    """Hash slots of a split by key; the second number is exclusive.

    Several splits by key share a range, and each split reads all entries of the range."""


def write_audit(path: str, document: AuditFile) -> None:
    """Write an audit to the folder `path`. Raises `OptionError` if the folder cannot be written."""
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

    _wrap_faults(path, "that tasks can write to", write)


def audit_files(path: str) -> list[AuditFile]:
    """Return all audits in the folder `path`, sorted by the time when they finished. Raises `OptionError`."""

    def read() -> list[AuditFile]:
        store, folder = _open(path)
        listed = store.get_file_info(fs.FileSelector(folder, recursive=True))
        names = [
            info.path
            for info in listed
            if info.is_file and info.extension == _SUFFIX[1:] and not info.base_name.startswith(".")
        ]
        return map_concurrently(lambda name: _parse(store, name), names)

    return sorted(_wrap_faults(path, "of audits", read), key=lambda file: (file.finished_ms, file.task))


def _wrap_faults(path: str, purpose: str, action: Callable[[], T]) -> T:
    try:
        return action()
    except (OSError, pa.ArrowException) as fault:
        raise OptionError(
            f"option 'auditPath': expected a folder {purpose}, got {path!r} ({fault}); correct the path, or the "
            f"permissions of the folder"
        ) from None


def _open(path: str) -> tuple[fs.FileSystem, str]:
    # Spark names the scheme `s3a`, but Arrow names it `s3`.
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
            f"{name}: expected an audit, got another file ({fault!r}); use the folder that auditPath named"
        ) from None
