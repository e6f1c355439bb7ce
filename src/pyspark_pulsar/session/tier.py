"""`pyspark_pulsar.tier`: tiering by tasks of a Spark session, of Spark Classic or Spark Connect."""

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
    """Write the closed ledgers of topics as rows into the topics' tables, until no ledger is left.

    The calling process plans and commits, so it must reach Pulsar and the tables. With Spark Connect, the calling
    process is the client. Spark's tasks read the splits and write the rows. Any number of processes may call this
    function at the same time.

    Args:
        spark: The session.
        table: A table of a Pulsar catalog, which sets the topic and the catalog's settings. A Spark Connect server does
            not send settings that may contain secrets, so set the option `tierCatalog` there.
        namespace: A namespace as `tenant/namespace`. The function tiers the topics of the namespace that have the
            property `tier` (`TBLPROPERTIES ('tier' = 'iceberg')`).
        partition_by: Partitioning of new tables. A topic's properties have priority (docs/columns.md).
        sort_by: Sort order of new tables. A topic's properties have priority.
        **options: Options of `spark.read`: `service_url` and `admin_url` (or with dots, in a dictionary), the topics,
            `tierCatalog`, and options for reading the messages.

    Returns:
        The outcome of each topic.

    Raises:
        PulsarError: A topic failed. The function first tiers all other topics, and then raises the error of the first
            failed topic. Committed rows stay in the tables.

    """
    texts = option_texts(options)
    if table is not None:
        texts = table_options(spark, table) | texts
    if namespace is not None:
        texts["topicsPattern"] = namespace_pattern(namespace)
    parsed = parse_options(ReadOptions, texts)
    if table is not None and not parsed.tier_catalog:
        raise OptionError(
            f"table {table}: expected the setting tierCatalog of the table's catalog, got none; set tierCatalog in the "
            f"catalog, or pass the option tierCatalog, because a Spark Connect server sends no settings that can "
            f"contain secrets"
        )
    tier_round = TierRound(parsed, parse_table_settings(partition_by, sort_by), SparkWriters(spark))
    outcomes = list(tier_topics(tier_round, tiered_topics(parsed, by_property=namespace is not None)))
    for outcome in outcomes:
        if outcome.fault is not None:
            raise outcome.fault
    return outcomes
