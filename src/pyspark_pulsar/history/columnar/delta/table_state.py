"""A Delta table in one state: what its log says up to one commit. Driver only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import ColumnsUnavailable, TierMismatch
from pyspark_pulsar.history.columnar.columns.stored_types import plain_schema
from pyspark_pulsar.history.columnar.delta import partitions
from pyspark_pulsar.history.columnar.delta.columns import NOTED
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

if TYPE_CHECKING:
    from deltalake import DeltaTable

_ID_LETTERS: Final = 8
_INFORMATION: Final = re.compile(rb'\s*\{\s*"commitInfo"')
_AT_ONCE: Final = 16
_RESTORE: Final = "RESTORE"
_MAPPING: Final = "delta.columnMapping.mode"
_FEATURES: Final = frozenset(
    [
        "columnMapping",  # as long as its mode is none
        "deletionVectors",  # as long as no row is deleted
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",  # of no column of a topic
        "variantType-preview",
    ]
)
"""Of readers: those under which data files are read as without them."""


class TableState:
    """Never changes. Used by one thread."""

    def __init__(self, delta: DeltaTable, location: TableLocation) -> None:
        self.delta = delta
        self.location = location

    @cached_property
    def version(self) -> int:
        """Of the last commit."""
        return int(self.delta.version())

    @cached_property
    def id(self) -> str:
        """Of the table, whatever its state."""
        return str(self.delta.metadata().id)

    @property
    def data(self) -> str:
        """The URL of the folder that our data files lie in: no other engine's, nor those of a table that was dropped
        here before."""
        return self.location.url_of(f"data-{self.id[:_ID_LETTERS]}")

    @cached_property
    def configuration(self) -> Mapping[str, str]:
        return dict(self.delta.metadata().configuration)

    @cached_property
    def notes(self) -> Mapping[str, str]:
        """What we keep at the column `NOTED`: that which changes, and needs no fence. Not in the table's properties,
        since to set those adds features to the protocol with delta-rs 1.6, and other engines then refuse the table."""
        column = next((field for field in self.delta.schema().fields if field.name == NOTED), None)
        return {} if column is None else dict(column.metadata)

    @cached_property
    def columns(self) -> pa.Schema:
        """The table's, with those of its partition."""
        return plain_schema(pa.schema(self.delta.schema().to_arrow()))

    @cached_property
    def partition_fields(self) -> tuple[PartitionField, ...]:
        """Raises `TierMismatch` for what this version does not write."""
        text = self.configuration.get(partitions.PARTITIONED_BY)
        names = list(self.delta.metadata().partition_columns)
        try:
            return partitions.from_json(text, names, self.columns)
        except ValueError:
            raise TierMismatch(
                f"table {self.location.url}: expected the property {partitions.PARTITIONED_BY} to say how its "
                f"partition columns {names} are made, got {text!r}; drop the table and tier the topic again"
            ) from None

    @cached_property
    def commits(self) -> int | None:
        """The fence: how many commits of ours there are; None for a table that is no tier."""
        if self._document is not None:
            return self._document[0]
        with self.location.told():
            return self.delta.transaction_version(COMMITS)

    @cached_property
    def positions(self) -> TieredPositions:
        """Raises `TierMismatch` where there are none, `ColumnsUnavailable`."""
        where = f"table {self.location.url}"
        if self._document is not None:
            return TieredPositions.from_json(self._document[1], where)
        topic = self.configuration.get(TOPIC)
        if self.commits is None or topic is None:
            raise TierMismatch(
                f"{where}: expected positions, which the table of a topic has, got none; drop the table and tier the "
                f"topic again"
            )
        try:
            return positions_of(TopicName.parse(topic), self._numbers)
        except PositionsIncomplete as fault:
            raise TierMismatch(
                f"{where}: expected the positions of commit {self.commits} among its transaction identifiers, got "
                f"others ({fault}); something lets them expire, such as the table's property "
                f"delta.setTransactionRetentionDuration: unset that, drop the table and tier the topic again"
            ) from None

    @cached_property
    def _document(self) -> tuple[int, str] | None:
        """The number and the positions of the last commit of ours; None where the log no longer has it. Files of a
        table that was restored are those of an earlier version, and so are its positions. Transaction identifiers do
        not go back, so every commit since the last one of ours is looked at. Raises `TierMismatch` where the log does
        not tell what was restored."""
        version, count, restored = self.version, 1, None
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pulsar-delta-log") as pool:
            while version >= 0:
                # The last commit is mostly one of ours.
                versions = range(version, max(version - count, -1), -1)
                count, version = min(4 * count, _AT_ONCE), versions[-1] - 1
                for commit in pool.map(self.information, versions):
                    document = None if commit is None else document_in(commit)
                    if document is not None:
                        return document
                    if commit is None:
                        version = -1
                        break
                    if commit.get("operation") == _RESTORE:
                        version = restored = self._restored(commit)
                        break
        if restored is not None:
            raise TierMismatch(
                f"table {self.location.url}: expected its log to hold the positions of version {restored}, which it "
                f"was restored to, got a log that no longer has them; restore it to a later version, or drop the table "
                f"and tier the topic again (pyspark-pulsar tier drop)"
            )
        return None

    def _restored(self, commit: Mapping[str, Any]) -> int:
        version = (commit.get("operationParameters") or {}).get("version")
        if version is None or not str(version).isdecimal():
            raise TierMismatch(
                f"table {self.location.url}: expected to see the version that it was restored to, got {version!r}; "
                f"restore it to a version and not to a time"
            )
        return int(version)

    def information(self, version: int) -> Mapping[str, Any] | None:
        """What a commit says of itself; None where the log no longer has it. delta-rs' history also gives commits that
        came later than the state, and holds the interpreter's lock while it waits for the store. Raises
        `ColumnsUnavailable`."""
        with self.location.told():
            try:
                with self.location.storage.open_input(
                    self.location.url_of(f"{LOG}/{version:020}.json")
                ) as source:
                    lines = source.read().splitlines()
            except FileNotFoundError:
                return None
        line = next((line for line in lines if _INFORMATION.match(line)), None)
        told: Mapping[str, Any] = {} if line is None else json.loads(line)["commitInfo"]
        return told

    def _numbers(self, names: Sequence[str]) -> list[int | None]:
        with self.location.told():
            return map_concurrently(self.delta.transaction_version, names, _AT_ONCE)

    def is_defined_as(self, other: TableState) -> bool:
        """Whether both are the same table with the same columns, settings and protocol."""
        mine, theirs = self.delta, other.delta
        return (
            self.id == other.id
            and self.configuration == other.configuration
            and mine.schema() == theirs.schema()
            and mine.protocol() == theirs.protocol()
        )

    def check_readable(self) -> None:
        """Raises `ColumnsUnavailable` where rows are not just those of the data files."""
        features = set(self.delta.protocol().reader_features or ())
        unknown = sorted(features - _FEATURES)
        if self.configuration.get(_MAPPING, "none") != "none":
            unknown.append("columnMapping")
        if unknown:
            raise ColumnsUnavailable(
                f"table {self.location.url}: expected a table whose files are read by the names of columns, got one "
                f"that also needs {', '.join(unknown)}; make it anew with the engine that added this"
            )
        if "deletionVectors" in features and self._has_deleted_rows():
            raise ColumnsUnavailable(
                f"table {self.location.url}: expected no deleted rows, got deletion vectors; rewrite the files with "
                f"the engine that deleted the rows, such as by REORG TABLE ... APPLY (PURGE)"
            )

    def _has_deleted_rows(self) -> bool:
        with self.location.told():
            return any(batch.num_rows for batch in self.delta.deletion_vectors())
