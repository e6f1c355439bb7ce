"""Conversion of audits to tables, with rows for the attempts of tasks or with rows for ledgers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from pyspark_pulsar.read.task.audit_files import AuditFile, AuditPart

_TIME = pa.timestamp("us", "UTC")

ATTEMPTS = pa.schema(
    {
        "run": pa.string(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "ledger": pa.int64(),
        "last_ledger": pa.int64(),
        "reader": pa.string(),
        "start": pa.string(),
        "end": pa.string(),
        "first": pa.string(),
        "last": pa.string(),
        "expected": pa.int64(),
        "entries": pa.int64(),
        "messages": pa.int64(),
        "bytes": pa.int64(),
        "short": pa.bool_(),
        "fallback": pa.string(),
        "seconds": pa.float64(),
        "split_start": pa.string(),
        "split_end": pa.string(),
        "task": pa.int64(),
        "attempt": pa.int32(),
        "state": pa.string(),
        "error": pa.string(),
        "counts": pa.bool_(),
        "finished": _TIME,
    }
)
LEDGERS = pa.schema(
    {
        "run": pa.string(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "ledger": pa.int64(),
        "last_ledger": pa.int64(),
        "readers": pa.list_(pa.string()),
        "first": pa.string(),
        "last": pa.string(),
        "expected": pa.int64(),
        "entries": pa.int64(),
        "messages": pa.int64(),
        "bytes": pa.int64(),
        "short": pa.bool_(),
        "splits": pa.int32(),
        "repeated": pa.int32(),
        "fallbacks": pa.list_(pa.string()),
        "seconds": pa.float64(),
        "finished": _TIME,
    }
)


@dataclass(frozen=True, slots=True)
class _Row:
    """A part of a ledger that an attempt has read.

    Attributes:
        counts: Whether the ledger's numbers include this attempt. The numbers include only one attempt of each split:
            the first attempt that finished. If no attempt finished, the numbers include the last failed attempt.

    """

    file: AuditFile
    part: AuditPart
    counts: bool


def attempts_table(files: Sequence[AuditFile]) -> pa.Table:
    """Return a table with the schema `ATTEMPTS` and one row for each part of a ledger that an attempt has read."""
    return pa.Table.from_pylist([_attempt(row) for row in _rows(files)], ATTEMPTS)


def ledgers_table(files: Sequence[AuditFile]) -> pa.Table:
    """Return a table with the schema `LEDGERS` and one row for each ledger of a run.

    Each entry is counted once, even if several attempts of a task, or several evaluations of a DataFrame, have read the
    entry. The column `repeated` contains the number of tasks whose reads are not counted.
    """
    groups: dict[tuple[str, str, int, int, int], list[_Row]] = {}
    for row in _rows(files):
        key = (
            row.file.run, row.file.topic, row.file.partition, row.part.ledger, row.part.last_ledger,
        )  # fmt: skip
        groups.setdefault(key, []).append(row)
    ordered = sorted(
        groups.values(), key=lambda rows: (_first_finished(files, rows[0].file.run), _place(rows[0]))
    )
    return pa.Table.from_pylist([_ledger(rows) for rows in ordered], LEDGERS)


def _rows(files: Sequence[AuditFile]) -> list[_Row]:
    chosen: dict[tuple[str, ...], AuditFile] = {}
    for file in files:
        split = _split(file)
        if split not in chosen or chosen[split].state == "failed":
            chosen[split] = file
    return [_Row(file, part, file is chosen[_split(file)]) for file in files for part in file.parts]


def _split(file: AuditFile) -> tuple[str, ...]:
    return (file.run, file.topic, str(file.partition), file.start, file.end, str(file.slots))


def _is_first_by_key(file: AuditFile) -> bool:
    """Return whether the ledger's numbers include the entries of a split.

    If a range is split by key, all its splits read the same entries, so only the first of these splits is included.
    """
    return file.slots is None or file.slots[0] == 0


def _first_finished(files: Iterable[AuditFile], run: str) -> int:
    return min(file.finished_ms for file in files if file.run == run)


def _place(row: _Row) -> tuple[str, str, int, int, int]:
    return (row.file.run, row.file.topic, row.file.partition, row.part.ledger, row.part.last_ledger)


def _attempt(row: _Row) -> dict[str, Any]:
    file, part = row.file, row.part
    return {
        "run": file.run,
        "topic": file.topic,
        "partition": file.partition,
        "ledger": part.ledger,
        "last_ledger": part.last_ledger,
        "reader": part.reader,
        "start": part.start,
        "end": part.end,
        "first": part.first,
        "last": part.last,
        "expected": part.expected,
        "entries": part.entries,
        "messages": part.messages,
        "bytes": part.size,
        "short": part.short,
        "fallback": part.fallback,
        "seconds": part.seconds,
        "split_start": file.start,
        "split_end": file.end,
        "task": file.task,
        "attempt": file.attempt,
        "state": file.state,
        "error": file.error,
        "counts": row.counts,
        "finished": _moment(file.finished_ms),
    }


def _ledger(rows: Sequence[_Row]) -> dict[str, Any]:
    counted = [row.part for row in rows if row.counts and _is_first_by_key(row.file)]
    parts = counted or [row.part for row in rows]
    known = [part.expected for part in parts if part.expected is not None]
    return {
        "run": rows[0].file.run,
        "topic": rows[0].file.topic,
        "partition": rows[0].file.partition,
        "ledger": rows[0].part.ledger,
        "last_ledger": rows[0].part.last_ledger,
        "readers": list(dict.fromkeys(part.reader for part in parts)),
        "first": min((part.first for part in parts if part.first), key=_numbers, default=None),
        "last": max((part.last for part in parts if part.last), key=_numbers, default=None),
        "expected": sum(known) if len(known) == len(parts) else None,
        "entries": sum(part.entries for part in parts),
        "messages": sum(part.messages for part in parts),
        "bytes": sum(part.size for part in parts),
        "short": any(part.short for part in parts),
        "splits": len({_split(row.file) for row in rows}),
        "repeated": len({row.file.task for row in rows if not row.counts}),
        "fallbacks": [part.fallback for part in parts if part.fallback],
        "seconds": sum(part.seconds for part in parts),
        "finished": _moment(max(row.file.finished_ms for row in rows)),
    }


def _numbers(place: str) -> tuple[int, ...]:
    return tuple(int(part) for part in place.split(":"))


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
