"""Whether Spark's own Parquet scan can read what a topic's table holds, for one query, and how.

The jar puts that scan beside the data source, which reads what is behind the end of the table (jvm: `TierScanRule`).
Both together must give what the data source alone would, so whatever is in doubt here leaves the query to it, and says
why.

What makes them the same:

    rows       all files of one state of the table; the data source begins at the positions of that very state
    times      filters beside the scan, exactly as the data source filters messages
    columns    `columnar.scan.spark_columns`
    schemas    each one that tiered rows has the query's fields under the query's names: `columnar.scan.tiered_columns`
    payloads   files that keep some are left to the data source, where the query looks at values
    topic      the topic says that the table is its own, or the data source compares times of creation
    rights     asking for the ends of the topic partitions shows the broker that the role may consume

The data source is left out where nothing is behind the table: its planner and its task would cost more than a small
query itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.columns import arrow_columns
from pyspark_pulsar.columnar.columns.absent import NULL, absent_columns
from pyspark_pulsar.columnar.layout import PARTITION
from pyspark_pulsar.columnar.positions import TieredPositions
from pyspark_pulsar.columnar.scan.hadoop import hadoop_settings, hadoop_url
from pyspark_pulsar.columnar.scan.spark_columns import ScannedColumn, scanned_column
from pyspark_pulsar.columnar.scan.tiered_columns import check_tiered
from pyspark_pulsar.columnar.table import ColumnarTable
from pyspark_pulsar.columnar.table_files import LEDGER, Bound, NotScannable, TableFiles
from pyspark_pulsar.columnar.tiered_schema import TieredSchema, parse_tiered_schema
from pyspark_pulsar.columnar.topic_tables import TopicTables
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.options.values.offset_bound import LogSide, OffsetBound
from pyspark_pulsar.options.values.read_from import COLUMNS
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.bounds.schema import schema_of_topics
from pyspark_pulsar.read.bounds.timestamps import resolve_windows
from pyspark_pulsar.read.bounds.topics import partitions_of
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.planning.tables.known_tables import behind_table, uses_tables
from pyspark_pulsar.read.planning.tables.topic_notes import check_note, fetch_note
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.protobuf.descriptor_file import read_descriptor_file
from pyspark_pulsar.schema.read_schema import ReadSchema, known_columns
from pyspark_pulsar.schema.types.spark import spark_schema
from pyspark_pulsar.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.topic import TopicName, TopicPartition

_PUBLISHED: Final = "__publishTime"
_HAPPENED: Final = "__eventTime"
_MOST_WINDOWS: Final = 100
"""So many times that differ between topic partitions are still a filter."""
_OF_TABLES: Final = ("tiercatalog", "tiercatalogsecrets", "tiertable")
_BEHIND: Final = "behindtable"


def tier_scan(cluster: Cluster, options: Mapping[str, str], columns: Mapping[str, Any]) -> dict[str, Any]:
    """`options`: all of the scan that Spark is about to make, by keys in small letters; `columns`: those that the query
    needs, as JSON of a StructType. Gives what `_answer` says, or `refused`: why the data source is to read all."""
    try:
        return _planned(cluster, parse_options(ReadOptions, options), options, arrow_columns(columns))
    except NotScannable as reason:
        return {"refused": str(reason)}
    except PulsarError as fault:
        # The data source meets the same, and knows what can be done without the table.
        return {"refused": f"{type(fault).__name__}: {fault}"}


def _planned(
    cluster: Cluster, options: ReadOptions, texts: Mapping[str, str], columns: pa.Schema
) -> dict[str, Any]:
    """Raises `NotScannable`."""
    topic = _topic_of(options)
    partitions = partitions_of(topic, cluster.client.partition_count(topic))
    windows = _windows(options, partitions)
    schema = schema_of_topics(cluster.client, [topic], options, read_descriptor_file(options))
    if schema.value.shows_more:
        raise NotScannable("tables lack fields that no column holds unless they are asked for")
    _check_types(columns, schema)
    tables = TopicTables(options)
    table = tables.load(topic)
    if table is None:
        raise NotScannable("it has none")
    fields = _fields(columns, windows)
    _check_ends(options.ending_offsets, table.positions)
    files = cluster.known_files.of(table, fields)
    _check_rows(table.positions, partitions, files)
    _check_payloads(columns.names, files)
    absent, stored = absent_columns(schema.value), table.columns
    values = [field for name, field in fields.items() if name in schema.value_columns.names]
    check_tiered(values, schema.value, _schemas(table), files, absent)
    scanned = [scanned_column(field, stored, files, absent.get(name, NULL)) for name, field in fields.items()]
    with closing(LogEnds(cluster.client, cluster.admin)) as log_ends:
        ends = log_ends.ends(partitions)
    is_all = options.read_from == COLUMNS or _holds_all(table.positions, ends)
    if is_all:
        # No ledger is asked for then, which would tell that the topic was made again.
        _check_note(cluster, tables, topic, table)
    return _answer(texts, table, files, scanned, windows, is_all=is_all)


def _schemas(table: ColumnarTable) -> dict[int, TieredSchema]:
    return {
        number: parse_tiered_schema(text, f"table {table.name}")
        for number, text in table.schema_texts.items()
    }


# Whether


def _topic_of(options: ReadOptions) -> TopicName:
    """Raises `NotScannable` for options that say more than which topic, which times and which columns."""
    topic = None if options.topic is None else TopicName.parse(options.topic)
    if topic is None or topic != topic.without_partition():
        raise NotScannable("it is not one whole topic")
    if options.admin_url is None or not uses_tables(options):
        raise NotScannable("the options let no read take rows of tables")
    named = {
        "startingOffsets": not _is_earliest(options.starting_offsets),
        "startingSubscription": options.starting_subscription is not None,
        "subscriptionName": options.subscription_name is not None,
        "splitBy": options.split_by != "position",
        "auditPath": options.audit_path is not None,
        "allowDifferentTopicSchemas": options.different_schemas,
        "behindTable": options.behind_table is not None,
    }
    for key, is_given in named.items():
        if is_given:
            raise NotScannable(f"option {key} is for the data source")
    if options.read_from == COLUMNS and (options.starting_offsets or options.ending_offsets):
        raise NotScannable("whether offsets name all topic partitions is for the data source to say")
    return topic


def _is_earliest(bound: OffsetBound | None) -> bool:
    """In every topic partition."""
    if bound is None:
        return True
    return bound.others in (None, LogSide.EARLIEST) and all(
        position == EARLIEST for _, position in bound.named
    )


def _check_ends(bound: OffsetBound | None, positions: TieredPositions) -> None:
    """Raises `NotScannable` unless the query ends behind the table, in every topic partition that is in it."""
    if bound is None:
        return
    named = dict(bound.named)
    for partition, tiered in positions.partitions.items():
        end = named.get(partition, bound.others)
        if end is not LogSide.LATEST and not (isinstance(end, Position) and end >= tiered.end):
            raise NotScannable("option endingOffsets names positions that are not behind it")


def _check_types(columns: pa.Schema, schema: ReadSchema) -> None:
    """Raises `NotScannable` where the topic's schema is another than when the query was analysed."""
    known = known_columns(schema.value_columns, None)
    for column in columns:
        if column.name not in known or known[column.name].type != column.type:
            raise NotScannable(f"column {column.name} is not, or is not any more, one of the topic's")


