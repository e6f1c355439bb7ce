"""The data files of tables as their manifests told, kept from one query to the next. One process, one thread.

A state of a table never changes, so what is known of it stays right. Reading the manifests of 10,000 files takes a
second; statistics of ten columns of as many files take 10 MB.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.columnar.table import ColumnarTable
from pyspark_pulsar.columnar.table_files import TableFiles

_MOST_FILES: Final = 50_000
"""Of all tables together; the last one is kept whatever it has."""


class KnownFiles:
    """Of the tables that were used last."""

    def __init__(self, most_files: int = _MOST_FILES) -> None:
        self._most_files = most_files
        self._known: OrderedDict[str, tuple[frozenset[str], TableFiles]] = OrderedDict()

    def of(self, table: ColumnarTable, columns: Iterable[str]) -> TableFiles:
        """All files of this state of the table, with statistics of at least these columns. Raises what
        `ColumnarTable.all_files` raises."""
        asked = frozenset(columns)
        covered, files = self._known.pop(table.version, (frozenset(), None))
        if files is None or not asked <= covered:
            covered |= asked
            files = table.all_files(covered)
        self._known[table.version] = (covered, files)
        while len(self._known) > 1 and self._count() > self._most_files:
            self._known.popitem(last=False)
        return files

    def _count(self) -> int:
        return sum(len(files) for _, files in self._known.values())
