"""What a commit says of each data file: the values by which files are found and skipped. Driver only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark_pulsar.columnar.iceberg.description import BOUNDED
from pyspark_pulsar.columnar.writing.writer import WrittenFile

if TYPE_CHECKING:
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
            parquet_path_to_id_mapping,
        )

        schema = table.schema()
        self._plan = compute_statistics_plan(schema, table.properties)
        self._ids = parquet_path_to_id_mapping(schema)
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
