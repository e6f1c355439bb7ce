"""What the table of a topic offers, whatever its format. Driver only.

A table object is the table in one state: the one in which it was loaded, or came to be by its own last commit. A
commit of somebody else makes it stale: then its next commit is refused (`TableMoved`) and it has to be loaded anew.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import pyarrow as pa

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.history.columnar.columns.field_matches import by_name
from pyspark_pulsar.history.columnar.columns.stored_types import paths_of
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.layout import BY_DAY, FileLayout, PartitionField
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.history.columnar.reading.request import TableRows
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.history.columnar.table_files import NotScannable, Parts, TableFiles
from pyspark_pulsar.history.columnar.tiered_schema import TieredSchema
from pyspark_pulsar.history.columnar.writing.writer import WrittenFile
from pyspark_pulsar.schema.payload import PayloadSchema, columns_of

_log: Final = logging.getLogger(__name__)

POSITIONS: Final = "pulsar.positions"
"""The property, and the field of a commit's summary, that holds `TieredPositions`."""
TOPIC: Final = "pulsar.topic"
SORTED_BY: Final = "pulsar.sorted-by"
"""The property that holds the sort columns, with commas between them."""


class TableMoved(Exception):
    """Somebody else has committed since the table was loaded. Nothing of this commit is there."""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """What a table is made with."""

    topic: str
    """The full name without partition suffix."""
    columns: pa.Schema
    """In Spark's types."""
    partition_fields: tuple[PartitionField, ...] = BY_DAY
    sort_columns: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    """Further ones."""


@dataclass(frozen=True, slots=True)
class NewSchema:
    """A schema of a topic that a table is to tier by."""

    digest: str
    """Equal for equal schemas of the topic."""
    payload: PayloadSchema
    columns: pa.Schema
    """All columns of its rows, in Spark's types."""

    def tiered(self, stored: pa.Schema, *, is_whole: bool) -> TieredSchema:
        """Return the schema as the table keeps it.

        Args:
            stored: The columns that hold its fields.
            is_whole: Whether there is a column for each field.

        """
        # A message without value columns is told by its payload alone.
        keeps_all = not is_whole or not len(columns_of(self.payload))
        return TieredSchema(self.digest, self.payload, stored, keeps_all=keeps_all)


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
    def schema_texts(self) -> Mapping[int, str]:
        """The schemas by which its rows were tiered (`tiered_schema`), by their ids."""

    @property
    @abstractmethod
    def columns(self) -> pa.Schema:
        """As they lie in files, with field ids where the format has them."""

    @property
    def columns_by_name(self) -> dict[str, pa.Field]:
        """Return the columns by the names that readers see."""
        return by_name(self.columns)

    @property
    def rows(self) -> TableRows:
        """What tasks read it with."""
        return TableRows(self.name, self.storage, self.schema_texts)

    @property
    @abstractmethod
    def storage(self) -> TableStorage:
        """Where its files are."""

    @property
    @abstractmethod
    def folder(self) -> str:
        """The URL of the folder of its data files."""

    @property
    @abstractmethod
    def file_bytes(self) -> int:
        """About how large a data file may get."""

    @abstractmethod
    def layout(self, schema: str) -> FileLayout:
        """Return how tasks write rows that are tiered by one of `schema_texts`."""

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
    def holds(self, stored: pa.Schema) -> bool:
        """Return whether the table still has all columns that a schema's fields went to (`TieredSchema.stored`)."""

    @abstractmethod
    def add_schema(self, schema: NewSchema) -> str:
        """Add the columns of a schema of the topic, and widen types, in a commit of its own; data files stay.

        A field for which the table cannot have a column, since its type conflicts with the table's, gets none.

        Returns:
            The schema as the table keeps it from now on (`tiered_schema`).

        Raises:
            SchemaError: A column that rows are apart or sorted by conflicts with the table's.
            TableMoved: Another process has committed meanwhile.
            ColumnsUnavailable: It is not known whether the commit was done.

        """

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


def is_whole(
    table: str, stored: Sequence[pa.Field], fitting: Sequence[pa.Field], decisive: Collection[str]
) -> bool:
    """Return whether a table can hold all columns of a schema; otherwise log which it cannot hold.

    Args:
        table: Its name.
        stored: The columns of the schema.
        fitting: The part of them that the table can hold.
        decisive: The names of columns that rows are partitioned or sorted by.

    Raises:
        SchemaError: The table cannot hold one of these.

    """
    there = set(paths_of(fitting))
    lost = {path[0]: None for path in paths_of(stored) if path not in there}
    for name in lost:
        if name in decisive:
            raise SchemaError(
                f"table {table}: expected column {name!r}, which rows are partitioned or sorted by, to keep its type, "
                f"got another type in the topic's schema; drop the tier and make it again (pyspark-pulsar tier drop)"
            )
    if lost:
        _log.warning(
            "table %s cannot hold columns of the topic's schema, because their types or names conflict with the "
            "table's: %s; it keeps the payloads of all messages that are tiered by this schema, so reads of the topic "
            "lose nothing, and other engines see no values in these columns",
            table,
            ", ".join(f"{column.name} ({column.type})" for column in stored if column.name in lost),
        )
    return not lost
