"""Descriptions of a table and of a query, from which a task reads rows. Picklable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import ReadSchema


@dataclass(frozen=True, slots=True)
class TableRows:
    """The facts about a table that tasks need to read its rows."""

    name: str
    storage: TableStorage
    schemas: Mapping[int, str] = field(default_factory=dict)
    """The texts of the schemas with which rows were written (`tiered_schema`), by schema id."""

    def of_files(self, files: Iterable[DataFile]) -> TableRows:
        """Return a copy with only the schemas with which rows of these files can have been written."""
        bounds = [file.tiered_by for file in files]
        if None in bounds:
            return self
        spans = {span for span in bounds if span is not None}
        schemas = {
            number: text
            for number, text in self.schemas.items()
            if any(least <= number <= largest for least, largest in spans)
        }
        return self if len(schemas) == len(self.schemas) else replace(self, schemas=schemas)


@dataclass(frozen=True, slots=True)
class RowRequest:
    """The columns, filters and settings of a query."""

    schema: ReadSchema
    row_filter: RowFilter
    mode: str
    """The option `mode`: the treatment of messages that cannot be decoded."""
    batch_rows: int
    fetch_schema: Callable[[bytes], SchemaInfo | None] = lambda _: None
    """A function that returns the registry's schema for a schema version. A read calls the function to decode payloads.
    """
