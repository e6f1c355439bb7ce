"""Tables of topics in the Iceberg format, version 2, by pyiceberg. Driver only.

Two processes that tier one topic at once read the table's state, write files, and commit on condition that the table
still is in that state. `commit.retry.num-retries` is 0, or pyiceberg would append the second one's files to whatever
is there by then. The loser gets `TableMoved`, looks where the positions are now, and leaves its files to the sweep.
Each commit makes a snapshot, also one without files, since catalogs compare snapshots and not properties.

Format: the Iceberg table specification, version 2. Field ids of a file are those of the table's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pyspark_pulsar.errors import (
    ColumnsUnavailable,
    OptionError,
    SchemaError,
    TierMismatch,
)
from pyspark_pulsar.history.columnar.columns.projection import field_id
from pyspark_pulsar.history.columnar.columns.stored_types import (
    columns_of_table,
    fitting_field,
    iceberg_leaf,
    inner_fields,
    plain_schema,
    stored_schema,
)
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.iceberg.faults import told
from pyspark_pulsar.history.columnar.iceberg.file_description import FileDescription
from pyspark_pulsar.history.columnar.iceberg.files import table_files
from pyspark_pulsar.history.columnar.iceberg.positions import positions_of_snapshot
from pyspark_pulsar.history.columnar.iceberg.statistics import CommitStatistics
from pyspark_pulsar.history.columnar.iceberg.summaries import summarized
from pyspark_pulsar.history.columnar.layout import (
    FILE_BYTES,
    IDENTITY_TRANSFORM,
    FileLayout,
    PartitionField,
)
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.history.columnar.redaction import one_line, redacted
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.history.columnar.table import (
    POSITIONS,
    SORTED_BY,
    TOPIC,
    ColumnarTable,
    NewSchema,
    TableMoved,
    is_whole,
)
from pyspark_pulsar.history.columnar.table_files import Parts, TableFiles
from pyspark_pulsar.history.columnar.tiered_schema import (
    parse_tiered_schema,
    property_of,
    schema_id,
    schema_texts,
)
from pyspark_pulsar.history.columnar.writing.writer import WrittenFile

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table


class IcebergTable(ColumnarTable):
    """One table, in the state in which it was loaded."""

    def __init__(self, table: Table, identifier: str, secrets: tuple[str, ...]) -> None:
        self._table = table
        self._identifier = identifier
        self._secrets = secrets
        self._by_url: dict[str, IcebergFile] = {}
        self._positions = "", TieredPositions()
        """Of the state that has this version."""

    @property
    def name(self) -> str:
        return self._identifier

    @property
    def format(self) -> str:
        return "iceberg"

    @property
    def id(self) -> str:
        return str(self._table.metadata.table_uuid)

    @property
    def topic(self) -> str | None:
        return self._table.properties.get(TOPIC)

    @property
    def positions(self) -> TieredPositions:
        text = self._table.properties.get(POSITIONS)
        if text is None:
            raise TierMismatch(
                f"table {self.name}: expected the property {POSITIONS}, which the table of a topic has, got none; "
                f"somebody has removed it: drop the table and tier the topic again"
            )
        version, positions = self._positions
        if version != self.version:
            positions = self._present_positions(text)
            self._positions = self.version, positions
        return positions

    def _present_positions(self, text: str) -> TieredPositions:
        """Raises `TierMismatch`, `ProtocolError`."""
        where = f"table {self.name}"
        present = positions_of_snapshot(self._table.metadata, text)
        claimed = TieredPositions.from_json(text if present is None else present, where)
        if present is None and claimed.partitions:
            raise TierMismatch(
                f"{where}: expected a commit of pyspark-pulsar among the ancestors of its current snapshot "
                f"{self._table.metadata.current_snapshot_id}, got none, though its property {POSITIONS} says that "
                f"messages are tiered: the table was rolled back, replaced, or made from the definition of another. "
                f"Set its current snapshot to a state with these rows (rollback_to_snapshot), or drop the table and "
                f"tier the topic again (pyspark-pulsar tier drop)"
            )
        return claimed

    @property
    def schema_texts(self) -> Mapping[int, str]:
        return schema_texts(self._table.properties)

    @property
    def columns(self) -> pa.Schema:
        return _columns(self._table.schema())

    @property
    def storage(self) -> TableStorage:
        return TableStorage.of(self._table.io.properties)

    @property
    def folder(self) -> str:
        return f"{self._table.location().rstrip('/')}/data"

    @property
    def file_bytes(self) -> int:
        return int(self._table.properties.get("write.target-file-size-bytes", FILE_BYTES))

    def layout(self, schema: str) -> FileLayout:
        stored, table = parse_tiered_schema(schema, f"table {self.name}").stored, self._table.schema()
        names = {field_id(column): column.name for column in stored}
        fields = tuple(
            PartitionField(
                names.get(field.source_id) or table.find_column_name(field.source_id) or "",
                transform_name(field.transform),
            )
            for field in self._table.spec().fields
        )
        sorted_by = tuple(filter(None, self._table.properties.get(SORTED_BY, "").split(",")))
        return FileLayout(self.folder, stored, fields, sorted_by, schema_id(schema), self.file_bytes)

    @property
    def version(self) -> str:
        return f"{self._table.metadata.table_uuid}/{self._table.metadata_location}"

    def files(self) -> Sequence[DataFile]:
        snapshot = self._table.current_snapshot()
        if snapshot is None:
            return ()
        describe = FileDescription(self._table).of
        with told(f"table {self.name}", self._secrets):
            from pyiceberg.manifest import ManifestContent

            manifests = snapshot.manifests(self._table.io)
            if any(manifest.content is ManifestContent.DELETES for manifest in manifests):
                return self._files_with_deletes(describe)
            entries = [
                entry.data_file
                for manifest in manifests
                for entry in manifest.fetch_manifest_entry(self._table.io, discard_deleted=True)
            ]
        self._by_url = {file.file_path: file for file in entries}
        return tuple(describe(file, ()) for file in entries)

    def all_files(self, columns: Collection[str], known: Parts) -> TableFiles:
        with told(f"table {self.name}", self._secrets):
            return table_files(self._table, columns, known)

    def _files_with_deletes(
        self, describe: Callable[[IcebergFile, tuple[str, ...]], DataFile]
    ) -> tuple[DataFile, ...]:
        """Raises `ColumnsUnavailable` for deletes by equality, which pyiceberg does not understand either."""
        from pyiceberg.manifest import DataFileContent, FileFormat

        try:
            tasks = list(self._table.scan().plan_files())
        except (ValueError, NotImplementedError) as fault:
            raise ColumnsUnavailable(
                f"table {self.name}: expected no deleted rows, or such that are named by file and number, got others "
                f"({fault}); compact the table with the engine that deleted them"
            ) from None
        for task in tasks:
            for delete in task.delete_files:
                if (
                    delete.content is not DataFileContent.POSITION_DELETES
                    or delete.file_format is not FileFormat.PARQUET
                ):
                    raise ColumnsUnavailable(
                        f"table {self.name}: expected deleted rows of {task.file.file_path} to be named by file and "
                        f"number in Parquet, got {delete.file_path}; compact the table with the engine that deleted "
                        "them"
                    )
        self._by_url = {task.file.file_path: task.file for task in tasks}
        return tuple(
            describe(task.file, tuple(sorted(delete.file_path for delete in task.delete_files)))
            for task in tasks
        )

    def holds(self, stored: pa.Schema) -> bool:
        present = set(_ids(self.columns))
        return all(number in present for number in _ids(stored))

    def add_schema(self, schema: NewSchema) -> str:
        stored, present = stored_schema(schema.columns, iceberg_leaf), self.columns_by_name
        taken = {field.name.lower() for field in self._table.spec().fields} - {
            name.lower() for name in present
        }
        fitting = [
            part
            for column in stored
            if column.name.lower() not in taken
            and (part := fitting_field(column, present.get(column.name), may_widen=True)) is not None
        ]
        holds_all = is_whole(self.name, stored, fitting, self._decisive_columns)
        try:
            with self._committing() as transaction:
                # pyiceberg looks at all columns of the table for each of these.
                changed = [
                    column
                    for column in fitting
                    if column.name not in present or present[column.name].type != column.type
                ]
                if changed:
                    with transaction.update_schema() as update:
                        update.union_by_name(pa.schema(changed))
                columns = columns_of_table(fitting, _columns(transaction.table_metadata.schema()))
                text = schema.tiered(pa.schema(columns), is_whole=holds_all).text
                transaction.set_properties({property_of(text): text})
        except ValueError as fault:
            raise SchemaError(
                f"table {self.name}: expected a schema of the topic whose fields can be columns of the table, got one "
                f"that pyiceberg refuses ({one_line(fault, self._secrets)}); drop the tier and make it again"
            ) from None
        return text

    @property
    def _decisive_columns(self) -> set[str]:
        """The columns at the top that rows are apart or sorted by."""
        sources = [
            self._table.schema().find_column_name(field.source_id) for field in self._table.spec().fields
        ]
        return {name for name in sources if name} | set(self._table.properties.get(SORTED_BY, "").split(","))

    def commit(
        self, files: Sequence[WrittenFile], positions: TieredPositions, replaced: Collection[DataFile] = ()
    ) -> None:
        document = positions.to_json()
        statistics = CommitStatistics(self._table)
        with self._committing() as transaction:
            transaction.set_properties({POSITIONS: document})
            update = transaction.update_snapshot(snapshot_properties={POSITIONS: document})
            if replaced:
                with summarized(update.overwrite()) as overwrite:
                    for old in replaced:
                        overwrite.delete_data_file(self._by_url[old.url])
                    for file in files:
                        overwrite.append_data_file(statistics.data_file(file))
            else:
                with summarized(update.fast_append()) as append:
                    for file in files:
                        append.append_data_file(statistics.data_file(file))

    @contextmanager
    def _committing(self) -> Iterator[Any]:
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        with told(f"table {self.name}", self._secrets):
            try:
                with self._table.transaction() as transaction:
                    yield transaction
            except CommitFailedException as fault:
                raise TableMoved(redacted(str(fault), self._secrets)) from None
            except CommitStateUnknownException as fault:
                raise ColumnsUnavailable(
                    f"table {self.name}: expected the catalog to say whether it has done a commit, got neither "
                    f"({redacted(str(fault), self._secrets)}); look at the table: what it says is so"
                ) from None

    def expire(self, older_than_ms: int) -> int:
        current = self._table.metadata.current_snapshot_id
        old = [
            snapshot
            for snapshot in self._table.metadata.snapshots
            if snapshot.timestamp_ms < older_than_ms and snapshot.snapshot_id != current
        ]
        if not old:
            return 0
        from pyiceberg.table.update.snapshot import ExpireSnapshots

        # Branches and tags keep theirs.
        before, states = self.known_urls(), len(self._table.metadata.snapshots)
        with self._committing() as transaction:
            ExpireSnapshots(transaction).older_than(
                datetime.fromtimestamp(older_than_ms / 1000, UTC)
            ).commit()
        gone = before - self.known_urls()
        with told(f"table {self.name}", self._secrets):
            for url in gone:
                self._table.io.delete(url)
        return states - len(self._table.metadata.snapshots)

    def known_urls(self) -> set[str]:
        urls: set[str] = set()
        with told(f"table {self.name}", self._secrets):
            for snapshot in self._table.metadata.snapshots:
                urls.add(snapshot.manifest_list)
                for manifest in snapshot.manifests(self._table.io):
                    if manifest.manifest_path in urls:
                        continue
                    urls.add(manifest.manifest_path)
                    urls |= {
                        entry.data_file.file_path
                        for entry in manifest.fetch_manifest_entry(self._table.io, discard_deleted=True)
                    }
        return urls


def _columns(schema: Schema) -> pa.Schema:
    """Return the columns of a table, with their field ids."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    columns = schema_to_pyarrow(schema, include_field_ids=True)
    assert isinstance(columns, pa.Schema)  # noqa: S101 - of a schema it makes a schema
    return plain_schema(columns)


def _ids(fields: Iterable[pa.Field]) -> Iterator[int | None]:
    """Yield the field ids of all fields, at every depth."""
    for field in fields:
        yield field_id(field)
        yield from _ids(inner_fields(field.type))


def transform_name(transform: object) -> str:
    """As `PartitionField` calls it. Raises `OptionError` for one that we do not write."""
    text = str(transform)
    if text not in (IDENTITY_TRANSFORM, "hour", "day", "month", "year"):
        raise OptionError(
            f"partition field {text}: expected hour, day, month or year, or the values themselves, got another, "
            f"which is not written; give the table another partition spec"
        )
    return text
