"""Tables of topics in the Iceberg format, version 2, by pyiceberg. Driver only.

Two processes that tier one topic at once read the table's state, write files, and commit on condition that the table
still is in that state. `commit.retry.num-retries` is 0, or pyiceberg would append the second one's files to whatever
is there by then. The loser gets `TableMoved`, looks where the positions are now, and leaves its files to the sweep.
Each commit makes a snapshot, also one without files, since catalogs compare snapshots and not properties.

Format: the Iceberg table specification, version 2. Field ids of a file are those of the table's schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyspark_pulsar.columnar.data_file import Bounds, DataFile
from pyspark_pulsar.columnar.layout import FILE_BYTES, IDENTITY_TRANSFORM, FileLayout, PartitionField
from pyspark_pulsar.columnar.positions import TieredPositions
from pyspark_pulsar.columnar.row_groups import IDENTITY, PARTITION
from pyspark_pulsar.columnar.rows import CORRUPT_COLUMN, TableRows
from pyspark_pulsar.columnar.storage import TableStorage
from pyspark_pulsar.columnar.stored_types import check_widened, iceberg_leaf, plain_schema, stored_schema
from pyspark_pulsar.columnar.table import (
    FORMER_NAMES,
    POSITIONS,
    SCHEMA,
    SORTED_BY,
    TOPIC,
    ColumnarTable,
    TableCatalog,
    TableDefinition,
    TableMoved,
    former_names,
)
from pyspark_pulsar.columnar.writer import WrittenFile
from pyspark_pulsar.errors import (
    ColumnsUnavailable,
    OptionError,
    PrerequisiteMissing,
    SchemaError,
    TierMismatch,
)

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table import Table
    from pyiceberg.transforms import Transform

_PROPERTIES: Final = {
    "format-version": "2",
    "commit.retry.num-retries": "0",
    "write.parquet.compression-codec": "zstd",
}
_PUBLISHED: Final = "__publishTime"
_HAPPENED: Final = "__eventTime"
_BOUNDED: Final = (f"{IDENTITY}.ledger", f"{IDENTITY}.entry")
"""Nested columns whose least and largest values a commit names: files are found by them."""
_SECRETS: Final = ("secret", "token", "password", "credential", "key")
_LEAST_SECRET: Final = 4


class IcebergCatalog(TableCatalog):
    """Any catalog that pyiceberg knows."""

    def __init__(self, catalog: Catalog, secrets: tuple[str, ...]) -> None:
        self._catalog = catalog
        self._secrets = secrets

    @classmethod
    def open(cls, name: str, properties: Mapping[str, str]) -> IcebergCatalog:
        """Raises `PrerequisiteMissing` without pyiceberg, `OptionError` for properties that it does not take."""
        try:
            from pyiceberg.catalog import load_catalog
        except ImportError:
            raise PrerequisiteMissing(
                "columns in Iceberg tables need the package pyiceberg on the driver; pip install "
                "'pyspark-pulsar[iceberg]'"
            ) from None
        secrets = tuple(
            value
            for key, value in properties.items()
            if len(value) >= _LEAST_SECRET and any(word in key.lower() for word in _SECRETS)
        )
        try:
            with _told(f"Iceberg catalog {name}", secrets):
                return cls(load_catalog(name, **properties), secrets)
        except (ValueError, KeyError) as fault:
            raise OptionError(
                f"option 'tierCatalog': expected properties of an Iceberg catalog as pyiceberg takes them, got others "
                f"({_hidden(str(fault), secrets)})"
            ) from None

    def load(self, identifier: str) -> IcebergTable | None:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        with _told(f"table {identifier}", self._secrets):
            try:
                return IcebergTable(self._catalog.load_table(identifier), identifier, self._secrets)
            except (NoSuchTableError, NoSuchNamespaceError):
                return None

    def present(self, identifiers: Iterable[str]) -> set[str]:
        from pyiceberg.exceptions import NoSuchNamespaceError

        names = set(identifiers)
        found: set[str] = set()
        for namespace in sorted({name.rpartition(".")[0] for name in names}):
            with _told(f"namespace {namespace} of the Iceberg catalog", self._secrets):
                try:
                    found |= {".".join(listed) for listed in self._catalog.list_tables(namespace)}
                except NoSuchNamespaceError:
                    continue
        return names & found

    def create(self, identifier: str, definition: TableDefinition) -> IcebergTable:
        from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError

        columns = stored_schema(definition.columns, iceberg_leaf)
        for field in definition.partition_fields:
            field.check(columns)
        properties = {
            **_PROPERTIES,
            **dict(definition.properties),
            TOPIC: definition.topic,
            SCHEMA: definition.schema,
            SORTED_BY: ",".join(definition.sort_columns),
            POSITIONS: TieredPositions().to_json(),
        }
        self._make_namespace(identifier.rpartition(".")[0])
        try:
            with _told(f"table {identifier}", self._secrets):
                with (
                    self._catalog.create_table_transaction(
                        identifier, columns, properties=properties
                    ) as made,
                    made.update_spec() as spec,
                ):
                    for field in definition.partition_fields:
                        spec.add_field(field.source, _transform(field), field.name)
                return IcebergTable(self._catalog.load_table(identifier), identifier, self._secrets)
        except (TableAlreadyExistsError, CommitFailedException) as fault:
            raise TableMoved(str(fault)) from None
        except ColumnsUnavailable as fault:
            # What a database says of two that make one table at once is its own affair.
            if self.load(identifier) is not None:
                raise TableMoved(str(fault)) from None
            raise

    def _make_namespace(self, namespace: str) -> None:
        try:
            with _told(f"namespace {namespace} of the Iceberg catalog", self._secrets):
                self._catalog.create_namespace_if_not_exists(namespace)
        except ColumnsUnavailable:
            with _told(f"namespace {namespace} of the Iceberg catalog", self._secrets):
                if self._catalog.namespace_exists(namespace):
                    return
            raise

    def drop(self, identifier: str, *, keep_files: bool) -> bool:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        with _told(f"table {identifier}", self._secrets):
            try:
                if keep_files:
                    self._catalog.drop_table(identifier)
                else:
                    self._catalog.purge_table(identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                return False
        return True


class IcebergTable(ColumnarTable):
    """One table, in the state in which it was loaded."""

    def __init__(self, table: Table, identifier: str, secrets: tuple[str, ...]) -> None:
        self._table = table
        self._identifier = identifier
        self._secrets = secrets
        self._by_url: dict[str, IcebergFile] = {}

    @property
    def name(self) -> str:
        return self._identifier

    @property
    def format(self) -> str:
        return "iceberg"

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
        return TieredPositions.from_json(text, f"table {self.name}")

    @property
    def schema(self) -> str | None:
        return self._table.properties.get(SCHEMA)

    @property
    def columns(self) -> pa.Schema:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        columns = schema_to_pyarrow(self._table.schema(), include_field_ids=True)
        assert isinstance(columns, pa.Schema)  # noqa: S101 - of a schema it makes a schema
        return plain_schema(columns)

    @property
    def rows(self) -> TableRows:
        return TableRows(self.name, self.columns, self._storage, former_names(self._table.properties))

    @property
    def layout(self) -> FileLayout:
        spec, schema = self._table.spec(), self._table.schema()
        fields = tuple(
            PartitionField(schema.find_column_name(field.source_id) or "", _named(field.transform))
            for field in spec.fields
        )
        sorted_by = self._table.properties.get(SORTED_BY, "")
        folder = f"{self._table.location().rstrip('/')}/data"
        size = int(self._table.properties.get("write.target-file-size-bytes", FILE_BYTES))
        return FileLayout(folder, self.columns, fields, tuple(filter(None, sorted_by.split(","))), size)

    @property
    def version(self) -> str:
        return f"{self._table.metadata.table_uuid}/{self._table.metadata_location}"

    @property
    def _storage(self) -> TableStorage:
        return TableStorage.of(self._table.io.properties)

    def files(self) -> Sequence[DataFile]:
        snapshot = self._table.current_snapshot()
        if snapshot is None:
            return ()
        describe = _Description(self._table).of
        with _told(f"table {self.name}", self._secrets):
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

    def evolve(self, columns: pa.Schema, schema: str, renamed: Mapping[str, str]) -> None:
        stored, present = stored_schema(columns, iceberg_leaf), self.columns
        former = former_names(self._table.properties) | renamed.keys()
        try:
            for column in stored:
                if column.name in present.names:
                    check_widened(column.name, present.field(column.name).type, column.type)
        except ValueError as fault:
            raise SchemaError(
                f"table {self.name}: expected a schema of the topic that only adds fields to the table's, or widens "
                f"their types, got another: {fault}"
            ) from None
        with self._committing() as transaction:
            if renamed:
                with transaction.update_schema() as update:
                    # Those inside others first: a path begins with names as they are now.
                    for path in sorted(renamed, key=lambda path: -path.count(".")):
                        update.rename_column(path, renamed[path])
            with transaction.update_schema() as update:
                update.union_by_name(stored)
            transaction.set_properties({SCHEMA: schema, FORMER_NAMES: json.dumps(sorted(former))})

    def commit(
        self, files: Sequence[WrittenFile], positions: TieredPositions, replaced: Collection[DataFile] = ()
    ) -> None:
        document = positions.to_json()
        statistics = _Statistics(self._table)
        with self._committing() as transaction:
            transaction.set_properties({POSITIONS: document})
            update = transaction.update_snapshot(snapshot_properties={POSITIONS: document})
            if replaced:
                with update.overwrite() as overwrite:
                    for old in replaced:
                        overwrite.delete_data_file(self._by_url[old.url])
                    for file in files:
                        overwrite.append_data_file(statistics.data_file(file))
            else:
                with update.fast_append() as append:
                    for file in files:
                        append.append_data_file(statistics.data_file(file))

    @contextmanager
    def _committing(self) -> Iterator[Any]:
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        with _told(f"table {self.name}", self._secrets):
            try:
                with self._table.transaction() as transaction:
                    yield transaction
            except CommitFailedException as fault:
                raise TableMoved(_hidden(str(fault), self._secrets)) from None
            except CommitStateUnknownException as fault:
                raise ColumnsUnavailable(
                    f"table {self.name}: expected the catalog to say whether it has done a commit, got neither "
                    f"({_hidden(str(fault), self._secrets)}); look at the table: what it says is so"
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
        with _told(f"table {self.name}", self._secrets):
            for url in gone:
                self._table.io.delete(url)
        return states - len(self._table.metadata.snapshots)

    def known_urls(self) -> set[str]:
        urls: set[str] = set()
        with _told(f"table {self.name}", self._secrets):
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


class _Statistics:
    """What a commit says of each file, of one table."""

    def __init__(self, table: Table) -> None:
        from pyiceberg.io.pyarrow import (
            MetricModeTypes,
            MetricsMode,
            StatisticsCollector,
            compute_statistics_plan,
            parquet_path_to_id_mapping,
        )

        schema = table.schema()
        self._plan = compute_statistics_plan(schema, table.properties)
        self._ids = parquet_path_to_id_mapping(schema)
        self._spec_id = table.spec().spec_id
        for name in _BOUNDED:
            column: Any = schema.find_field(name)
            self._plan[column.field_id] = StatisticsCollector(
                field_id=column.field_id,
                iceberg_type=column.field_type,
                mode=MetricsMode(MetricModeTypes.FULL),
                column_name=name,
            )

    def data_file(self, file: WrittenFile) -> IcebergFile:
        from pyiceberg.io.pyarrow import data_file_statistics_from_parquet_metadata
        from pyiceberg.manifest import DataFile as IcebergFile, DataFileContent, FileFormat
        from pyiceberg.typedef import Record

        statistics: Any = data_file_statistics_from_parquet_metadata(file.footer, self._plan, self._ids)
        return IcebergFile.from_args(
            content=DataFileContent.DATA,
            file_path=file.url,
            file_format=FileFormat.PARQUET,
            partition=Record(*file.key),
            file_size_in_bytes=file.size,
            sort_order_id=None,
            spec_id=self._spec_id,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )


class _Description:
    """What manifests say of files of a table, in the words of `DataFile`."""

    def __init__(self, table: Table) -> None:
        schema = table.schema()
        names = (*_BOUNDED, PARTITION, _PUBLISHED, _HAPPENED, CORRUPT_COLUMN)
        self._fields = {name: field for name in names if (field := _field(schema, name)) is not None}

    def of(self, file: IcebergFile, deletes: tuple[str, ...]) -> DataFile:
        ledgers, entries = (self._bounds(file, name) for name in _BOUNDED)
        published, happened = (self._bounds(file, name) for name in (_PUBLISHED, _HAPPENED))
        return DataFile(
            url=file.file_path,
            size=file.file_size_in_bytes,
            rows=file.record_count,
            partitions=self._bounds(file, PARTITION),
            ledgers=ledgers,
            entries=entries,
            published=None if published is None else (published[0] // 1000, published[1] // 1000),
            event_from=None if happened is None else happened[0] // 1000,
            columns=frozenset(file.value_counts) if file.value_counts else None,
            has_bad_rows=self._has_values(file, CORRUPT_COLUMN),
            key=tuple(file.partition[index] for index in range(len(file.partition))),
            deletes=deletes,
        )

    def _bounds(self, file: IcebergFile, name: str) -> Bounds | None:
        from pyiceberg.conversions import from_bytes

        field = self._fields.get(name)
        if field is None:
            return None
        lower, upper = (
            (bounds or {}).get(field.field_id) for bounds in (file.lower_bounds, file.upper_bounds)
        )
        if lower is None or upper is None:
            return None
        return int(from_bytes(field.field_type, lower)), int(from_bytes(field.field_type, upper))

    def _has_values(self, file: IcebergFile, name: str) -> bool | None:
        """Whether some row has one; None where nobody tells."""
        field = self._fields.get(name)
        if field is None:
            return False
        if not file.value_counts or not file.null_value_counts:
            return None
        return file.value_counts.get(field.field_id, 0) > file.null_value_counts.get(field.field_id, 0)


def _field(schema: Any, name: str) -> Any:
    try:
        return schema.find_field(name)
    except ValueError:
        return None


def _transform(field: PartitionField) -> Transform[Any, Any]:
    from pyiceberg.transforms import parse_transform

    return parse_transform(field.transform)


def _named(transform: object) -> str:
    """As `PartitionField` calls it. Raises `OptionError` for one that we do not write."""
    text = str(transform)
    if text not in (IDENTITY_TRANSFORM, "hour", "day", "month", "year"):
        raise OptionError(
            f"partition field {text}: expected hour, day, month or year, or the values themselves, got another, "
            f"which is not written; give the table another partition spec"
        )
    return text


@contextmanager
def _told(what: str, secrets: tuple[str, ...]) -> Iterator[None]:
    """Faults of catalog and storage in words of our own, without secrets. Raises `ColumnsUnavailable`."""
    import requests
    from pyiceberg.exceptions import RESTError, ServerError, ServiceUnavailableError, UnauthorizedError

    faults: tuple[type[Exception], ...] = (
        OSError,
        requests.RequestException,
        RESTError,
        ServerError,
        ServiceUnavailableError,
        UnauthorizedError,
        pa.ArrowException,
        *_database_errors(),
    )
    try:
        yield
    except faults as fault:
        raise ColumnsUnavailable(
            f"{what}: expected to reach its catalog and files, got {type(fault).__name__}: "
            f"{_hidden(str(fault).splitlines()[0] if str(fault) else 'no reason given', secrets)}"
        ) from None


def _database_errors() -> tuple[type[Exception], ...]:
    try:
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        return ()
    return (SQLAlchemyError,)


def _hidden(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
