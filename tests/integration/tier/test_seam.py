"""`history_and_live` over all places at once: rows whose ledgers are gone, on bookies, and being written."""

from __future__ import annotations

import json
import random
from pathlib import Path

from integration.official import await_true
from integration.streams import Sending, finish, to_files
from integration.tier.conftest import Tier
from pyspark.sql import DataFrame, Row, SparkSession

from pyspark_pulsar import history_and_live
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch


def test_a_boundary_over_three_places(tier: Tier, spark: SparkSession, tmp_path: Path, seed: int) -> None:
    tier.admin.create_partitioned(tier.topic, 3)
    with Sending(tier.official, tier.topic, random.Random(seed)) as sending:
        await_true("some ledgers", lambda: sending.count > 500)
    tier.roll()
    tier.run()
    for index in range(3):
        tier.admin.trim(f"{tier.topic}-partition-{index}", to_ledgers=1)
        tier.admin.keep_for(f"{tier.topic}-partition-{index}", minutes=-1)
    with Sending(tier.official, tier.topic, random.Random(seed), sending.count) as sending:
        gone = sending.count
        await_true("ledgers behind the table", lambda: sending.count > gone + 500)
        both = history_and_live(spark, **tier.texts())
        begun = sending.count
        planned = plan_batch(parse_options(ReadOptions, {**tier.texts(), "endingOffsets": both.offsets}))
        places = {part.location.name for split in planned.splits for part in split.ranges}
        # The ledger that was written to at the boundary may be closed by now; the stream begins at the broker.
        assert {"columns", "bookie"} <= places
        query = to_files(both.live, tmp_path / "live").start()
        # The table grows while both parts are read.
        tier.run()
        history = _numbers(both.history)
        await_true("rows while the stream runs", lambda: sending.count > begun + 300)
    query.stop()
    finish(to_files(both.live, tmp_path / "live").trigger(availableNow=True).start(), 120)
    live = _numbers(spark.read.parquet(str(tmp_path / "live" / "rows")))
    assert len(history) > 900
    assert len(live) > 300
    rows = history + live
    assert sorted(number for _, number, _ in rows) == list(range(sending.count))
    for key in {key for key, _, _ in rows}:
        numbers = [number for own, number, _ in rows if own == key]
        assert numbers == sorted(numbers)
    # The bounds are fixed: what is tiered and removed meanwhile changes nothing.
    tier.roll()
    tier.run()
    for index in range(3):
        tier.admin.trim(f"{tier.topic}-partition-{index}", to_ledgers=1)
    assert _numbers(both.history) == history
    assert json.loads(both.offsets)


def _numbers(frame: DataFrame) -> list[tuple[bytes, int, tuple[int, ...]]]:
    """Key, number and position, in the order of topic partitions and positions."""
    rows = [_row(row) for row in frame.select("value", "__key", "__messageId").collect()]
    return sorted(rows, key=lambda row: row[2])


def _row(row: Row) -> tuple[bytes, int, tuple[int, ...]]:
    place = row["__messageId"]
    position = (place["partition"], place["ledger"], place["entry"], place["batchIndex"])
    return bytes(row["__key"]), int(bytes(row["value"])), position
