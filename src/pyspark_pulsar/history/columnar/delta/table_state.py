"""The state of a Delta table after one commit of its log. Driver only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import ColumnsUnavailable, TierMismatch
from pyspark_pulsar.history.columnar.columns.stored_types import plain_schema
from pyspark_pulsar.history.columnar.delta import partitions
from pyspark_pulsar.history.columnar.delta.columns import NOTES_COLUMN
from pyspark_pulsar.history.columnar.delta.positions import (
    COMMITS,
    PositionsIncomplete,
    document_in,
    positions_of,
)
from pyspark_pulsar.history.columnar.delta.table_location import LOG, TableLocation
from pyspark_pulsar.history.columnar.layout import PartitionField
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.history.columnar.table import TOPIC
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.runtime import ThreadPoolExecutor

if TYPE_CHECKING:
    from deltalake import DeltaTable

_ID_LENGTH: Final = 8
_INFORMATION: Final = re.compile(rb'\s*\{\s*"commitInfo"')
_CONCURRENT_READS: Final = 16
_RESTORE: Final = "RESTORE"
_MAPPING: Final = "delta.columnMapping.mode"
_FEATURES: Final = frozenset(
    [
        "columnMapping",  # if its mode is none
        "deletionVectors",  # if no row is deleted
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",  # no column of a topic has this type
        "variantType-preview",
    ]
)
"""Features of the protocol that do not change how data files are read. A comment states the condition, if any."""


class TableState:
    """An immutable state of a table. Used by one thread."""

    def __init__(self, delta: DeltaTable, location: TableLocation) -> None:
        self.delta = delta
        self.location = location

    @cached_property
    def version(self) -> int:
        """Return the number of the last commit."""
        return int(self.delta.version())

    @cached_property
    def id(self) -> str:
        """Return the table's identity, which is the same in all states of the table."""
        return str(self.delta.metadata().id)

    @property
    def data(self) -> str:
        """Return the URL of the folder for our data files.

        Other engines write to other folders. If the table is dropped and a new table is created at the same location,
        the folder of the new table has another name.
        """
        return self.location.url_of(f"data-{self.id[:_ID_LENGTH]}")

    @cached_property
    def configuration(self) -> Mapping[str, str]:
        """Return the table's properties."""
        return dict(self.delta.metadata().configuration)

    @cached_property
    def notes(self) -> Mapping[str, str]:
        """Return the metadata of the column `NOTES_COLUMN`, where this package stores facts that can change.

        A change of such a fact does not change the fence. The facts are not table properties, because setting
        properties with delta-rs 1.6 adds features to the protocol. Other engines would then refuse to read the table.
        """
        column = next((field for field in self.delta.schema().fields if field.name == NOTES_COLUMN), None)
        return {} if column is None else dict(column.metadata)

    @cached_property
    def columns(self) -> pa.Schema:
        """Return the table's columns, including the columns of partition transforms."""
        return plain_schema(pa.schema(self.delta.schema().to_arrow()))

    @cached_property
    def partition_fields(self) -> tuple[PartitionField, ...]:
        """Return the partition fields. Raises `TierMismatch` for partition columns that this version does not write."""
        text = self.configuration.get(partitions.PARTITIONED_BY)
        names = list(self.delta.metadata().partition_columns)
        try:
            return partitions.from_json(text, names, self.columns)
        except ValueError:
            raise TierMismatch(
                f"table {self.location.url}: expected the property {partitions.PARTITIONED_BY} to define the partition "
                f"columns {names}, got {text!r}; drop the table and tier the topic again"
            ) from None

    @cached_property
    def commits(self) -> int | None:
        """Return the fence: the number of commits of this package, or None if the table belongs to no topic."""
        if self._document is not None:
            return self._document[0]
        with self.location.translated_faults():
            return self.delta.transaction_version(COMMITS)

    @cached_property
    def positions(self) -> TieredPositions:
        """Return the positions of the topic.

        Raises:
            TierMismatch: The table has no positions.
            ColumnsUnavailable: The log cannot be read.

        """
        where = f"table {self.location.url}"
        if self._document is not None:
            return TieredPositions.from_json(self._document[1], where)
        topic = self.configuration.get(TOPIC)
        if self.commits is None or topic is None:
            raise TierMismatch(
                f"{where}: expected the positions that each table of a topic has, got none; drop the table and tier "
                f"the topic again"
            )
        try:
            return positions_of(TopicName.parse(topic), self._numbers)
        except PositionsIncomplete as fault:
            raise TierMismatch(
                f"{where}: expected transaction identifiers with the positions of commit {self.commits}, got other "
                f"identifiers ({fault}). The likely cause is the table property "
                f"delta.setTransactionRetentionDuration; unset the property, drop the table and tier the topic again"
            ) from None

    @cached_property
    def _document(self) -> tuple[int, str] | None:
        """Return the number and the positions document of this package's last commit, or None if the log lacks it.

        A restored table has the files and the positions of an earlier version, but the transaction identifiers of the
        latest version. So this method reads the log backward until the method finds a commit of this package.

        Raises:
            TierMismatch: The log does not show which version was restored.

        """
        version, count, restored = self.version, 1, None
        with ThreadPoolExecutor(_CONCURRENT_READS, thread_name_prefix="pulsar-delta-log") as pool:
            while version >= 0:
                # The last commit is usually from this package, so the first step reads only one commit.
                versions = range(version, max(version - count, -1), -1)
                count, version = min(4 * count, _CONCURRENT_READS), versions[-1] - 1
                for commit in pool.map(self.information, versions):
                    document = None if commit is None else document_in(commit)
                    if document is not None:
                        return document
                    if commit is None:
                        version = -1
                        break
                    if commit.get("operation") == _RESTORE:
                        version = restored = self._restored_version(commit)
                        break
        if restored is not None:
            raise TierMismatch(
                f"table {self.location.url}, restored to version {restored}: expected the log to contain the positions "
                f"of this version, got a log without these positions; restore a later version, or drop the table "
                f"with pyspark-pulsar tier drop and tier the topic again"
            )
        return None

    def _restored_version(self, commit: Mapping[str, Any]) -> int:
        version = (commit.get("operationParameters") or {}).get("version")
        if version is None or not str(version).isdecimal():
            raise TierMismatch(
                f"table {self.location.url}: expected the log to name the version to which the table was restored, got "
                f"{version!r}; restore the table to a version, not to a time"
            )
        return int(version)

    def information(self, version: int) -> Mapping[str, Any] | None:
        """Return the commit information of one version, or None if the log no longer contains the version's commit.

        The method does not use the history of delta-rs, for two reasons. The history of delta-rs also returns commits
        after this state, and blocks all Python threads during requests to the store.

        Raises:
            ColumnsUnavailable: The log cannot be read.

        """
        with self.location.translated_faults():
            try:
                with self.location.storage.open_input(
                    self.location.url_of(f"{LOG}/{version:020}.json")
                ) as source:
                    lines = source.read().splitlines()
            except FileNotFoundError:
                return None
        line = next((line for line in lines if _INFORMATION.match(line)), None)
        information: Mapping[str, Any] = {} if line is None else json.loads(line)["commitInfo"]
        return information

    def _numbers(self, names: Sequence[str]) -> list[int | None]:
        with self.location.translated_faults():
            return map_concurrently(self.delta.transaction_version, names, _CONCURRENT_READS)

    def is_defined_as(self, other: TableState) -> bool:
        """Return whether `other` is a state of the same table with the same columns, properties and protocol."""
        mine, theirs = self.delta, other.delta
        return (
            self.id == other.id
            and self.configuration == other.configuration
            and mine.schema() == theirs.schema()
            and mine.protocol() == theirs.protocol()
        )

    def check_readable(self) -> None:
        """Raise `ColumnsUnavailable` if the rows of the data files, read without the log, are not the table's rows."""
        features = set(self.delta.protocol().reader_features or ())
        unknown = sorted(features - _FEATURES)
        if self.configuration.get(_MAPPING, "none") != "none":
            unknown.append("columnMapping")
        if unknown:
            raise ColumnsUnavailable(
                f"table {self.location.url}: expected only Delta features that pyspark-pulsar can read, got "
                f"{', '.join(unknown)}; rewrite the table without the feature, with the engine that added the feature"
            )
        if "deletionVectors" in features and self._has_deleted_rows():
            raise ColumnsUnavailable(
                f"table {self.location.url}: expected no deleted rows, got deletion vectors; rewrite the files with "
                f"the engine that deleted the rows, for example by REORG TABLE ... APPLY (PURGE)"
            )

    def _has_deleted_rows(self) -> bool:
        with self.location.translated_faults():
            return any(batch.num_rows for batch in self.delta.deletion_vectors())
