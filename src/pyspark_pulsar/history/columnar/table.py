"""The interface of a topic's table, for every format. Driver only.

A table object represents one state of the table: the state that was loaded, or the state after the object's own last
commit. A commit by another process makes the object stale. The next commit of a stale object fails with `TableMoved`;
the caller then loads the table again.
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
"""The name of the table property, and of the field in a commit summary, that contains `TieredPositions`."""
TOPIC: Final = "pulsar.topic"
"""The name of the table property that contains the topic's full name."""
SORTED_BY: Final = "pulsar.sorted-by"
"""The name of the table property that contains the sort columns, separated by commas."""


class TableMoved(Exception):
    """Another process has committed since the table was loaded. Nothing of the failed commit is in the table."""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """The settings with which a table is created."""

    topic: str
    """The topic's full name without a partition suffix."""
    columns: pa.Schema
    """The columns, in Spark's types."""
    partition_fields: tuple[PartitionField, ...] = BY_DAY
    sort_columns: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    """Additional table properties."""


@dataclass(frozen=True, slots=True)
class NewSchema:
    """A schema of a topic that has not yet been added to its table."""

    digest: str
    """Equal schemas of the topic have equal digests."""
    payload: PayloadSchema
    columns: pa.Schema
    """All columns of the rows, in Spark's types."""

    def tiered(self, stored: pa.Schema, *, is_whole: bool) -> TieredSchema:
        """Return the schema in the form that the table stores.

        Args:
            stored: The table columns that contain the schema's fields.
            is_whole: Whether the table has a column for each field.

        """
        # A message without value columns is determined by its payload alone.
        keeps_all = not is_whole or not len(columns_of(self.payload))
        return TieredSchema(self.digest, self.payload, stored, keeps_all=keeps_all)


class ColumnarTable(ABC):
    """A table of a topic, in one state. Used by one thread."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the table's name, as errors, plans and `tier status` show it."""

    @property
    @abstractmethod
    def format(self) -> str:
        """Return `iceberg` or `delta`."""

    @property
    @abstractmethod
    def id(self) -> str:
        """Return the table's identity, which a rename or commit keeps. A table that is created again has another id."""

    @property
    @abstractmethod
    def topic(self) -> str | None:
        """Return the topic that the table's properties name, or None if the table was not created for a topic."""

    @property
    @abstractmethod
    def positions(self) -> TieredPositions:
        """Return the positions up to which the topic's partitions are tiered.

        Raises:
            TierMismatch: The table has no positions.
            ProtocolError: This version cannot read the positions.

        """

    @property
    @abstractmethod
    def schema_texts(self) -> Mapping[int, str]:
        """Return the schemas by which the rows were tiered (`tiered_schema`), by their ids."""

    @property
    @abstractmethod
    def columns(self) -> pa.Schema:
        """Return the columns as they are stored in files, with field ids if the format has them."""

    @property
    def columns_by_name(self) -> dict[str, pa.Field]:
        """Return the columns by the names that readers see."""
        return by_name(self.columns)

    @property
    def rows(self) -> TableRows:
        """Return the description of the table that tasks need to read its rows."""
        return TableRows(self.name, self.storage, self.schema_texts)

    @property
    @abstractmethod
    def storage(self) -> TableStorage:
        """Return the settings for opening the table's files."""

    @property
    @abstractmethod
    def folder(self) -> str:
        """Return the URL of the folder that contains the data files."""

    @property
    @abstractmethod
    def file_bytes(self) -> int:
        """Return the approximate largest size of a data file, in bytes."""

    @abstractmethod
    def layout(self, schema: str) -> FileLayout:
        """Return the file layout for rows that are tiered by a schema, one of `schema_texts`."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Return the identifier of the table's state. Different states have different identifiers."""

    @abstractmethod
    def files(self) -> Sequence[DataFile]:
        """Return all data files of this state.

        Raises:
            ColumnsUnavailable: The table cannot be read, or marks deleted rows in a way that this version does not
                support.

        """

    def all_files(self, columns: Collection[str], known: Parts) -> TableFiles:
        """Return all data files of this state, for an engine that reads the files itself.

        Args:
            columns: The columns whose statistics are returned.
            known: The parts of an earlier call for this table, or an empty dictionary. The call replaces its contents
                with the parts of this state.

        Raises:
            NotScannable: An engine that reads the files itself would return wrong rows.
            ColumnsUnavailable: The table cannot be read.

        """
        del columns, known
        raise NotScannable(f"tables of format {self.format} do not list their files with statistics")

    @abstractmethod
    def holds(self, stored: pa.Schema) -> bool:
        """Return whether the table still has all columns to which a schema's fields were written.

        Args:
            stored: The columns of the schema (`TieredSchema.stored`).

        """

    @abstractmethod
    def add_schema(self, schema: NewSchema) -> str:
        """Commit the columns of a schema of the topic to the table, and widen types where needed. Data files stay.

        A field whose type conflicts with the table's column of that name gets no column.

        Returns:
            The schema in the form that the table stores from now on (`tiered_schema`).

        Raises:
            SchemaError: A column by which rows are partitioned or sorted conflicts with the table's column.
            TableMoved: Another process has committed since the table was loaded.
            ColumnsUnavailable: The outcome of the commit is unknown.

        """

    @abstractmethod
    def commit(
        self, files: Sequence[WrittenFile], positions: TieredPositions, replaced: Collection[DataFile] = ()
    ) -> None:
        """Add files, remove files and set the positions, in one atomic commit.

        Args:
            files: The data files to add.
            positions: The positions of the topic after the commit.
            replaced: The data files to remove.

        Raises:
            TableMoved: Another process has committed since the table was loaded.
            ColumnsUnavailable: The outcome of the commit is unknown.

        """

    @abstractmethod
    def expire(self, older_than_ms: int) -> int:
        """Remove old states of the table, and delete the files that no other state uses.

        Args:
            older_than_ms: States from before this time are removed, in Unix milliseconds.

        Returns:
            The number of removed states.

        """

    @abstractmethod
    def known_urls(self) -> set[str]:
        """Return the URLs of all files that any state of the table still names."""


