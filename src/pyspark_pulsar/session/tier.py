"""`pyspark_pulsar.tier`: history of topics as columns, written by tasks of a Spark session. Classic and Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.history.tiering.definition import parse_table_settings
from pyspark_pulsar.history.tiering.round import TierRound
from pyspark_pulsar.history.tiering.topic_rounds import (
    TopicOutcome,
    namespace_pattern,
    tier_topics,
    tiered_topics,
)
from pyspark_pulsar.history.tiering.writing.spark_writers import SparkWriters
from pyspark_pulsar.inspect.tables import option_texts
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.session.catalog_table import table_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tier(
    spark: SparkSession,
    table: str | None = None,
    *,
    namespace: str | None = None,
    partition_by: str | None = None,
    sort_by: str | None = None,
    **options: Any,
) -> list[TopicOutcome]:
    """Make columns of the closed ledgers of topics that their tables do not have yet; returns when nothing is left to
    do.

    `options` are those of `spark.read`: `service_url` and `admin_url` (or with dots, in a dictionary), the topics,
    `tierCatalog`, and how messages are read. With `table`, a table of a Pulsar catalog, the topic and what the catalog
    has as settings are the catalog's; a Spark Connect server keeps those to itself that may hold secrets, so give
    `tierCatalog` as an option there. With `namespace` (`tenant/namespace`) it is the topics there whose property
    `tier` says so (`TBLPROPERTIES ('tier' = 'iceberg')`). `partition_by` and `sort_by` hold for tables that are made
    now, where the topic's properties say nothing else (docs/columns.md).

    Planning and commits are done in this process, which must reach Pulsar and the tables; with Spark Connect that is
    the client's. Splits are read and written by Spark's tasks. May be called by any number of processes at once.
    Raises the error of the first topic that failed, when the others are done; what was committed stays.
    """
    texts = option_texts(options)
    if table is not None:
        texts = table_options(spark, table) | texts
    if namespace is not None:
        texts["topicsPattern"] = namespace_pattern(namespace)
    parsed = parse_options(ReadOptions, texts)
    if table is not None and not parsed.tier_catalog:
        raise OptionError(
            f"table {table}: expected its catalog to have setting tierCatalog, got none; set it, or give option "
            f"tierCatalog here: a Spark Connect server shows its clients no settings that may hold secrets"
        )
    tier_round = TierRound(parsed, parse_table_settings(partition_by, sort_by), SparkWriters(spark))
    outcomes = list(tier_topics(tier_round, tiered_topics(parsed, by_property=namespace is not None)))
    for outcome in outcomes:
        if outcome.fault is not None:
            raise outcome.fault
    return outcomes
