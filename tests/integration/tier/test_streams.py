"""A stream over a topic with a table: the same offsets and the same rows as without one, from wherever they come."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest
from integration.tier.conftest import ENTRIES, Tier

from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.spark.read_limits import ReadAllAvailable

Offset = dict[str, Any]


class Query:
    """What Spark asks of a stream's reader, from a checkpoint on."""

    def __init__(self, tier: Tier, offset: Offset | None = None, **options: str) -> None:
        parsed = tier.options(startingOffsets="earliest", **options)
        self.schema = resolve_source_schema(parsed)
        self.reader = PulsarStreamReader(parsed, self.schema)
        self.offset = offset or self.reader.initialOffset()
        self.batches: list[tuple[Offset, Offset]] = []

    def close(self) -> None:
        self.reader.stop()

    def trigger(self) -> pa.Table | None:
        """The rows of the next micro-batch; None if there is none."""
        end = self.reader.latestOffset(self.offset, self.reader.getDefaultReadLimit())
        if end == self.offset:
            return None
        start, self.offset = self.offset, end
        self.batches.append((start, end))
        return self.rows(start, end)

    def rows(self, start: Offset, end: Offset) -> pa.Table:
        parts = self.reader.partitions(start, end)
        batches = [batch for part in parts for batch in self.reader.read(part)]
        return pa.Table.from_batches(batches, self.schema.output_schema)

    def rest(self) -> Iterator[pa.Table]:
        while (rows := self.trigger()) is not None:
            yield rows


def in_order(tables: list[pa.Table]) -> pa.Table:
    """As a batch gives them: by topic partition and position, which is how each of the tables is sorted already."""
    table = pa.concat_tables(tables).combine_chunks()
    partitions = sorted(set(table["__partition"].to_pylist()))
    return pa.concat_tables(
        [table.filter(pa.compute.equal(table["__partition"], index)) for index in partitions]
    )


@pytest.mark.parametrize(
    "limit",
    [{}, {"maxRecordsPerTrigger": "97"}, {"maxBytesPerTrigger": "3000"}],
    ids=["all", "records", "bytes"],
)
def test_catching_up_from_earliest(limit: dict[str, str], tier: Tier) -> None:
    tier.admin.create_partitioned(tier.topic, 2)
    tier.send(range(400), batching_enabled=True, batching_max_messages=8)
    plain = tier.rows(readFrom="broker")
    tier.run()
    with closing(Query(tier, **limit)) as query:
        tables = list(query.rest())
        assert in_order(tables).equals(plain.combine_chunks())
        if "maxRecordsPerTrigger" in limit:
            assert [table.num_rows for table in tables] == [97] * 4 + [400 - 4 * 97]
        elif limit:
            assert len(tables) > 2
        # Replays give the same rows, also when all of it is in the table by now and gone from the topic.
        tier.roll()
        for index in range(2):
            tier.send(range(400 + index, 401 + index), batching_enabled=False)
            tier.roll()
        tier.run()
        for partition in (0, 1):
            tier.admin.trim(f"{tier.topic}-partition-{partition}", to_ledgers=1)
        for (start, end), table in zip(query.batches, tables, strict=True):
            with closing(Query(tier, start, **limit)) as again:
                assert again.rows(start, end).equals(table)


def test_a_query_that_stood_still_while_its_ledgers_went(tier: Tier) -> None:
    """At the end of a ledger, and within one."""
    tier.send(range(5 * ENTRIES), batching_enabled=False)
    stands: list[Offset] = []
    with closing(Query(tier, maxRecordsPerTrigger=str(ENTRIES // 2))) as query:
        for _ in range(9):
            query.trigger()
            stands.append(query.offset)
    tier.send(range(5 * ENTRIES, 6 * ENTRIES), batching_enabled=False)
    plain = tier.rows(readFrom="broker", columns="value")["value"].to_pylist()
    tier.run()
    tier.trim()
    for number, stand in enumerate(stands, 1):
        with closing(Query(tier, json.loads(json.dumps(stand)))) as query:
            rows = [value for table in query.rest() for value in table["value"].to_pylist()]
            assert rows == plain[number * ENTRIES // 2 :]
    # Without the table the same is loss, as soon as there is something to read.
    tier.send(range(1), batching_enabled=False)
    with closing(Query(tier, stands[0], tierCatalog="{}")) as query, pytest.raises(DataLossError):
        list(query.rest())


def test_a_live_producer_while_ledgers_are_tiered_and_removed(tier: Tier, rng: random.Random) -> None:
    sent, rows = 0, []
    tier.admin.create(tier.topic)
    with closing(Query(tier, maxRecordsPerTrigger="70")) as query:
        for _ in range(30):
            step = rng.randrange(6)
            if step <= 2:
                more = rng.randrange(1, 60)
                tier.send(range(sent, sent + more), batching_enabled=rng.random() < 0.5)
                sent += more
            elif step == 3:
                tier.run()
            elif step == 4:
                tier.run()
                tier.admin.retain_nothing(tier.topic)
                tier.admin.keep_for(tier.topic, minutes=-1)
            rows += [value for table in (query.trigger(),) if table for value in table["value"].to_pylist()]
        rows += [value for table in query.rest() for value in table["value"].to_pylist()]
    assert rows == [str(number).encode() for number in range(sent)]


def test_a_subscription_at_the_end_of_a_ledger_that_is_gone(tier: Tier) -> None:
    """No loss, with a table or without one: brokers remove no ledger that a durable subscription still needs."""
    consumer = tier.official.subscribe(tier.topic, "mine")
    tier.send(range(2 * ENTRIES), batching_enabled=False)
    for _ in range(2 * ENTRIES):
        message = consumer.receive(60_000)
    consumer.acknowledge_cumulative(message)
    consumer.close()
    tier.send(range(2 * ENTRIES, 2 * ENTRIES + 3), batching_enabled=False)
    tier.trim()
    expected = [str(number).encode() for number in range(2 * ENTRIES, 2 * ENTRIES + 3)]
    for further in ({}, {"tierCatalog": "{}"}):
        read = tier.rows(startingSubscription="mine", columns="value", **further)
        assert read["value"].to_pylist() == expected


def test_all_available(tier: Tier) -> None:
    tier.send(range(3 * ENTRIES), batching_enabled=False)
    tier.run()
    with closing(Query(tier)) as query:
        end = query.reader.latestOffset(query.offset, ReadAllAvailable())
        assert query.rows(query.offset, end).num_rows == 3 * ENTRIES
