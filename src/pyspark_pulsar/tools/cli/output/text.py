"""Numbers, times and rows as they are printed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

_STEP = 1024
_DELETE = "\x7f"


def json_line(row: Mapping[str, Any]) -> str:
    """In ASCII that prints; times are ISO 8601."""
    # The one character of ASCII that JSON leaves as it is and that does not print.
    return json.dumps(row, default=lambda time: time.isoformat()).replace(_DELETE, "\\u007f")


def human_bytes(size: int | None) -> str:
    """Such as 1.5 MiB; `?` for None."""
    if size is None:
        return "?"
    number, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        # What would be shown as 1024 is one of the next unit.
        if number < _STEP - 0.05:
            break
        number, unit = number / _STEP, larger
    return f"{size} B" if unit == "B" else f"{number:.1f} {unit}"


def human_count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def human_time(moment: datetime | None) -> str:
    """UTC, to the second."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def plural(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def ranges(numbers: Sequence[int]) -> str:
    """Such as `3-7, 12`, of numbers that grow; many of them are cut short."""
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
