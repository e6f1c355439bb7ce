"""A streaming query that catches up from storage and then follows through the brokers.

Each row is read once, and the progress reports the readers.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pulsar as official_client
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin
from integration.cluster.everywhere import PARTED, PARTITIONS, Everywhere
from integration.cluster.ranges import Row, as_row, cluster_options
from integration.official import await_true
from integration.streams import finish, send_numbers
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar.model.position import Position


def readers(query: StreamingQuery) -> list[dict[str, int]]:
    """Return the readers that the progress of each trigger reports, while they change."""
    told = [json.loads(each.sources[0].latestOffset or "{}").get("readers") for each in query.recentProgress]
    found: list[dict[str, int]] = []
    for each in told:
        if each and (not found or each != found[-1]):
            found.append(each)
    return found


def by_place(row: Row) -> tuple[int, Position]:
    return row[1]["__messageId"]["partition"], row[0]


def test_portions_over_all_places_are_the_rows_once(
    everywhere: Everywhere, cluster: PulsarCluster, spark: SparkSession, rng: random.Random, tmp_path: Path
) -> None:
    expected = sorted((row for name in PARTITIONS[1:] for row in everywhere.rows[name]), key=by_place)
    limit = rng.randrange(len(expected) // 9, len(expected) // 4)
    options = everywhere.options(cluster, PARTED, startingOffsets="earliest", maxRecordsPerTrigger=str(limit))
    portions: list[list[Row]] = []

    def take(frame: DataFrame, _: int) -> None:
        portions.append([as_row(row) for row in frame.toArrow().to_pylist(maps_as_pydicts="strict")])

    query = (
        spark.readStream.format("pulsar")
        .options(**options)
        .load()
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(tmp_path / "c"))
        .trigger(availableNow=True)
        .start()
    )
    finish(query, seconds=240)
    assert sorted((row for portion in portions for row in portion), key=by_place) == expected
    assert max(len(portion) for portion in portions) <= limit
    assert len(portions) >= 4
    # The progress describes the previous micro-batch, so the last one, which has the open ledger, is not
    # reported.
    assert {name for each in readers(query) for name in each} >= {"tiered", "bookie"}


def test_a_query_that_has_caught_up_is_read_from_brokers_alone(
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    namespace: str,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    topic = f"persistent://{namespace}/follow"
    for ledger in range(3):
        send_numbers(cluster_client, topic, range(100 * ledger, 100 * ledger + 100))
        cluster_admin.roll(topic)
    send_numbers(cluster_client, topic, range(300, 310))
    seen: Counter[int] = Counter()

    def take(frame: DataFrame, _: int) -> None:
        seen.update(int(bytes(row["value"])) for row in frame.collect())

    options: dict[str, Any] = {"startingOffsets": "earliest", "minPartitions": "4"}
    query = (
        spark.readStream.format("pulsar")
        .options(**cluster_options(cluster, topic, **options))
        .load()
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(tmp_path / "c"))
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        await_true("what was there", lambda: sum(seen.values()) >= 310 or not query.isActive)
        for first in (310, 320):
            send_numbers(cluster_client, topic, range(first, first + 10))
            await_true("the tail", lambda first=first: sum(seen.values()) >= first + 10 or not query.isActive)
        await_true(
            "progress of the tail", lambda: readers(query)[-1].keys() == {"broker"} or not query.isActive
        )
        told = readers(query)
    finally:
        query.stop()
    assert query.exception() is None
    assert seen == Counter(range(330))
    assert told[0].keys() == {"bookie", "broker"}
    assert told[0]["bookie"] >= 3
    assert told[-1].keys() == {"broker"}
