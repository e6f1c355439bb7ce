"""Output of tables to a terminal, a pipe or a file."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pyspark_pulsar.errors import printable

# The width in characters for a pipe or a file, where rich would use 80.
_COLUMNS = 200


def screen() -> Console:
    """Return a console for standard output. A terminal keeps its own width, and has colors."""
    # Disable emoji and markup, because a position such as `3:100:0` is not an emoji, and a name in brackets is not
    # markup.
    console = Console(highlight=False, emoji=False, markup=False)
    return (
        console
        if console.is_terminal
        else Console(highlight=False, emoji=False, markup=False, width=_COLUMNS)
    )


class PrintableTable(Table):
    """A table that escapes control characters in its cells, because names are untrusted input."""

    def add_cells(self, *cells: str | Text) -> None:
        """Add a row with these cells."""
        self.add_row(*map(_cell, cells))


def _cell(cell: str | Text) -> Text:
    if isinstance(cell, Text):
        return Text(printable(cell.plain), style=cell.style)
    return Text(printable(cell))


def table_of(heading: str, columns: Sequence[str], right: Sequence[str] = ()) -> PrintableTable:
    """Return an empty table. `right` names the columns that are aligned to the right."""
    title = Text(printable(heading), style="bold")
    table = PrintableTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        number = column in right
        table.add_column(
            column,
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
            header_style="bold",
        )
    return table