def _check_rows(positions: TieredPositions, partitions: Sequence[TopicPartition], files: TableFiles) -> None:
    """Raises `NotScannable` unless all rows of all files are surely before the ends of topic partitions that there
    are."""
    if not len(files):
        raise NotScannable("it has no files yet")
    ends = {partition.index: tiered.end for partition, tiered in positions.partitions.items()}
    if not set(positions) <= set(partitions):
        raise NotScannable("it has rows of topic partitions that are not there")
    indexes, ledgers = files.statistics[PARTITION], files.statistics[LEDGER]
    if any(indexes.nulls) or any(ledgers.nulls):
        raise NotScannable("it has rows of no position")
    least_end = min(ends.values(), default=EARLIEST)
    unknown: list[Bound | None] = [None] * len(files)
    for least, most, ledger in zip(
        indexes.lower, indexes.upper or unknown, ledgers.upper or unknown, strict=True
    ):
        if least is None or most is None or ledger is None:
            raise NotScannable("it has files of which nobody tells where their rows are in the topic")
        end = ends.get(int(least), EARLIEST) if least == most else least_end
        if Position(int(ledger), 0) >= end:
            raise NotScannable("it has rows behind the positions that it tells")


def _holds_all(positions: TieredPositions, ends: Mapping[TopicPartition, Position]) -> bool:
    """Whether no topic partition has messages behind the table, nor had any.

    Ledgers go from the front and their ids are given once: as long as the last message is one that is tiered, nothing
    behind it was removed, and it is the same topic. Of a partition that is in the table and is empty now nobody knows.
    """
    tiered = positions.partitions
    return all(
        end <= tiered[partition].end and not end.is_earliest if partition in tiered else end.is_earliest
        for partition, end in ends.items()
    )


