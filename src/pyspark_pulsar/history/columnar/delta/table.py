"""Tables of topics in the Delta format, with delta-rs. Driver only.

A Delta table is a folder, `path/<namespace>/<table>`, without a catalog. The log contains the facts that
`columnar.table` needs:

    the topic, the sort columns        the table's properties, as in Iceberg
    the schemas of rows                metadata of a column                     delta.table_state
    positions                          transaction identifiers                  delta.positions
    partitions by times                columns computed from the times          delta.partitions
    bounds of files                    statistics of add actions                delta.statistics, delta.files
    only one of two commits succeeds   commits that follow one state            delta.commit

Our data files are in a separate folder, `TableState.data`. Other engines write to other folders, so upkeep is allowed
to delete any file in our folder. Readers find columns by name. `stored_types.delta_leaf` defines the types of columns.
The type of a column is never widened.

Format: the Delta transaction log protocol, https://github.com/delta-io/delta/blob/master/PROTOCOL.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from pyspark_pulsar.errors import OptionError, PrerequisiteMissing, SchemaError
from pyspark_pulsar.history.columnar.columns.stored_types import (
    columns_of_table,
    delta_leaf,
    fitting_field,
    stored_schema,
)
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.delta import partitions
from pyspark_pulsar.history.columnar.delta.columns import (
    NOTES_COLUMN,
    allowed_columns,
    check_names,
    delta_schema,
    has_local_times,
    hides_local_times,
)
from pyspark_pulsar.history.columnar.delta.commit import REARRANGED, commit_properties, write_commit
from pyspark_pulsar.history.columnar.delta.files import added_files
from pyspark_pulsar.history.columnar.delta.positions import (
    COMMITS,
    DOCUMENT,
    DOCUMENT_NUMBER,
    canonical,
    numbers_of,
)
from pyspark_pulsar.history.columnar.delta.statistics import file_statistics
from pyspark_pulsar.history.columnar.delta.table_location import KNOWN_SETTINGS, TableLocation
from pyspark_pulsar.history.columnar.delta.table_state import TableState
from pyspark_pulsar.history.columnar.delta.upkeep import drop_table, expire_states, listing, named_urls
from pyspark_pulsar.history.columnar.layout import FILE_BYTES, FileLayout, check_sort_columns, named_fields
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.history.columnar.table import (
    SORTED_BY,
    TOPIC,
    ColumnarTable,
    NewSchema,
    TableCatalog,
    TableDefinition,
    TableMoved,
    is_whole,
)
from pyspark_pulsar.history.columnar.tiered_schema import (
    parse_tiered_schema,
    property_of,
    schema_id,
    schema_texts,
)
from pyspark_pulsar.history.columnar.writing.writer import WrittenFile
from pyspark_pulsar.runtime import time

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction, RemoveAction

_PATH: Final = "path"
_TYPE: Final = "type"
_DEFAULTS: Final = {
    "delta.checkpointInterval": "10",  # Loading a table reads all commits after the last checkpoint.
    "delta.dataSkippingNumIndexedCols": "-1",  # -1 means all columns, including the position columns at the end.
}
_FILE_BYTES: Final = "delta.targetFileSize"


class DeltaFolder(TableCatalog):
    """The tables in one folder, or under one prefix of a bucket."""

    format: ClassVar[str] = "delta"

    def __init__(self, location: TableLocation) -> None:
        self._location = location

    @classmethod
    def open(cls, properties: Mapping[str, str]) -> DeltaFolder:
        """Check the properties, without connecting to the store.

        Raises:
            PrerequisiteMissing: deltalake is not installed.
            OptionError: The properties lack `path`, or contain an unknown setting.

        """
        unknown = sorted(properties.keys() - KNOWN_SETTINGS - {_TYPE, _PATH})
        if unknown or not properties.get(_PATH):
            raise OptionError(
                f"option 'tierCatalog': expected the property path, and settings such as s3.endpoint, for type delta, "
                f"got {', '.join(unknown) or 'no path'}; correct the properties"
            )
        try:
            import deltalake  # noqa: F401 - only checks that the package exists
        except ImportError:
            raise PrerequisiteMissing(
                "columns in Delta tables need the package deltalake on the driver; run "
                "`pip install 'pyspark-pulsar[delta]'`"
            ) from None
        return cls(TableLocation.from_path(properties[_PATH], properties))

    def load(self, identifier: str) -> DeltaColumnarTable | None:
        from deltalake.exceptions import TableNotFoundError

        location = self._table_location(identifier)
        with location.translated_faults():
            try:
                return DeltaColumnarTable(TableState(location.load(), location))
            except TableNotFoundError:
                return None

    def present(self, identifiers: Iterable[str]) -> set[str]:
        names = set(identifiers)
        listed: set[str] = set()
        for namespace in sorted({name.rpartition(".")[0] for name in names}):
            location = self._location.under(namespace)
            with location.translated_faults():
                listed |= {f"{namespace}.{info.base_name}" for info in listing(location) if not info.is_file}
        return names & listed

    def create(self, identifier: str, definition: TableDefinition) -> DeltaColumnarTable:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        location, columns = self._table_location(identifier), stored_schema(definition.columns, delta_leaf)
        check_names(columns, location.url)
        for field in definition.partition_fields:
            partitions.check_partition_field(field, columns)
        fields = named_fields(definition.partition_fields, columns)
        check_sort_columns(definition.sort_columns, columns)
        # Columns with local times inside maps need a table feature. `add_schema` enables the feature and adds these
        # columns.
        now = pa.schema([column for column in columns if not hides_local_times(column.type)])
        configuration = {
            **_DEFAULTS,
            **dict(definition.properties),
            TOPIC: definition.topic,
            SORTED_BY: ",".join(definition.sort_columns),
            partitions.PARTITIONED_BY: partitions.to_json(fields),
        }
        partitions.table_columns(columns, fields, location.url)
        table_columns = delta_schema(partitions.table_columns(now, fields, location.url), location.url)
        positions = TieredPositions()
        with location.translated_faults():
            try:
                DeltaTable.create(
                    location.url,
                    table_columns,
                    mode="error",
                    partition_by=[field.column for field in fields],
                    configuration=configuration,
                    storage_options=dict(location.options),
                    commit_properties=commit_properties(
                        _information(positions, 0), {COMMITS: 0, **numbers_of(positions)}
                    ),
                    raise_if_key_not_exists=False,
                )
            except DeltaError as fault:
                if self.load(identifier) is not None:
                    raise TableMoved(location.reason(fault)) from None
                raise
            return DeltaColumnarTable(TableState(location.load(), location))

    def drop(self, identifier: str, *, keep_files: bool) -> bool:
        """Drop a table.

        With `keep_files`, the data files stay, and the folder of the log is renamed. To restore the table, rename this
        folder to `_delta_log`.
        """
        return drop_table(self._table_location(identifier), keep_files=keep_files)

    def _table_location(self, identifier: str) -> TableLocation:
        namespace, _, name = identifier.rpartition(".")
        return self._location.under(namespace, name)


class DeltaColumnarTable(ColumnarTable):
    """A table in the state in which it was loaded."""

    def __init__(self, state: TableState) -> None:
        self._state = state
        self._names: dict[str, str] = {}
        """The name in the store (`TableLocation.name_of`) of each file that `files` returned, by the file's URL."""

    @property
    def name(self) -> str:
        return self._state.location.url

    @property
    def format(self) -> str:
        return "delta"

    @property
    def id(self) -> str:
        return self._state.id

    @property
    def topic(self) -> str | None:
        return self._state.configuration.get(TOPIC)

    @property
    def positions(self) -> TieredPositions:
        return self._state.positions

    @property
    def schema_texts(self) -> Mapping[int, str]:
        return schema_texts(self._state.notes)

    @property
    def columns(self) -> pa.Schema:
        """Return the columns of the topic, without the columns of partition transforms."""
        return partitions.topic_columns(self._state.columns, self._state.partition_fields)

    @property
    def storage(self) -> TableStorage:
        return self._state.location.storage

    @property
    def folder(self) -> str:
        return self._state.data

    @property
    def file_bytes(self) -> int:
        size = self._state.configuration.get(_FILE_BYTES, "")
        return int(size) if size.isdecimal() else FILE_BYTES

    def layout(self, schema: str) -> FileLayout:
        state, fields = self._state, self._state.partition_fields
        stored = parse_tiered_schema(schema, f"table {self.name}").stored
        columns = partitions.file_columns(stored, fields)
        # A partition column has only one value in a file, so sorting by a partition column has no effect.
        sort_columns = [
            name for name in state.configuration.get(SORTED_BY, "").split(",") if name in columns.names
        ]
        return FileLayout(
            self.folder,
            columns,
            fields,
            tuple(sort_columns),
            schema_id(schema),
            self.file_bytes,
            has_folders=True,
        )

    @property
    def version(self) -> str:
        return f"{self._state.id}/{self._state.version}"

    def files(self) -> Sequence[DataFile]:
        state = self._state
        state.check_readable()
        with state.location.translated_faults():
            added = added_files(state.delta, state.location, state.partition_fields, state.columns)
        self._names = {one.file.url: one.name for one in added}
        return tuple(one.file for one in added)

    def holds(self, stored: pa.Schema) -> bool:
        try:
            return columns_of_table(stored, self.columns) == list(stored)
        except KeyError:
            return False

    def add_schema(self, schema: NewSchema) -> str:
        from deltalake.exceptions import SchemaMismatchError

        stored, present = stored_schema(schema.columns, delta_leaf), self.columns_by_name
        computed = {name.lower() for name in self._state.columns.names if name not in present}
        fitting = [
            part
            for column in allowed_columns(stored, self.name, self._state.columns)
            if column.name.lower() not in computed
            and (part := fitting_field(column, present.get(column.name), may_widen=False)) is not None
        ]
        holds_all = is_whole(self.name, stored, fitting, self._decisive_columns)
        try:
            if not self.holds(pa.schema(fitting)):
                self._add_columns(pa.schema(fitting))
        except SchemaMismatchError as fault:
            raise SchemaError(
                f"table {self.name}: expected a schema of the topic whose fields can be columns of the table, got one "
                f"that delta-rs refuses ({fault}); drop the table with pyspark-pulsar tier drop, and tier the topic "
                f"again"
            ) from None
        columns = columns_of_table(fitting, self.columns)
        text = schema.tiered(pa.schema(columns), is_whole=holds_all).text
        self._note({property_of(text): text})
        return text

    @property
    def _decisive_columns(self) -> set[str]:
        """Return the top-level columns by which rows are partitioned or sorted."""
        sources = {field.source for field in self._state.partition_fields}
        return sources | set(self._state.configuration.get(SORTED_BY, "").split(","))

    def _add_columns(self, columns: pa.Schema) -> None:
        """Enable the table feature that the columns need in one commit, and add the columns in a second commit.

        The first commit is omitted if the columns need no feature, or if the feature is already enabled.

        Raises `deltalake.exceptions.SchemaMismatchError`.
        """
        from deltalake import TableFeatures

        fields = delta_schema(columns, self.name).fields
        features = self._state.delta.protocol().reader_features or ()

        def allow(delta: DeltaTable, properties: CommitProperties) -> None:
            delta.alter.add_feature(
                TableFeatures.TimestampWithoutTimezone,
                allow_protocol_versions_increase=True,
                commit_properties=properties,
            )

        def add(delta: DeltaTable, properties: CommitProperties) -> None:
            delta.alter.add_columns(fields, commit_properties=properties)

        if "timestampNtz" not in features and any(has_local_times(column.type) for column in columns):
            self._state = write_commit(self._state, allow)
        self._state = write_commit(self._state, add)

    def commit(
        self, files: Sequence[WrittenFile], positions: TieredPositions, replaced: Collection[DataFile] = ()
    ) -> None:
        kept, number = canonical(positions), (self._state.commits or 0) + 1
        is_rearranged = bool(replaced)
        actions: list[AddAction | RemoveAction] = [
            *(self._add_action(file, is_change=not is_rearranged) for file in files),
            *(self._remove_action(file) for file in replaced),
        ]
        if is_rearranged:
            self._note({REARRANGED: str(number)})

        def write(delta: DeltaTable, properties: CommitProperties) -> None:
            delta.create_write_transaction(
                actions,
                mode="append",
                schema=delta.schema(),
                partition_by=delta.metadata().partition_columns,
                commit_properties=properties,
            )

        self._state = write_commit(
            self._state,
            write,
            may_rebase=not is_rearranged,
            information=_information(kept, number),
            numbers={COMMITS: number, **numbers_of(kept)},
        )

    def _note(self, notes: Mapping[str, str]) -> None:
        """Add entries to `TableState.notes`, in one commit."""

        def write(delta: DeltaTable, properties: CommitProperties) -> None:
            delta.alter.set_column_metadata(NOTES_COLUMN, dict(notes), commit_properties=properties)

        self._state = write_commit(self._state, write)

    def _add_action(self, file: WrittenFile, *, is_change: bool) -> AddAction:
        from deltalake.transaction import AddAction

        return AddAction(
            path=self._state.location.name_at(file.url),
            size=file.size,
            partition_values=partitions.partition_values(self._state.partition_fields, file.key, self.name),
            modification_time=time.time_ns() // 1_000_000,
            data_change=is_change,
            stats=file_statistics(file.footer, file.fractions),
        )

    def _remove_action(self, file: DataFile) -> RemoveAction:
        from deltalake.transaction import RemoveAction

        return RemoveAction(self._names[file.url], False, time.time_ns() // 1_000_000, file.size)  # noqa: FBT003

    def expire(self, older_than_ms: int) -> int:
        """Remove old commits from the log, and delete the files that only the removed states use.

        The table property `delta.logRetentionDuration` determines how long commits are kept; the default is 30 days. A
        state is removed together with its commit. Files are deleted immediately.
        """
        self._state, forgotten = expire_states(self._state, older_than_ms)
        return forgotten

    def known_urls(self) -> set[str]:
        return named_urls(self._state)


def _information(positions: TieredPositions, number: int) -> dict[str, Any]:
    """Return the entries of the commit information from which `TableState.positions` reads the positions."""
    return {DOCUMENT: positions.to_json(), DOCUMENT_NUMBER: number}
