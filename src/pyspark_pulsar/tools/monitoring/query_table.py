"""A table of a streaming query's progress, as text for a terminal and as HTML for a notebook.

The last column is a plot of the lag. This module does no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from pyspark_pulsar.errors import printable
from pyspark_pulsar.tools.monitoring.query_history import Point, QueryHistory

COLUMNS: Final = (
    "source", "batch", "rows/s", "lag in messages", "lag in bytes", "age of the oldest message", "read from", "lag",
)  # fmt: skip
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_NUMBERS: Final = range(1, 6)
_SHOWN: Final = 30
_WIDTH, _HEIGHT = 180, 32
_STEP: Final = 1024


def text_table(history: QueryHistory) -> Table:
    """Return a table for `rich.live`."""
    table = Table(
        title=Text(printable(heading(history)), style="bold"), title_justify="left", box=box.SIMPLE_HEAD
    )
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if number in _NUMBERS else "left", overflow="fold")
    for source, points in history.sources.items():
        table.add_row(
            *(Text(printable(cell)) for cell in (*cells(source, points[-1]), sparkline(lags(points))))
        )
    return table


def html_table(history: QueryHistory) -> str:
    """Return the table as one `<div>` that loads nothing from other servers."""
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    rows = []
    for source, points in history.sources.items():
        row_cells = "".join(f"<td>{escape(printable(cell))}</td>" for cell in cells(source, points[-1]))
        rows.append(f"<tr>{row_cells}<td>{plot(lags(points))}</td></tr>")
    return (
        f"<div><b>{escape(printable(heading(history)))}</b><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def heading(history: QueryHistory) -> str:
    """Return the name of the query and its state."""
    return f"{history.name}: {history.state}"


def cells(source: str, point: Point) -> list[str]:
    """Return the cells of all columns except the plot."""
    return [
        source,
        str(point.batch_id),
        "?" if point.rows_per_second is None else f"{point.rows_per_second:,.0f}",
        "?" if point.messages is None else f"{point.messages:,}",
        _size(point.bytes),
        "?" if point.seconds is None else f"{point.seconds:,.1f} s",
        point.read_from,
    ]


def lags(points: Sequence[Point]) -> list[float]:
    """Return the lag of each point for the plot, in messages.

    If the lag in messages of any point is unknown, return the lag of each point in seconds.
    """
    counted = [point.messages for point in points]
    if None not in counted:
        return [float(messages or 0) for messages in counted]
    return [point.seconds or 0.0 for point in points]


def sparkline(values: Sequence[float]) -> str:
    """Return the last values as block characters. The largest value is a full block, and 0 is the lowest block."""
    shown = list(values)[-_SHOWN:]
    most = max(shown, default=0.0)
    return "".join(
        _BLOCKS[round(value / most * (len(_BLOCKS) - 1))] if most else _BLOCKS[0] for value in shown
    )


def plot(values: Sequence[float]) -> str:
    """Return a line plot of the values as SVG. The lower edge of the plot is 0."""
    most = max(values, default=0.0)
    step = _WIDTH / max(1, len(values) - 1)
    at = " ".join(
        f"{index * step:.1f},{_HEIGHT - 1 - (value / most if most else 0) * (_HEIGHT - 2):.1f}"
        for index, value in enumerate(values)
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="lag">'
        f'<polyline points="{at}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )


def _size(count: int | None) -> str:
    if count is None:
        return "?"
    number = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < _STEP - 0.05:
            return f"{count} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= _STEP
    return f"{number:.1f} TiB"
