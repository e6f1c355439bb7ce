"""Text forms of numbers, times and rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

_STEP = 1024
_DELETE = "\x7f"


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON in printable ASCII. Times are ISO 8601."""
    # DEL is the only unprintable ASCII character that `json.dumps` does not escape.
    return json.dumps(row, default=lambda time: time.isoformat()).replace(_DELETE, "\\u007f")


def human_bytes(size: int | None) -> str:
    """Return a size as text such as `1.5 MiB`, or `?` if the size is unknown."""
    if size is None:
        return "?"
    number, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        # A number that rounds to 1024 is shown in the next unit.
        if number < _STEP - 0.05:
            break
        number, unit = number / _STEP, larger
    return f"{size} B" if unit == "B" else f"{number:.1f} {unit}"


def human_count(number: int | None) -> str:
    """Return a number as text with grouped thousands, or `?` if the number is unknown."""
    return "?" if number is None else f"{number:,}"


def human_time(moment: datetime | None) -> str:
    """Return a time as text, in UTC and whole seconds; an empty text for None."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def plural(number: int, word: str) -> str:
    """Return a number and its noun, in the singular or plural."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def ranges(numbers: Sequence[int]) -> str:
    """Return sorted numbers as ranges such as `3-7, 12`; a long list is shortened."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    shown = ["-".join(map(str, run)) for run in runs]
    most = 6
    if len(shown) > most:
        shown = [*shown[: most - 1], "...", shown[-1]]
    return ", ".join(shown)
