"""The checks of `tier_scan`: whether Spark's own Parquet scan would return the same rows as the data source.

If the rows could differ, a check raises `NotScannable` with the reason. The data source then reads all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.history.columnar.layout import PARTITION
from pyspark_pulsar.history.columnar.positions import TieredPositions
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.table_files import LEDGER, Bound, NotScannable, TableFiles
from pyspark_pulsar.history.columnar.tiered_schema import TieredSchema, parse_tiered_schema
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import LogSide, OffsetBound
from pyspark_pulsar.options.values.read_from import COLUMNS
from pyspark_pulsar.read.planning.tables.known_tables import uses_tables
from pyspark_pulsar.read.planning.tables.topic_notes import check_note, fetch_note
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.read_schema import ReadSchema, known_columns


def tiered_schemas(table: ColumnarTable) -> dict[int, TieredSchema]:
    """Return the parsed schemas of the table's rows, by schema id."""
    return {
        number: parse_tiered_schema(text, f"table {table.name}")
        for number, text in table.schema_texts.items()
    }


def topic_of(options: ReadOptions) -> TopicName:
    """Return the topic of the scan.

    Raises `NotScannable` if the query has options that only the data source supports.
    """
    topic = None if options.topic is None else TopicName.parse(options.topic)
    if topic is None or topic != topic.without_partition():
        raise NotScannable("the scan does not cover exactly one whole topic")
    if options.admin_url is None or not uses_tables(options):
        raise NotScannable("the options do not allow reads of tables")
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
            raise NotScannable(f"only the data source supports option {key}")
    if options.read_from == COLUMNS and (options.starting_offsets or options.ending_offsets):
        raise NotScannable("only the data source checks whether the offsets name all topic partitions")
    return topic


def _is_earliest(bound: OffsetBound | None) -> bool:
    """Return whether the bound is `earliest` in every topic partition."""
    if bound is None:
        return True
    return bound.others in (None, LogSide.EARLIEST) and all(
        position == EARLIEST for _, position in bound.named
    )


def check_ends(bound: OffsetBound | None, positions: TieredPositions) -> None:
    """Raise `NotScannable` unless the query ends at or after the end of the table in every topic partition."""
    if bound is None:
        return
    named = dict(bound.named)
    for partition, tiered in positions.partitions.items():
        end = named.get(partition, bound.others)
        if end is not LogSide.LATEST and not (isinstance(end, Position) and end >= tiered.end):
            raise NotScannable("option endingOffsets names positions before the end of the table")


def check_types(columns: pa.Schema, schema: ReadSchema) -> None:
    """Raise `NotScannable` if the columns of the query differ from the topic's present schema."""
    known = known_columns(schema.value_columns, None)
    for column in columns:
        if column.name not in known or known[column.name].type != column.type:
            raise NotScannable(f"column {column.name} is not a column of the topic's present schema")


def check_rows(positions: TieredPositions, partitions: Sequence[TopicPartition], files: TableFiles) -> None:
    """Raise `NotScannable` unless statistics show that all rows of the files are before the table's end positions."""
    if not len(files):
        raise NotScannable("the table has no files yet")
    ends = {partition.index: tiered.end for partition, tiered in positions.partitions.items()}
    if not set(positions) <= set(partitions):
        raise NotScannable("the table has rows of topic partitions that do not exist")
    indexes, ledgers = files.statistics[PARTITION], files.statistics[LEDGER]
    if any(indexes.nulls) or any(ledgers.nulls):
        raise NotScannable("the table has rows without a position")
    least_end = min(ends.values(), default=EARLIEST)
    unknown: list[Bound | None] = [None] * len(files)
    for least, most, ledger in zip(
        indexes.lower, indexes.upper or unknown, ledgers.upper or unknown, strict=True
    ):
        if least is None or most is None or ledger is None:
            raise NotScannable("the table has files without statistics of the positions of their rows")
        end = ends.get(int(least), EARLIEST) if least == most else least_end
        if Position(int(ledger), 0) >= end:
            raise NotScannable("the table has rows after the positions in its metadata")


def holds_all(positions: TieredPositions, ends: Mapping[TopicPartition, Position]) -> bool:
    """Return whether no topic partition has, or ever had, messages after the end of the table.

    The broker removes the oldest ledgers first, and never uses a ledger id again. Therefore, if the last message of a
    partition is in the table, no later message was removed, and the topic was not created again. If a partition with
    rows in the table is empty, later messages may have been removed, so the result is False.
    """
    tiered = positions.partitions
    return all(
        end <= tiered[partition].end and not end.is_earliest if partition in tiered else end.is_earliest
        for partition, end in ends.items()
    )


def check_named_by_topic(
    cluster: Cluster, tables: TopicTables, topic: TopicName, table: ColumnarTable
) -> None:
    """Check that the topic's record names this table. Raises `TierMismatch` if the record names another table.

    Raises `NotScannable` if the topic has no record that names a table.
    """
    note = fetch_note(cluster.admin, topic)
    if note is None:
        raise NotScannable("the topic does not name the table as its own")
    check_note(topic, note, tables, table)


def check_payloads(names: Sequence[str], files: TableFiles) -> None:
    """Raise `NotScannable` if the query reads values and the files may contain kept payloads.

    Spark's scan cannot decode kept payloads. The data source decodes values even for a query without columns.
    """
    reads_values = not names or not all(name in metadata_columns.FIELDS for name in names)
    if reads_values and files.may_have_payloads:
        raise NotScannable("the table keeps payloads of messages, which Spark's scan does not decode")