class TableCatalog(ABC):
    """A catalog of the tables of topics. Used by several threads."""

    format: ClassVar[str]
    """The format of the catalog's tables: `iceberg` or `delta`."""

    @abstractmethod
    def load(self, identifier: str) -> ColumnarTable | None:
        """Load a table.

        Returns:
            The table, or None if no table has the name.

        Raises:
            ColumnsUnavailable: The catalog or the table cannot be read.

        """

    @abstractmethod
    def present(self, identifiers: Iterable[str]) -> set[str]:
        """Return the names for which a table exists, with few requests.

        Raises:
            ColumnsUnavailable: The catalog cannot be read.

        """

    @abstractmethod
    def create(self, identifier: str, definition: TableDefinition) -> ColumnarTable:
        """Create a table without files.

        Raises:
            TableMoved: A table of that name already exists.
            SchemaError: The format has no type for one of the columns.
            ColumnsUnavailable: The catalog cannot be read or written.

        """

    @abstractmethod
    def drop(self, identifier: str, *, keep_files: bool) -> bool:
        """Drop a table.

        Returns:
            True if the table existed.

        Raises:
            ColumnsUnavailable: The catalog cannot be read or written.

        """


def is_whole(
    table: str, stored: Sequence[pa.Field], fitting: Sequence[pa.Field], decisive: Collection[str]
) -> bool:
    """Return whether a table can contain all columns of a schema. Otherwise log the columns that do not fit.

    Args:
        table: The table's name.
        stored: The columns of the schema.
        fitting: The parts of these columns that fit into the table.
        decisive: The names of the columns by which rows are partitioned or sorted.

    Raises:
        SchemaError: A column of `decisive` does not fit.

    """
    present = set(paths_of(fitting))
    missing = {path[0]: None for path in paths_of(stored) if path not in present}
    for name in missing:
        if name in decisive:
            raise SchemaError(
                f"table {table}: expected column {name!r}, which rows are partitioned or sorted by, to keep its type, "
                f"got another type in the topic's schema; drop the table with pyspark-pulsar tier drop, and tier the "
                f"topic again"
            )
    if missing:
        _log.warning(
            "The table has no columns for some columns of the topic's schema, because types or names conflict. The "
            "table keeps the payload of each message of this schema, so reads of the topic lose nothing. Other engines "
            "see no values in these columns. Table %s, columns: %s",
            table,
            ", ".join(f"{column.name} ({column.type})" for column in stored if column.name in missing),
        )
    return not missing
