"""Tables on a terminal, and where there is none."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pyspark_pulsar.errors import printable

# Of a pipe or file, where rich would assume 80.
_COLUMNS = 200


def screen() -> Console:
    """Standard output as wide as it is; colours on a terminal only."""
    # A position such as 3:100:0 is no emoji, and a name in brackets no markup.
    known = Console(highlight=False, emoji=False, markup=False)
    return known if known.is_terminal else Console(highlight=False, emoji=False, markup=False, width=_COLUMNS)


class PrintableTable(Table):
    """What stands in its cells is `printable`: names are chosen by others."""

    def add_cells(self, *cells: str | Text) -> None:
        """One row."""
        self.add_row(*map(_cell, cells))


def _cell(cell: str | Text) -> Text:
    if isinstance(cell, Text):
        return Text(printable(cell.plain), style=cell.style)
    return Text(printable(cell))


def table_of(heading: str, columns: Sequence[str], right: Sequence[str] = ()) -> PrintableTable:
    """An empty table; `right`: the columns of numbers."""
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
