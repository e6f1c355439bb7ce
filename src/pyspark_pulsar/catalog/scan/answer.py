"""The answer to the jar's request for a scan.

The answer contains the files, the columns, the time filters, and the read options for messages after the end of the
table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.history.columnar.layout import PARTITION
from pyspark_pulsar.history.columnar.scan.hadoop import hadoop_settings, hadoop_url
from pyspark_pulsar.history.columnar.scan.spark_columns import ScannedColumn
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.table_files import LEDGER, NotScannable, TableFiles
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.timestamps import resolve_windows
from pyspark_pulsar.read.planning.tables.known_tables import table_end_document
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.types.spark import spark_schema

_PUBLISHED: Final = "__publishTime"
_HAPPENED: Final = "__eventTime"
_MOST_WINDOWS: Final = 100
"""The largest number of different time windows for which the scan has filters."""
_TABLE_OPTIONS: Final = ("tiercatalog", "tiercatalogsecrets", "tiertable")
_BEHIND_TABLE: Final = "behindtable"


def windows_of(
    options: ReadOptions, partitions: Sequence[TopicPartition]
) -> list[tuple[TimeWindow, list[int] | None]]:
    """Return the time windows of the query, each with the indexes of its topic partitions.

    The indexes are None if the window applies to all topic partitions.
    """
    by_window: dict[TimeWindow, list[int]] = {}
    for partition, window in resolve_windows(options, partitions).items():
        by_window.setdefault(window, []).append(partition.index)
    if len(by_window) > _MOST_WINDOWS:
        raise NotScannable(f"the query has more than {_MOST_WINDOWS} different time ranges")
    if len(by_window) == 1:
        (window,) = by_window
        return [] if window == ALL_TIMES else [(window, None)]
    return list(by_window.items())


def fields_of(
    columns: pa.Schema, windows: Iterable[tuple[TimeWindow, list[int] | None]]
) -> dict[str, pa.Field]:
    """Return the columns of the query by name, followed by the columns that only the time windows need."""
    fields = {column.name: column for column in columns}
    for window, indexes in windows:
        needed = {
            _PUBLISHED: window.bounds_publish_times,
            _HAPPENED: window.event_before is not None,
            PARTITION: indexes is not None,
        }
        fields |= {name: metadata_columns.FIELDS[name] for name, is_needed in needed.items() if is_needed}
    return fields


def scan_answer(
    texts: Mapping[str, str],
    table: ColumnarTable,
    files: TableFiles,
    scanned: Sequence[ScannedColumn],
    windows: Iterable[tuple[TimeWindow, list[int] | None]],
    *,
    is_all: bool,
) -> dict[str, Any]:
    """Return the scan in the form of the protocol with the jar.

    The answer has these members, and further members for the table and its files:

        schema      the columns that are read from files, as JSON of a StructType
        columns     the columns of the query, then the columns that only the windows need: `name`, `scanned` (whether
                    files are read), `default` (text for files without the column; None for null)
        statistics  by path: `lower`, `upper` (None if unknown) and `nulls` of each file
        windows     `partitions` (None for all), `published_from`, `published_before` and `event_before` in Unix
                    microseconds
        settings    Hadoop's settings for the store
        rest        the data source's options for the messages after the table; None if the query reads no such message
    """
    scanned_fields = [
        pa.field(column.field.name, column.scanned) for column in scanned if column.scanned is not None
    ]
    # A query without columns counts rows. The scan must read at least one column to count rows.
    schema = pa.schema(scanned_fields or [metadata_columns.FIELDS[PARTITION]])
    return {
        "table": table.name,
        "urls": [hadoop_url(url) for url in files.urls],
        "sizes": files.sizes,
        "rows": files.rows,
        "changed_ms": files.changed_ms,
        "statistics": {
            path: {"lower": column.lower, "upper": column.upper, "nulls": column.nulls}
            for path, column in files.statistics.items()
            if path == LEDGER or path in schema.names
        },
        "schema": spark_schema(schema).jsonValue(),
        "columns": [
            {
                "name": column.field.name,
                "scanned": column.scanned is not None,
                "default": column.default,
            }
            for column in scanned
        ],
        "windows": [_window(window, indexes) for window, indexes in windows],
        "settings": hadoop_settings(table.storage, files.urls[0]),
        "rest": None if is_all else _rest(texts, table),
    }


def _window(window: TimeWindow, indexes: list[int] | None) -> dict[str, Any]:
    times = {
        "published_from": window.published_from,
        "published_before": window.published_before,
        "event_before": window.event_before,
    }
    microseconds = {name: None if time is None else time * 1000 for name, time in times.items()}
    return {"partitions": indexes, **microseconds}


def _rest(texts: Mapping[str, str], table: ColumnarTable) -> dict[str, str]:
    """Return the options with which the data source reads the messages after the table.

    The options for tables are left out, because the data source reads no table.
    """
    kept = {key: text for key, text in texts.items() if key not in _TABLE_OPTIONS}
    return {**kept, _BEHIND_TABLE: table_end_document(table.name, table.id, table.positions)}
