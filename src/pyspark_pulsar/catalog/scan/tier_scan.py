"""Planning one query of a topic with Spark's own Parquet scan of the topic's table, if that scan is possible.

The jar combines the scan with the data source, which reads the messages after the end of the table (jvm:
`TierScanRule`). The combination must return the same rows as the data source alone. If the rows may differ, the data
source reads all rows, and the answer contains the reason (`checks`). If the scan is possible, the jar gets the result
of `scan_answer`.

These rules make the combination return the same rows as the data source alone:

    rows       The scan reads all files of one version of the table. The data source begins at the end positions of
               this version.
    times      Filters on the scan select rows by the data source's rules for messages.
    columns    `columnar.scan.spark_columns`
    schemas    Each schema with tiered rows has the query's fields under the query's names
               (`columnar.scan.tiered_columns`).
    payloads   If the query reads values and files have kept payloads, the data source reads all rows.
    topic      The topic's record names the table, or the data source compares creation times.
    rights     The broker checks the right to consume when the end positions of the topic partitions are requested.

If no messages follow the table, the data source is not used. The data source's planner and task would need more time
than a small query.
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
    """Return the result of `scan_answer`, or `{"refused": reason}` if the data source must read all rows.

    Args:
        cluster: The cluster of the catalog.
        options: All options of the data source in the query, with keys in lowercase.
        columns: The columns that the query needs, as JSON of a StructType.

    """
    try:
        return _plan_scan(cluster, parse_options(ReadOptions, options), options, arrow_columns(columns))
    except NotScannable as reason:
        return {"refused": str(reason)}
    except PulsarError as fault:
        # The data source finds the same fault, and may still be able to read without the table.
        return {"refused": f"{type(fault).__name__}: {fault}"}


def _plan_scan(
    cluster: Cluster, options: ReadOptions, texts: Mapping[str, str], columns: pa.Schema
) -> dict[str, Any]:
    """Return the result of `scan_answer`. Raises `NotScannable`."""
    topic = topic_of(options)
    partitions = partitions_of(topic, cluster.client.partition_count(topic))
    windows = windows_of(options, partitions)
    schema = schema_of_topics(cluster.client, [topic], options, read_descriptor_file(options))
    if schema.value.shows_more:
        raise NotScannable("the query has optional fields, which tables do not contain")
    check_types(columns, schema)
    tables = TopicTables(options)
    table = tables.load(topic)
    if table is None:
        raise NotScannable("the topic has no table")
    fields = fields_of(columns, windows)
    check_ends(options.ending_offsets, table.positions)
    files = cluster.known_files.files_of(table, fields)
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
        # The data source reads nothing in this query, so its check for a topic that was created again does not run.
        check_named_by_topic(cluster, tables, topic, table)
    return scan_answer(texts, table, files, scanned, windows, is_all=is_all)
