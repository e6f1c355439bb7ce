"""What a commit says of each data file: the values by which files are found and skipped. Driver only.

The metrics modes of the table's properties hold (`write.metadata.metrics.*`); pyiceberg makes the plan of them. The
values are made from the footer here: pyiceberg's own code stops at dates and times outside the years 1 to 9999, and
at texts that it cuts before a surrogate. It also makes bounds of some row groups where others tell none.

Format: the Iceberg table specification, version 2: fields of `data_file`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark_pulsar.history.columnar.columns.projection import field_id
from pyspark_pulsar.history.columnar.iceberg.file_description import BOUNDED
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
    """What a commit says of each file, of one table."""

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
        for name in BOUNDED:
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
        """By the fields of `data_file`, and in each by field id."""
        from pyiceberg.io.pyarrow import MetricModeTypes

        names = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds")
        told: dict[str, dict[int, Any]] = {name: {} for name in (*names, "upper_bounds")}
        for leaf in leaf_statistics(file.footer, file.fractions):
            number = field_id(leaf.field)
            if number is None or number not in self._plan:
                continue
            column = self._plan[number]
            told["column_sizes"][number] = leaf.size
            if column.mode.type is MetricModeTypes.NONE:
                continue
            told["value_counts"][number] = leaf.values
            if leaf.nulls is not None:
                told["null_value_counts"][number] = leaf.nulls
            if leaf.nans is not None:
                told["nan_value_counts"][number] = leaf.nans
            bounds = None if column.mode.type is MetricModeTypes.COUNTS else _bounds(column, leaf)
            if bounds is not None:
                told["lower_bounds"][number], told["upper_bounds"][number] = bounds
        return told


def _bounds(column: StatisticsCollector, leaf: LeafStatistics) -> tuple[bytes, bytes] | None:
    """Both as bytes, cut to the length that the column's metrics mode says; None where there are none."""
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
    """Where row groups begin in the file."""
    offsets = []
    for index in range(file.footer.num_row_groups):
        column = file.footer.row_group(index).column(0)
        begins = [column.data_page_offset]
        if column.has_dictionary_page:
            begins.append(column.dictionary_page_offset)
        offsets.append(min(begins))
    return sorted(offsets)
