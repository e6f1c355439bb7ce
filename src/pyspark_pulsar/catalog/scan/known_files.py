"""The data files of tables as their manifests told, kept from one query to the next. One process, one thread.

Reading the manifests of 10,000 files takes a second; statistics of ten columns of as many files take 10 MB. A state of
a table never changes, and the next state shares most of its manifests.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.table_files import Parts, TableFiles

_MOST_FILES: Final = 50_000
"""Of all tables together; the last one is kept whatever it has."""


@dataclass(slots=True)
class _KnownTable:
    """Its last state that was asked for."""

    version: str = ""
    columns: frozenset[str] = frozenset()
    """Of which statistics are kept."""
    files: TableFiles | None = None
    parts: Parts = field(default_factory=dict)


class KnownFiles:
    """Of the tables that were used last."""

    def __init__(self, most_files: int = _MOST_FILES) -> None:
        self._most_files = most_files
        self._known: OrderedDict[str, _KnownTable] = OrderedDict()

    def of(self, table: ColumnarTable, columns: Iterable[str]) -> TableFiles:
        """All files of this state of the table, with statistics of at least these columns. Raises what
        `ColumnarTable.all_files` raises."""
        known = self._known.setdefault(table.name, _KnownTable())
        self._known.move_to_end(table.name)
        asked = frozenset(columns)
        if known.files is None or known.version != table.version or not asked <= known.columns:
            covered = known.columns | asked
            known.files = None
            known.files = table.all_files(covered, known.parts)
            known.version, known.columns = table.version, covered
        files = known.files
        while len(self._known) > 1 and self._count() > self._most_files:
            self._known.popitem(last=False)
        return files

    def _count(self) -> int:
        return sum(len(known.files) for known in self._known.values() if known.files is not None)
