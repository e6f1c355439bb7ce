"""Plans Spark's own Parquet scan of what a topic's table holds, for one query, where that scan can read it.

The jar puts that scan beside the data source, which reads what is after the end of the table (jvm: `TierScanRule`).
Both together must give what the data source alone would. So whatever is in doubt leaves the query to the data source,
with the reason (`checks`); otherwise the jar gets what `scan_answer` returns.

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

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.json_columns import arrow_columns
from pyspark_pulsar.catalog.scan.answer import fields_of, scan_answer, windows_of
from pyspark_pulsar.catalog.scan.checks import (
    check_ends,
    check_named_by_topic,
    check_payloads,
    check_rows,
    check_types,
    holds_all,
    tiered_schemas,
    topic_of,
)
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.history.columnar.columns.absent_values import NULL, absent_columns
from pyspark_pulsar.history.columnar.scan.spark_columns import scanned_column
from pyspark_pulsar.history.columnar.scan.tiered_columns import check_tiered
from pyspark_pulsar.history.columnar.table_files import NotScannable
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.options.values.read_from import COLUMNS
from pyspark_pulsar.read.bounds.schema import schema_of_topics
from pyspark_pulsar.read.bounds.topics import partitions_of
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.schema.protobuf.descriptor_file import read_descriptor_file


def tier_scan(cluster: Cluster, options: Mapping[str, str], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `scan_answer` does, or under `refused` why the data source is to read all.

    Args:
        cluster: The cluster of the catalog.
        options: All options of the scan that Spark is about to make, by keys in small letters.
        columns: The columns that the query needs, as JSON of a StructType.

    """
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
    """Return the answer of `tier_scan`. Raises `NotScannable`."""
    topic = topic_of(options)
    partitions = partitions_of(topic, cluster.client.partition_count(topic))
    windows = windows_of(options, partitions)
    schema = schema_of_topics(cluster.client, [topic], options, read_descriptor_file(options))
    if schema.value.shows_more:
        raise NotScannable("tables lack fields that no column holds unless they are asked for")
    check_types(columns, schema)
    tables = TopicTables(options)
    table = tables.load(topic)
    if table is None:
        raise NotScannable("it has none")
    fields = fields_of(columns, windows)
    check_ends(options.ending_offsets, table.positions)
    files = cluster.known_files.of(table, fields)
    check_rows(table.positions, partitions, files)
    check_payloads(columns.names, files)
    absent, stored = absent_columns(schema.value), table.columns
    values = [field for name, field in fields.items() if name in schema.value_columns.names]
    check_tiered(values, schema.value, tiered_schemas(table), files, absent)
    scanned = [scanned_column(field, stored, files, absent.get(name, NULL)) for name, field in fields.items()]
    with closing(LogEnds(cluster.client, cluster.admin)) as log_ends:
        ends = log_ends.ends(partitions)
    is_all = options.read_from == COLUMNS or holds_all(table.positions, ends)
    if is_all:
        # No ledger is asked for then, which would tell that the topic was made again.
        check_named_by_topic(cluster, tables, topic, table)
    return scan_answer(texts, table, files, scanned, windows, is_all=is_all)
