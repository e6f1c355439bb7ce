"""Results of reads, and the differences between two reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from soak.evolution.entries import NUMBER
from soak.evolution.steps import BAD_ROWS

from pyspark_pulsar.errors import PulsarError, TieringFailed

Positions = dict[int, tuple[int, int]]
"""The ledger and the entry of each message, by its number."""
NOT_COMPARED = ("__topic", "__messageId")


@dataclass(frozen=True)
class Difference:
    """A forbidden difference between a read and the broker's."""

    kind: str
    text: str


def outcome_of(read: Callable[[], pa.Table]) -> pa.Table | Exception:
    """Return the rows of a read, or its error."""
    try:
        return read()
    except Exception as fault:  # noqa: BLE001 - an error of any class is what is compared
        return fault


def is_named(outcome: object) -> bool:
    """Return whether users are meant to see the error."""
    return isinstance(outcome, PulsarError) and not isinstance(outcome, TieringFailed)


def difference(
    expected: pa.Table | Exception,
    found: pa.Table | Exception,
    positions: Positions,
    *,
    is_json: bool = False,
) -> Difference | None:
    """Return how `found` differs from `expected`; a named error instead of rows is no difference.

    With `is_json` the texts of messages that do not decode may differ. A table keeps the members and values of a JSON
    message that was good when it was tiered, but not its text.
    """
    for outcome, whose in ((expected, "broker"), (found, "union")):
        if isinstance(outcome, Exception) and not is_named(outcome):
            return Difference(f"raw {type(outcome).__name__} of the {whose}", f"{outcome!r:.800}")
    if isinstance(found, Exception):
        return None
    if isinstance(expected, Exception):
        return Difference("rows in place of an error", f"{found.num_rows} rows; broker: {expected!r:.600}")
    if is_json and BAD_ROWS in expected.column_names and BAD_ROWS in found.column_names:
        expected, found = _without_texts(expected), _without_texts(found)
    return _of_rows(expected, found, positions)


def _without_texts(rows: pa.Table) -> pa.Table:
    index = rows.column_names.index(BAD_ROWS)
    return rows.set_column(index, BAD_ROWS, rows[BAD_ROWS].is_valid())


def _of_rows(expected: pa.Table, found: pa.Table, positions: Positions) -> Difference | None:
    if expected.column_names != found.column_names:
        return Difference("columns", f"{found.column_names}, broker: {expected.column_names}")
    wanted, numbers = numbers_of(expected), numbers_of(found)
    if wanted != numbers:
        return Difference("rows", f"messages {numbers}, broker: {wanted}")
    places = [(each["ledger"], each["entry"]) for each in found["__messageId"].to_pylist()]
    if places != [positions[number] for number in numbers]:
        return Difference("positions", f"{places}, sent to {[positions[number] for number in numbers]}")
    for name in expected.column_names:
        if name not in NOT_COMPARED and (told := _of_cells(name, expected[name], found[name], numbers)):
            return told
    return None


def _of_cells(
    name: str, expected: pa.ChunkedArray, found: pa.ChunkedArray, numbers: list[int]
) -> Difference | None:
    if found.equals(expected):
        return None
    for number, wanted, cell in zip(numbers, expected.to_pylist(), found.to_pylist(), strict=True):
        if _canonical(wanted) != _canonical(cell):
            return Difference("cells", f"{name} of message {number}: {cell!r:.300}, broker: {wanted!r:.300}")
    return None


def _canonical(cell: Any) -> Any:
    """Convert a cell so that NaN equals itself, and so do times of any zone."""
    match cell:
        case dict():
            return {key: _canonical(value) for key, value in cell.items()}
        case list() | tuple():
            return [_canonical(value) for value in cell]
        case dt.datetime(tzinfo=zone) if zone is not None:
            return cell.astimezone(dt.UTC).isoformat()
    return repr(cell)


def numbers_of(table: pa.Table) -> list[int]:
    """Return the number of each row's message, in the order of the rows."""
    return [int(dict(properties)[NUMBER]) for properties in table["__messageProperties"].to_pylist()]


def sorted_by_position(table: pa.Table) -> pa.Table:
    """Sort the rows of a query in SQL, which have no order."""
    order: list[tuple[Any, ...]] = [tuple(each.values())[:3] for each in table["__messageId"].to_pylist()]
    return table.take(pa.array(sorted(range(len(order)), key=order.__getitem__), pa.int64()))
