"""Tables of topics in the Iceberg format, version 2, with pyiceberg. Driver only.

If two processes tier one topic at the same time, both processes read the table's state and write files. A commit
succeeds only if the table is still in the state that the process read. So the second commit fails with `TableMoved`,
and the second process reads the new positions. Upkeep deletes the files of the second process.
`commit.retry.num-retries` is 0, because a retry by pyiceberg would append the files of the second process to the newer
state. Each commit creates a snapshot, even without files, because catalogs detect another commit by its snapshot and
not by properties.

Format: the Iceberg table specification, version 2. The field ids in a file are the field ids of the table's schema.
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
from pyspark_pulsar.history.columnar.iceberg.faults import translated_faults
from pyspark_pulsar.history.columnar.iceberg.file_description import FileDescription
from pyspark_pulsar.history.columnar.iceberg.files import table_files
from pyspark_pulsar.history.columnar.iceberg.positions import positions_of_snapshot
from pyspark_pulsar.history.columnar.iceberg.statistics import CommitStatistics
from pyspark_pulsar.history.columnar.iceberg.summaries import tolerate_unwritable_keys
from pyspark_pulsar.history.columnar.layout import (
    FILE_BYTES,
    IDENTITY_TRANSFORM,
    FileLayout,
    PartitionField,
)
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.history.columnar.redaction import one_line, redact
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
    """A table in the state in which it was loaded."""

    def __init__(self, table: Table, identifier: str, secrets: tuple[str, ...]) -> None:
        self._table = table
        self._identifier = identifier
        self._secrets = secrets
        self._by_url: dict[str, IcebergFile] = {}
        self._positions = "", TieredPositions()
        """A version of the table, and the positions in this version. The method `positions` reads each version only
        once.
        """

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
                f"table {self.name}: expected the property {POSITIONS}, got none, because another program has removed "
                f"the property; drop the table and tier the topic again"
            )
        version, positions = self._positions
        if version != self.version:
            positions = self._present_positions(text)
            self._positions = self.version, positions
        return positions

    def _present_positions(self, text: str) -> TieredPositions:
        """Return the positions of the current snapshot. Raises `TierMismatch` and `ProtocolError`."""
        where = f"table {self.name}"
        present = positions_of_snapshot(self._table.metadata, text)
        claimed = TieredPositions.from_json(text if present is None else present, where)
        if present is None and claimed.partitions:
            raise TierMismatch(
                f"{where}: expected a commit of pyspark-pulsar among the ancestors of the current snapshot "
                f"{self._table.metadata.current_snapshot_id}, got none, although the property {POSITIONS} contains "
                f"positions. The table was rolled back, replaced, or created as a copy of another table; return to a "
                f"snapshot with the tiered rows (rollback_to_snapshot), or drop the table with pyspark-pulsar tier "
                f"drop and tier the topic again"
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
        return TableStorage.from_properties(self._table.io.properties)

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
        describe = FileDescription(self._table).data_file
        with translated_faults(f"table {self.name}", self._secrets):
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
        with translated_faults(f"table {self.name}", self._secrets):
            return table_files(self._table, columns, known)

    def _files_with_deletes(
        self, describe: Callable[[IcebergFile, tuple[str, ...]], DataFile]
    ) -> tuple[DataFile, ...]:
        """Return the data files of a table that has deleted rows.

        Raises:
            ColumnsUnavailable: Rows are deleted by equality or in another way that is not supported.

        """
        from pyiceberg.manifest import DataFileContent, FileFormat

        try:
            tasks = list(self._table.scan().plan_files())
        except (ValueError, NotImplementedError) as fault:
            raise ColumnsUnavailable(
                f"table {self.name}: expected no deletes, or position deletes, got other deletes "
                f"({fault}); compact the table with the engine that deleted the rows"
            ) from None
        for task in tasks:
            for delete in task.delete_files:
                if (
                    delete.content is not DataFileContent.POSITION_DELETES
                    or delete.file_format is not FileFormat.PARQUET
                ):
                    raise ColumnsUnavailable(
                        f"table {self.name}: expected position deletes in Parquet for data file "
                        f"{task.file.file_path}, got {delete.file_path}; compact the table with the engine that "
                        f"deleted the rows"
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
        reserved = {field.name.lower() for field in self._table.spec().fields} - {
            name.lower() for name in present
        }
        fitting = [
            part
            for column in stored
            if column.name.lower() not in reserved
            and (part := fitting_field(column, present.get(column.name), may_widen=True)) is not None
        ]
        holds_all = is_whole(self.name, stored, fitting, self._decisive_columns)
        try:
            with self._committing() as transaction:
                # pyiceberg examines all columns of the table for each column in the update, so unchanged columns are
                # omitted.
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
                f"that pyiceberg refuses ({one_line(fault, self._secrets)}); drop the table with pyspark-pulsar tier "
                f"drop, and tier the topic again"
            ) from None
        return text

    @property
    def _decisive_columns(self) -> set[str]:
        """Return the top-level columns by which rows are partitioned or sorted."""
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
                with tolerate_unwritable_keys(update.overwrite()) as overwrite:
                    for old in replaced:
                        overwrite.delete_data_file(self._by_url[old.url])
                    for file in files:
                        overwrite.append_data_file(statistics.data_file(file))
            else:
                with tolerate_unwritable_keys(update.fast_append()) as append:
                    for file in files:
                        append.append_data_file(statistics.data_file(file))

    @contextmanager
    def _committing(self) -> Iterator[Any]:
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        with translated_faults(f"table {self.name}", self._secrets):
            try:
                with self._table.transaction() as transaction:
                    yield transaction
            except CommitFailedException as fault:
                raise TableMoved(redact(str(fault), self._secrets)) from None
            except CommitStateUnknownException as fault:
                raise ColumnsUnavailable(
                    f"table {self.name}: expected the catalog to confirm or refuse a commit, got neither "
                    f"({redact(str(fault), self._secrets)}); reload the table to see whether the commit succeeded"
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

        # pyiceberg keeps snapshots to which a branch or tag refers.
        before, states = self.known_urls(), len(self._table.metadata.snapshots)
        with self._committing() as transaction:
            ExpireSnapshots(transaction).older_than(
                datetime.fromtimestamp(older_than_ms / 1000, UTC)
            ).commit()
        gone = before - self.known_urls()
        with translated_faults(f"table {self.name}", self._secrets):
            for url in gone:
                self._table.io.delete(url)
        return states - len(self._table.metadata.snapshots)

    def known_urls(self) -> set[str]:
        urls: set[str] = set()
        with translated_faults(f"table {self.name}", self._secrets):
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
    assert isinstance(columns, pa.Schema)  # noqa: S101 - pyiceberg converts a schema to a schema
    return plain_schema(columns)


def _ids(fields: Iterable[pa.Field]) -> Iterator[int | None]:
    """Yield the field ids of all fields, at every depth."""
    for field in fields:
        yield field_id(field)
        yield from _ids(inner_fields(field.type))


def transform_name(transform: object) -> str:
    """Convert a transform of pyiceberg to its name in `PartitionField`. Raises `OptionError` for other transforms."""
    text = str(transform)
    if text not in (IDENTITY_TRANSFORM, "hour", "day", "month", "year"):
        raise OptionError(
            f"partition field {text}: expected hour, day, month, year or identity, got another transform; set another "
            f"partition spec for the table"
        )
    return text
