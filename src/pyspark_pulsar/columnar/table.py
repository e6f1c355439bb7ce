"""What the table of a topic offers, whatever its format. Driver only.

A table object is the table in one state: the one in which it was loaded, or came to be by its own last commit. A
commit of somebody else makes it stale: then its next commit is refused (`TableMoved`) and it has to be loaded anew.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import pyarrow as pa

from pyspark_pulsar.columnar.data_file import DataFile
from pyspark_pulsar.columnar.layout import BY_DAY, FileLayout, PartitionField
from pyspark_pulsar.columnar.positions import TieredPositions
from pyspark_pulsar.columnar.reading.rows import TableRows
from pyspark_pulsar.columnar.table_files import NotScannable, Parts, TableFiles
from pyspark_pulsar.columnar.writing.writer import WrittenFile

POSITIONS: Final = "pulsar.positions"
"""The property, and the field of a commit's summary, that holds `TieredPositions`."""
TOPIC: Final = "pulsar.topic"
SCHEMA: Final = "pulsar.schema"
"""The property that holds what the columns were made from: the topic's schema, as JSON of its type and its text."""
FORMER_NAMES: Final = "pulsar.former-names"
"""The property that holds, as a JSON list, the paths of fields that have another name by now."""
SORTED_BY: Final = "pulsar.sorted-by"
"""The property that holds the sort columns, with commas between them."""


def former_names(properties: Mapping[str, str]) -> frozenset[str]:
    """Of the property `FORMER_NAMES`."""
    return frozenset(json.loads(properties.get(FORMER_NAMES, "[]")))


class TableMoved(Exception):
    """Somebody else has committed since the table was loaded. Nothing of this commit is there."""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """What a table is made with."""

    topic: str
    """The full name without partition suffix."""
    columns: pa.Schema
    """In Spark's types."""
    schema: str
    """For the property `SCHEMA`."""
    partition_fields: tuple[PartitionField, ...] = BY_DAY
    sort_columns: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    """Further ones."""


class ColumnarTable(ABC):
    """One table. Used by one thread."""

    @property
    @abstractmethod
    def name(self) -> str:
        """In errors, plans and `tier status`."""

    @property
    @abstractmethod
    def format(self) -> str:
        """`iceberg` or `delta`."""

    @property
    @abstractmethod
    def id(self) -> str:
        """The table's identity, whatever its state and name: a table that is made again has another."""

    @property
    @abstractmethod
    def topic(self) -> str | None:
        """The topic that it says it is of; None for a table that nobody has made for one."""

    @property
    @abstractmethod
    def positions(self) -> TieredPositions:
        """Raises `TierMismatch` where it has none, `ProtocolError` for what this version cannot read."""

    @property
    @abstractmethod
    def schema(self) -> str | None:
        """The property `SCHEMA`."""

    @property
    @abstractmethod
    def columns(self) -> pa.Schema:
        """As they lie in files, with field ids where the format has them."""

    @property
    @abstractmethod
    def rows(self) -> TableRows:
        """What tasks read it with."""

    @property
    @abstractmethod
    def layout(self) -> FileLayout:
        """How tasks write its files."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Of its state; another state has another."""

    @abstractmethod
    def files(self) -> Sequence[DataFile]:
        """All data files of this state. Raises `ColumnsUnavailable` for a table that cannot be read, or whose deleted
        rows are told in a way that is not understood."""

    def all_files(self, columns: Collection[str], known: Parts) -> TableFiles:
        """The same at once, for an engine that reads them itself, with statistics of those columns. `known`: of an
        earlier call for this table, or empty; it then has what this state is made of. Raises `NotScannable` where the
        engine must not, `ColumnsUnavailable`."""
        del columns, known
        raise NotScannable(f"nobody tells that of a table of format {self.format}")

    @abstractmethod
    def evolve(self, columns: pa.Schema, schema: str, renamed: Mapping[str, str]) -> None:
        """Give it the columns that these add, and the types that they widen, and let fields have other names:
        `renamed` is from the path of one, with dots, to its new name. A commit of its own; the files stay. Raises
        `SchemaError` for what cannot become these, `TableMoved`."""

    @abstractmethod
    def commit(
        self, files: Sequence[WrittenFile], positions: TieredPositions, replaced: Collection[DataFile] = ()
    ) -> None:
        """Add files, take others out, and move the positions: all or nothing. Raises `TableMoved`, `ColumnsUnavailable`
        where it is not known whether it was done."""

    @abstractmethod
    def expire(self, older_than_ms: int) -> int:
        """Forget states that are older (Unix milliseconds), and delete the files that only they had. How many
        states."""

    @abstractmethod
    def known_urls(self) -> set[str]:
        """All files that any state of it still names."""


class TableCatalog(ABC):
    """Where the tables of topics are. Used by several threads."""

    format: ClassVar[str]
    """Of its tables: `iceberg` or `delta`."""

    @abstractmethod
    def load(self, identifier: str) -> ColumnarTable | None:
        """None where there is no table of that name. Raises `ColumnsUnavailable`."""

    @abstractmethod
    def present(self, identifiers: Iterable[str]) -> set[str]:
        """Those of which there is a table, with few questions. Raises `ColumnsUnavailable`."""

    @abstractmethod
    def create(self, identifier: str, definition: TableDefinition) -> ColumnarTable:
        """A new one, without files. Raises `TableMoved` where there is one of that name, `SchemaError` for columns that
        the format does not have, `ColumnsUnavailable`."""

    @abstractmethod
    def drop(self, identifier: str, *, keep_files: bool) -> bool:
        """Whether there was one. Raises `ColumnsUnavailable`."""
