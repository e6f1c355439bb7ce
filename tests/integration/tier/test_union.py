"""Two million rows: the table and the ledgers after it equal the topic, cell by cell, while a producer
writes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pyarrow as pa
import pytest
from integration.tier.conftest import Tier
from integration.tier.test_schemas import NESTED, TIMES
from integration.tier.test_streams import Query, in_order
from pyspark.sql import SparkSession

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.write.target import settle_topic
from pyspark_pulsar.write.task import write_rows

ROWS = 500_000
"""The number of rows of each format."""
SEPARATED = ("named_struct('k', id) AS key", "named_struct('v', concat('v', id), 'n', array(id)) AS value")


@contextmanager
def live_producer(tier: Tier, rows: pa.Table, options: dict[str, str]) -> Iterator[None]:
    """Write the rows again and again, until the block ends."""
    options = {"service.url": tier.server.service_url, "topic": tier.topic, **options}
    parsed, ends, faults = parse_options(WriteOptions, options), threading.Event(), []
    with BrokerClient(parsed) as client:
        target = settle_topic(client, parsed, TopicName.parse(tier.topic), rows.schema, None)

    def produce() -> None:
        try:
            while not ends.wait(0.05):
                write_rows(parsed, target, iter(rows.to_batches()))
        except Exception as fault:  # noqa: BLE001 - raised by the caller
            faults.append(fault)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join(60)
    assert faults == []
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ((*NESTED, *TIMES), {"valueFormat": "avro"}),
        (NESTED, {"valueFormat": "json"}),
        (("id", "concat('x', id) AS name", "named_struct('a', id) AS line", "array(id) AS ids"),
         {"valueFormat": "protobuf"}),
        (SEPARATED, {"keyValueEncoding": "separated", "valueFormat": "avro"}),
    ],
    ids=["avro", "json", "protobuf", "key-value"],
)  # fmt: skip
def test_the_union_is_the_topic(
    columns: tuple[str, ...], options: dict[str, str], tier: Tier, spark: SparkSession
) -> None:
    tier.admin.create_partitioned(tier.topic, 4)
    rows = spark.range(ROWS, numPartitions=2).selectExpr(*columns)
    writer = rows.write.format("pulsar").option("service.url", tier.server.service_url)
    writer.option("topic", tier.topic).options(**options).mode("append").save()
    with live_producer(tier, rows.limit(500).toArrow(), options):
        tier.run()
        # The producer continues, so the comparison ends at the current position.
        ends = {part.partition.name: str(part.end) for part in tier.plan(readFrom="broker").partitions}
        until = {"endingOffsets": json.dumps(ends)}
        plain = tier.rows(readFrom="broker", **until)
        assert plain.num_rows >= ROWS
        places = set(tier.places(**until))
        assert "columns" in places
        assert places & {"bookie", "broker"}
        assert tier.rows(**until).equals(plain)
        with closing(Query(tier, maxRecordsPerTrigger=str(ROWS // 3))) as query:
            first = [table for table in (query.trigger() for _ in range(2)) if table is not None]
            tier.run()
            first += list(query.rest())
    with closing(Query(tier, offset=query.offset)) as query:
        rest = list(query.rest())
    whole = tier.rows(readFrom="broker")
    assert in_order([*first, *rest]).equals(whole.combine_chunks())
    tier.roll()
    tier.run()
    for index in range(4):
        tier.admin.trim(f"{tier.topic}-partition-{index}", to_ledgers=1)
    assert set(tier.places()) == {"columns"}
    assert tier.rows().equals(whole)