def _check_note(cluster: Cluster, tables: TopicTables, topic: TopicName, table: ColumnarTable) -> None:
    """Raises `TierMismatch` unless the topic names this table, `NotScannable` where it names none."""
    note = fetch_note(cluster.admin, topic)
    if note is None:
        raise NotScannable("the topic does not say that the table is its own")
    check_note(topic, note, tables, table)


def _check_payloads(names: Sequence[str], files: TableFiles) -> None:
    """Raise `NotScannable` if files keep payloads and the query looks at values: Spark's scan cannot decode payloads. A
    query of no column at all decodes values too."""
    is_noticed = not names or not all(name in metadata_columns.FIELDS for name in names)
    if is_noticed and files.may_have_payloads:
        raise NotScannable("it keeps payloads of messages, which Spark's scan does not decode")


# How


def _windows(
    options: ReadOptions, partitions: Sequence[TopicPartition]
) -> list[tuple[TimeWindow, list[int] | None]]:
    """The times that are wanted, each of which topic partitions; None for all."""
    by_window: dict[TimeWindow, list[int]] = {}
    for partition, window in resolve_windows(options, partitions).items():
        by_window.setdefault(window, []).append(partition.index)
    if len(by_window) > _MOST_WINDOWS:
        raise NotScannable("too many topic partitions have times of their own")
    if len(by_window) == 1:
        (window,) = by_window
        return [] if window == ALL_TIMES else [(window, None)]
    return list(by_window.items())


def _fields(
    columns: pa.Schema, windows: Iterable[tuple[TimeWindow, list[int] | None]]
) -> dict[str, pa.Field]:
    """Those of the query, then those that only the times need."""
    fields = {column.name: column for column in columns}
    for window, indexes in windows:
        needed = {
            _PUBLISHED: window.bounds_publish_times,
            _HAPPENED: window.event_before is not None,
            PARTITION: indexes is not None,
        }
        fields |= {name: metadata_columns.FIELDS[name] for name, is_needed in needed.items() if is_needed}
    return fields


def _answer(
    texts: Mapping[str, str],
    table: ColumnarTable,
    files: TableFiles,
    scanned: Sequence[ScannedColumn],
    windows: Iterable[tuple[TimeWindow, list[int] | None]],
    *,
    is_all: bool,
) -> dict[str, Any]:
    """As the jar takes it.

    `schema` is what to ask of the files, as JSON of a StructType; `columns` are those of the query, and those that only
    the times need: `name`, `scanned` (whether files are asked for it), `default` (text; what it is where a file lacks
    it; None for null).
    `statistics`: by path `lower`, `upper` (None if nobody tells) and `nulls`, for each file. `windows`: `partitions`
    (None for all), `published_from`, `published_before`, `event_before`, in Unix microseconds. `settings` are
    Hadoop's. `rest`: the options of the data source for what is behind the table; None if nothing is to be read there.
    """
    asked = [pa.field(column.field.name, column.scanned) for column in scanned if column.scanned is not None]
    # Rows are counted by a column, too.
    schema = pa.schema(asked or [metadata_columns.FIELDS[PARTITION]])
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
    """Without what the tables are reached by: the rest has no second look at them."""
    kept = {key: text for key, text in texts.items() if key not in _OF_TABLES}
    return {**kept, _BEHIND: behind_table(table.name, table.id, table.positions)}
