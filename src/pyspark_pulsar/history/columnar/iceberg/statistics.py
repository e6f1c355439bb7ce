"""The statistics of data files that a commit contains. Readers use the statistics to find and skip files. Driver only.

The table's properties `write.metadata.metrics.*` select the statistics of each column, and pyiceberg evaluates these
properties. This module computes the values from the footer, because pyiceberg's own code has three faults:

  * pyiceberg fails for dates and times outside the years 1 to 9999.
  * pyiceberg fails for texts that are cut before a surrogate.
  * If some row groups of a file have no bounds, pyiceberg computes bounds of the file from the other row groups.

Format: the Iceberg table specification, version 2: fields of `data_file`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark_pulsar.history.columnar.columns.projection import field_id
from pyspark_pulsar.history.columnar.iceberg.file_description import COLUMNS_WITH_BOUNDS
from pyspark_pulsar.history.columnar.writing.footer import (
    LeafStatistics,
    largest_bytes,
    largest_text,
    leaf_statistics,
)
from pyspark_pulsar.history.columnar.writing.writer import WrittenFile

if TYPE_CHECKING:
    from pyiceberg.io.pyarrow import StatisticsCollector
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table import Table


class CommitStatistics:
    """A builder of the statistics of files, for commits to one table."""

    def __init__(self, table: Table) -> None:
        from pyiceberg.io.pyarrow import (
            MetricModeTypes,
            MetricsMode,
            StatisticsCollector,
            compute_statistics_plan,
        )

        schema = table.schema()
        self._plan = compute_statistics_plan(schema, table.properties)
        self._spec_id = table.spec().spec_id
        for name in COLUMNS_WITH_BOUNDS:
            column: Any = schema.find_field(name)
            self._plan[column.field_id] = StatisticsCollector(
                field_id=column.field_id,
                iceberg_type=column.field_type,
                mode=MetricsMode(MetricModeTypes.FULL),
                column_name=name,
            )

    def data_file(self, file: WrittenFile) -> IcebergFile:
        from pyiceberg.manifest import DataFile as IcebergFile, DataFileContent, FileFormat
        from pyiceberg.typedef import Record

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
            record_count=file.rows,
            split_offsets=_split_offsets(file),
            **self._counts_and_bounds(file),
        )

    def _counts_and_bounds(self, file: WrittenFile) -> dict[str, Any]:
        """Return the statistics: for each field of `data_file`, a mapping from the columns' field ids to values."""
        from pyiceberg.io.pyarrow import MetricModeTypes

        names = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds")
        fields: dict[str, dict[int, Any]] = {name: {} for name in (*names, "upper_bounds")}
        for leaf in leaf_statistics(file.footer, file.fractions):
            number = field_id(leaf.field)
            if number is None or number not in self._plan:
                continue
            column = self._plan[number]
            fields["column_sizes"][number] = leaf.size
            if column.mode.type is MetricModeTypes.NONE:
                continue
            fields["value_counts"][number] = leaf.values
            if leaf.nulls is not None:
                fields["null_value_counts"][number] = leaf.nulls
            if leaf.nans is not None:
                fields["nan_value_counts"][number] = leaf.nans
            bounds = None if column.mode.type is MetricModeTypes.COUNTS else _bounds(column, leaf)
            if bounds is not None:
                fields["lower_bounds"][number], fields["upper_bounds"][number] = bounds
        return fields


def _bounds(column: StatisticsCollector, leaf: LeafStatistics) -> tuple[bytes, bytes] | None:
    """Return both bounds as bytes, cut to the length of the column's metrics mode, or None if no bounds exist."""
    from pyiceberg.conversions import to_bytes

    if leaf.bounds is None:
        return None
    least, largest = leaf.bounds
    length = column.mode.length
    if isinstance(least, str):
        least, largest = least[:length], largest_text(largest, length)
    elif isinstance(least, bytes):
        least, largest = least[:length], largest_bytes(largest, length)
    if largest is None:
        return None
    return to_bytes(column.iceberg_type, least), to_bytes(column.iceberg_type, largest)


def _split_offsets(file: WrittenFile) -> list[int]:
    """Return the offsets at which row groups begin in the file."""
    offsets = []
    for index in range(file.footer.num_row_groups):
        column = file.footer.row_group(index).column(0)
        begins = [column.data_page_offset]
        if column.has_dictionary_page:
            begins.append(column.dictionary_page_offset)
        offsets.append(min(begins))
    return sorted(offsets)
