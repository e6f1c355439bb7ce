"""The interface that a topic's table implements in every format. Driver only.

A table object represents one state of the table: the state when the table was loaded, or the state after the object's
own last commit. If another process commits, the object is stale. The next commit of a stale object fails with
`TableMoved`, and the caller then loads the table again.
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
    """Another process has committed after the table was loaded. The table contains no change of the failed commit."""


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
    """The digest of the schema. Equal schemas of the topic have equal digests."""
    payload: PayloadSchema
    columns: pa.Schema
    """The columns of the rows, including metadata columns, in Spark's types."""

    def tiered(self, stored: pa.Schema, *, is_whole: bool) -> TieredSchema:
        """Return this schema in the form that the table stores.

        Args:
            stored: The table columns for the schema's fields.
            is_whole: Whether the table has a column for each field.

        """
        # If the schema has no value columns, only the payload contains the message's value, so the table keeps all
        # payloads.
        keeps_all = not is_whole or not len(columns_of(self.payload))
        return TieredSchema(self.digest, self.payload, stored, keeps_all=keeps_all)


class ColumnarTable(ABC):
    """A table of a topic, in one state. Used by one thread."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the name of the table that errors, plans and `tier status` show."""

    @property
    @abstractmethod
    def format(self) -> str:
        """Return `iceberg` or `delta`."""

    @property
    @abstractmethod
    def id(self) -> str:
        """Return the table's unique identity.

        A renamed table has the same identity. A table that was dropped and created again has another identity.
        """

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
        """Return a mapping from ids to texts of the schemas with which rows were written (`tiered_schema`)."""

    @property
    @abstractmethod
    def columns(self) -> pa.Schema:
        """Return the columns in the form that files store. The columns have field ids if the format uses field ids."""

    @property
    def columns_by_name(self) -> dict[str, pa.Field]:
        """Return a mapping from the names of the columns to the columns."""
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
        """Return the file layout for rows of a schema. `schema` is one of the texts in `schema_texts`."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Return the identifier of the table's present state. Each state has a different identifier."""

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
            known: The dictionary from an earlier call for this table, or an empty dictionary. The call replaces the
                contents of the dictionary with the metadata of this state.

        Raises:
            NotScannable: An engine that reads the files itself would return wrong rows.
            ColumnsUnavailable: The table cannot be read.

        """
        del columns, known
        raise NotScannable(f"tables of format {self.format} do not list their files with statistics")

    @abstractmethod
    def holds(self, stored: pa.Schema) -> bool:
        """Return whether the table still has all columns that contain the fields of a schema.

        Args:
            stored: The columns of the schema (`TieredSchema.stored`).

        """

    @abstractmethod
    def add_schema(self, schema: NewSchema) -> str:
        """Add the columns of a schema to the table, and widen types where necessary. Data files do not change.

        The change is one commit or more. If the types of a field and of the table column with the same name conflict,
        the field gets no column.

        Returns:
            The text of the schema that the table stores from now on (`tiered_schema`).

        Raises:
            SchemaError: The type of a column by which rows are partitioned or sorted conflicts with the table's column.
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
        """Remove old states of the table, and delete the files that no remaining state uses.

        Args:
            older_than_ms: A time in Unix milliseconds. States that are older than this time are removed.

        Returns:
            The number of removed states.

        """

    @abstractmethod
    def known_urls(self) -> set[str]:
        """Return the URLs of all files that a remaining state of the table lists."""


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
        """Return the names in `identifiers` that belong to existing tables.

        The number of requests depends on the number of namespaces, and not on the number of names.

        Raises:
            ColumnsUnavailable: The catalog cannot be read.

        """

    @abstractmethod
    def create(self, identifier: str, definition: TableDefinition) -> ColumnarTable:
        """Create a table without rows.

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
    """Return whether a table can contain all columns of a schema. If not, log the columns that do not fit.

    Args:
        table: The table's name.
        stored: The columns of the schema.
        fitting: The columns and nested fields of the schema that fit into the table.
        decisive: The names of the columns by which rows are partitioned or sorted.

    Raises:
        SchemaError: A column of `decisive` does not fit.

    """
    present = set(paths_of(fitting))
    missing = {path[0]: None for path in paths_of(stored) if path not in present}
    for name in missing:
        if name in decisive:
            raise SchemaError(
                f"table {table}: expected the topic to keep the type of column {name!r}, because the table is "
                f"partitioned or sorted by this column, got another type; drop the table with pyspark-pulsar tier "
                f"drop, and tier the topic again"
            )
    if missing:
        _log.warning(
            "Tiering without columns for some fields of the topic's schema, because types or names conflict. Reads of "
            "the topic return these fields from stored payloads, but other engines do not see the fields: table %s, "
            "fields: %s",
            table,
            ", ".join(f"{column.name} ({column.type})" for column in stored if column.name in missing),
        )
    return not missing
