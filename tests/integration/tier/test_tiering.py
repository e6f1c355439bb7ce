"""History as columns: tiered messages read as before, whatever happens to the ledgers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pyarrow as pa
import pytest
from integration.raw_producer import RawProducer
from integration.tier.conftest import ENTRIES, Tier, both_formats

from pyspark_pulsar.errors import DataLossError, TierMismatch
from pyspark_pulsar.history.columnar.layout import PartitionField
from pyspark_pulsar.history.tiering.definition import TableSettings

Same = Callable[..., pa.Table]
_PUBLISH_TIME = 3
_EVENT_TIME = 12
"""Numbers of fields of MessageMetadata."""


@both_formats
def test_a_topic_with_its_table_reads_as_without_it(tier: Tier, same: Same) -> None:
    tier.admin.create_partitioned(tier.topic, 2)
    tier.send(range(500), batching_enabled=False)
    tier.send(range(500, 3000), batching_enabled=True, batching_max_messages=30)
    assert tier.run().rows > 2000
    assert {"columns", "broker"} <= set(tier.places())
    assert same().num_rows == 3000
    assert tier.run().rows == 0
    tier.send(range(3000, 4000), batching_enabled=False)
    assert tier.run().rows > 0
    assert same().num_rows == 4000


def test_any_range_of_positions_or_times_reads_the_same(tier: Tier, same: Same, rng: random.Random) -> None:
    tier.send(range(300), batching_enabled=False)
    tier.send(range(300, 2000), batching_enabled=True, batching_max_messages=40)
    tier.run()
    rows = tier.rows(readFrom="broker").to_pylist()
    for _ in range(25):
        options = {"maxBytesPerPartition": str(rng.choice([500, 5000, 1 << 20]))}
        if rng.random() < 0.5:
            options["minPartitions"] = str(rng.randrange(1, 30))
        if rng.random() < 0.3:
            options["maxRecordsPerPartition"] = str(rng.randrange(1, 300))
        first, last = sorted(rng.sample(range(len(rows)), 2))
        for key, row in (("startingOffsets", rows[first]), ("endingOffsets", rows[last])):
            kind = rng.random()
            if kind < 0.5:
                identity = row["__messageId"]
                position = f"{identity['ledger']}:{identity['entry']}:{max(0, identity['batchIndex'])}"
                options[key] = json.dumps({tier.topic: position})
            elif kind < 0.8:
                time = str(int(row["__publishTime"].timestamp() * 1000))
                options["startingTimestamp" if key == "startingOffsets" else "endingTimestamp"] = time
            elif key == "endingOffsets":
                options["endingEventTime"] = str(int(row["__eventTime"].timestamp() * 1000))
        columns = rng.choice(["value", "__messageId,value", "__key,__publishTime", "*,__messageId"])
        same(**options, columns=columns)


@both_formats
def test_tiered_ledgers_may_be_removed(tier: Tier) -> None:
    tier.send(range(10 * ENTRIES), batching_enabled=False)
    everything = tier.rows(readFrom="broker")
    middle = everything.to_pylist()[3 * ENTRIES + 5]["__messageId"]
    start = json.dumps({tier.topic: f"{middle['ledger']}:{middle['entry']}"})
    from_middle = tier.rows(readFrom="broker", startingOffsets=start)
    tier.run()
    tier.trim()
    assert tier.rows(readFrom="broker").num_rows < everything.num_rows
    assert tier.rows().equals(everything)
    assert tier.rows(startingOffsets=start).equals(from_middle)
    # Later messages are read too, tiered or not.
    tier.send(range(10 * ENTRIES, 12 * ENTRIES + 3), batching_enabled=False)
    assert tier.rows().num_rows == 12 * ENTRIES + 3
    tier.run()
    tier.trim()
    assert [row["value"] for row in tier.rows(columns="value").to_pylist()] == [
        str(number).encode() for number in range(12 * ENTRIES + 3)
    ]


@both_formats
def test_ledgers_removed_before_tiering_are_reported_as_lost(tier: Tier) -> None:
    tier.send(range(3 * ENTRIES), batching_enabled=False)
    tier.run()
    tier.send(range(3 * ENTRIES, 8 * ENTRIES), batching_enabled=False)
    tier.trim()
    with pytest.raises(DataLossError, match="removed by retention"):
        tier.rows()
    with pytest.raises(DataLossError, match="the first ledger that is not tiered"):
        tier.run()
    tier.send(range(8 * ENTRIES, 10 * ENTRIES), batching_enabled=False)
    tier.run(failOnDataLoss="false")
    left = tier.rows()
    # From earliest on, no present message is missing. From a position before the gap on, messages are missing.
    assert 3 * ENTRIES < left.num_rows < 10 * ENTRIES
    first = left.to_pylist()[0]["__messageId"]
    start = json.dumps({tier.topic: f"{first['ledger']}:{first['entry']}"})
    with pytest.raises(DataLossError, match="were removed before they were tiered"):
        tier.rows(startingOffsets=start)
    assert tier.rows(startingOffsets=start, failOnDataLoss="false").equals(left)


@both_formats
def test_an_empty_ledger_after_the_tiered_end_may_be_removed(tier: Tier) -> None:
    """Brokers delete an empty ledger when they load a topic, and no message is lost with it."""
    tier.send(range(2 * ENTRIES), batching_enabled=False)
    tier.roll()
    tier.run()
    everything = tier.rows(readFrom="broker")
    for _ in range(2):
        tier.roll()
        assert tier.rows().equals(everything)
        assert tier.run().rows == 0
    tier.send(range(2 * ENTRIES, 3 * ENTRIES), batching_enabled=False)
    assert tier.rows().num_rows == 3 * ENTRIES
    tier.run()
    assert tier.rows().num_rows == 3 * ENTRIES


@both_formats
def test_a_topic_made_again_is_not_read_with_the_old_table(tier: Tier) -> None:
    tier.send(range(2 * ENTRIES), batching_enabled=False)
    tier.run()
    tier.admin.delete(tier.topic)
    tier.send(range(2 * ENTRIES), batching_enabled=False)
    for read in (tier.rows, tier.run):
        with pytest.raises(TierMismatch, match=r"deleted and made again; drop or rename the table"):
            read()
    assert tier.rows(tierCatalog="{}").num_rows == 2 * ENTRIES


def test_splits_by_key_do_not_depend_on_the_location(tier: Tier, same: Same) -> None:
    """The row's ordering key, or its key, or neither decides its split, wherever the row is read from."""
    tier.send(range(60))
    tier.send(range(60, 120), batching_enabled=False)
    for batching in (True, False):
        producer = tier.official.create_producer(tier.topic, batching_enabled=batching)
        for number in range(120, 180):
            further = {"partition_key": "same", "ordering_key": f"o{number}"} if number % 2 else {}
            producer.send_async(str(number).encode(), lambda *_: None, **further)
        producer.flush()
        producer.close()
    tier.roll()
    tier.run()
    tier.send(range(240, 300))
    for splits in ("2", "5"):
        by_key = {"splitBy": "key", "minPartitions": splits}
        assert same(**by_key).num_rows == 300
        assert same(**by_key, columns="value").num_rows == 300
        # The comparison is by split, because a task may switch to the broker in the middle of its split's
        # table rows.
        plans = [tier.plan(**by_key, readFrom=place) for place in ("auto", "broker")]
        slots = [[split.slots for split in plan.splits] for plan in plans]
        assert slots[0] == slots[1]
        assert len(set(slots[0])) == int(splits)
    assert "columns" in tier.places(splitBy="key", minPartitions="2")


@both_formats
def test_any_publish_time_and_event_time_is_tiered_and_read_back(tier: Tier, same: Same) -> None:
    """Clocks of producers may be wrong by any number of years."""
    largest = 9_223_372_036_854_775
    with RawProducer(tier.server.service_url, tier.topic) as raw:
        for milliseconds in (
            1,
            951_782_400_000,
            9_007_199_254_741,
            253_402_300_799_999,
            253_402_300_800_000,
            largest,
        ):
            raw.send(b"x", (_PUBLISH_TIME, milliseconds), (_EVENT_TIME, milliseconds))
    tier.roll()
    fields = ("hour(__publishTime)", "day(__eventTime)")
    assert tier.run(TableSettings(tuple(map(PartitionField.parse, fields)))).rows == 6
    assert set(tier.places()) == {"columns"}
    assert same().num_rows == 6
    assert same(startingTimestamp="253402300799999", endingTimestamp=str(largest - 1)).num_rows == 2
    tier.trim()
    assert tier.rows().num_rows == 6
