"""A cache of the data files of tables, as listed in the tables' manifests. The cache is not thread-safe.

The manifests of 10,000 files are read in one second. The statistics of ten columns of these files need 10 MB. A version
of a table never changes. The next version of the table contains most of the earlier version's manifests.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.table_files import Parts, TableFiles

_MOST_FILES: Final = 50_000
"""The largest total number of files in the cache. The most recently used table is never removed."""


@dataclass(slots=True)
class _KnownTable:
    """The cached files of one table, in the version that was requested last."""

    version: str = ""
    columns: frozenset[str] = frozenset()
    """The columns whose statistics are in the cache."""
    files: TableFiles | None = None
    parts: Parts = field(default_factory=dict)


class KnownFiles:
    """A cache of the files of the most recently used tables."""

    def __init__(self, most_files: int = _MOST_FILES) -> None:
        self._most_files = most_files
        self._known: OrderedDict[str, _KnownTable] = OrderedDict()

    def files_of(self, table: ColumnarTable, columns: Iterable[str]) -> TableFiles:
        """Return all files of the table's version, with statistics of at least the columns in `columns`.

        Raises the errors of `ColumnarTable.all_files`.
        """
        known = self._known.setdefault(table.name, _KnownTable())
        self._known.move_to_end(table.name)
        requested = frozenset(columns)
        if known.files is None or known.version != table.version or not requested <= known.columns:
            covered = known.columns | requested
            known.files = None
            known.files = table.all_files(covered, known.parts)
            known.version, known.columns = table.version, covered
        files = known.files
        while len(self._known) > 1 and self._count() > self._most_files:
            self._known.popitem(last=False)
        return files

    def _count(self) -> int:
        return sum(len(known.files) for known in self._known.values() if known.files is not None)
