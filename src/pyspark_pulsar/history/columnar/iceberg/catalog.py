"""A catalog of Iceberg tables: opens catalogs; finds, creates and drops tables of topics. Driver only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from pyspark_pulsar.errors import (
    ColumnsUnavailable,
    OptionError,
    PrerequisiteMissing,
)
from pyspark_pulsar.history.columnar.columns.stored_types import iceberg_leaf, stored_schema
from pyspark_pulsar.history.columnar.iceberg.faults import translated_faults
from pyspark_pulsar.history.columnar.iceberg.sessions import bounded_sessions
from pyspark_pulsar.history.columnar.iceberg.table import IcebergTable
from pyspark_pulsar.history.columnar.layout import PartitionField, check_sort_columns, named_fields
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.history.columnar.redaction import one_line, redact, secret_values
from pyspark_pulsar.history.columnar.table import (
    POSITIONS,
    SORTED_BY,
    TOPIC,
    TableCatalog,
    TableDefinition,
    TableMoved,
)

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.transforms import Transform

_PROPERTIES: Final = {
    "format-version": "2",
    "commit.retry.num-retries": "0",
    "write.parquet.compression-codec": "zstd",
}


class IcebergCatalog(TableCatalog):
    """A catalog that pyiceberg supports."""

    format: ClassVar[str] = "iceberg"

    def __init__(self, catalog: Catalog, secrets: tuple[str, ...]) -> None:
        self._catalog = catalog
        self._secrets = secrets

    @classmethod
    def open(cls, name: str, properties: Mapping[str, str]) -> IcebergCatalog:
        """Open a catalog. Only one thread of a process may call this method at a time.

        Raises:
            PrerequisiteMissing: pyiceberg is not installed.
            OptionError: pyiceberg does not accept the properties.
            ColumnsUnavailable: The catalog does not answer.

        """
        try:
            from pyiceberg.catalog import load_catalog
        except ImportError:
            raise PrerequisiteMissing(
                "columns in Iceberg tables need the package pyiceberg on the driver; run "
                "`pip install 'pyspark-pulsar[iceberg]'`"
            ) from None
        secrets = secret_values(properties)
        try:
            with translated_faults(f"Iceberg catalog {name}", secrets), bounded_sessions():
                return cls(load_catalog(name, **_shared_memory(name, properties)), secrets)
        except (ValueError, KeyError) as fault:
            raise OptionError(
                f"option 'tierCatalog': expected properties that pyiceberg accepts for an Iceberg catalog, got others "
                f"({redact(str(fault), secrets)}); correct the properties"
            ) from None

    def load(self, identifier: str) -> IcebergTable | None:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        with translated_faults(f"table {identifier}", self._secrets):
            try:
                return IcebergTable(self._catalog.load_table(identifier), identifier, self._secrets)
            except (NoSuchTableError, NoSuchNamespaceError):
                return None

    def present(self, identifiers: Iterable[str]) -> set[str]:
        from pyiceberg.exceptions import NoSuchNamespaceError

        names = set(identifiers)
        found: set[str] = set()
        for namespace in sorted({name.rpartition(".")[0] for name in names}):
            with translated_faults(f"namespace {namespace} of the Iceberg catalog", self._secrets):
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
        fields = named_fields(definition.partition_fields, columns)
        check_sort_columns(definition.sort_columns, columns)
        properties = {
            **_PROPERTIES,
            **dict(definition.properties),
            TOPIC: definition.topic,
            SORTED_BY: ",".join(definition.sort_columns),
            POSITIONS: TieredPositions().to_json(),
        }
        self._make_namespace(identifier.rpartition(".")[0])
        try:
            with translated_faults(f"table {identifier}", self._secrets):
                with (
                    self._catalog.create_table_transaction(
                        identifier, columns, properties=properties
                    ) as transaction,
                    transaction.update_spec() as spec,
                ):
                    for field in fields:
                        spec.add_field(field.source, _transform(field), field.name)
                return IcebergTable(self._catalog.load_table(identifier), identifier, self._secrets)
        except (TableAlreadyExistsError, CommitFailedException) as fault:
            raise TableMoved(str(fault)) from None
        except ValueError as fault:
            raise OptionError(
                f"table {identifier}: expected columns, partition fields and properties that an Iceberg table can "
                f"have, got others ({one_line(fault, self._secrets)}); correct the tiering options"
            ) from None
        except ColumnsUnavailable as fault:
            # If two processes create one table at the same time, the error depends on the catalog's database.
            if self.load(identifier) is not None:
                raise TableMoved(str(fault)) from None
            raise

    def _make_namespace(self, namespace: str) -> None:
        try:
            with translated_faults(f"namespace {namespace} of the Iceberg catalog", self._secrets):
                self._catalog.create_namespace_if_not_exists(namespace)
        except ColumnsUnavailable:
            with translated_faults(f"namespace {namespace} of the Iceberg catalog", self._secrets):
                if self._catalog.namespace_exists(namespace):
                    return
            raise

    def drop(self, identifier: str, *, keep_files: bool) -> bool:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        with translated_faults(f"table {identifier}", self._secrets):
            try:
                if keep_files:
                    self._catalog.drop_table(identifier)
                else:
                    self._catalog.purge_table(identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                return False
        return True


def _shared_memory(name: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Change the properties of an in-memory catalog, so that all threads share one catalog.

    By default, each thread has a separate in-memory catalog. If the catalog is not in memory, the properties stay
    unchanged.
    """
    if properties.get("type") != "in-memory" or "uri" in properties:
        return dict(properties)
    return {**properties, "uri": f"sqlite:///file:{quote(name, safe='')}?mode=memory&cache=shared&uri=true"}


def _transform(field: PartitionField) -> Transform[Any, Any]:
    from pyiceberg.transforms import parse_transform

    return parse_transform(field.transform)
