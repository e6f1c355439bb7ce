"""Scalable topics of a real Pulsar 5.0.0-M1, written by its own client, split, merged, and read by Spark."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from scalable.conftest import Options, ScalableTopic

from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar

Read = Callable[..., DataFrame]
KEYS = [f"key-{number}" for number in range(8)]


def rows(first: int, last: int) -> list[tuple[str, str]]:
    return [(KEYS[number % len(KEYS)], str(number)) for number in range(first, last)]


def values(frame: DataFrame) -> list[int]:
    return sorted(int(row["value"]) for row in frame.select("value").collect())


def test_a_batch_reads_all_segments(topic: ScalableTopic, read: Read) -> None:
    topic.send(*rows(0, 40))
    topic.split(0)
    topic.send(*rows(40, 80))
    topic.merge(2, 3)
    topic.send(*rows(80, 120))
    frame = read().select("value", "__key", "__topic", "__messageId")
    found = frame.collect()
    assert sorted(int(row["value"]) for row in found) == list(range(120))
    assert {row["__topic"] for row in found} == {topic.name}
    by_key: dict[bytes, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
    for row in found:
        place = row["__messageId"]
        by_key[bytes(row["__key"])].append(
            ((place["partition"], place["ledger"], place["entry"]), int(row["value"]))
        )
    # A key's messages are in order by segment and position.
    assert all(
        [number for _, number in sorted(each)] == sorted(number for _, number in each)
        for each in by_key.values()
    )
    # Ends that were asked for before must not be the ends for ever.
    topic.send(*rows(120, 130))
    assert values(read()) == list(range(130))


def test_transactions(topic: ScalableTopic, read: Read) -> None:
    topic.send(*rows(0, 10))
    topic.write("begin", "txn key-0 -1", "txn key-1 -2", "abort")
    assert values(read()) == list(range(10)), "aborted at the end"
    topic.write("begin", "txn key-0 10", "commit")
    topic.send(*rows(11, 20))
    assert values(read()) == list(range(20))


def test_a_batch_waits_for_an_open_transaction(topic: ScalableTopic, read: Read) -> None:
    topic.send(*rows(0, 10))
    topic.write("begin", "txn key-0 10")
    topic.send(*rows(11, 20))
    commit = threading.Timer(5, topic.write, ["commit"])
    commit.start()
    try:
        assert values(read()) == list(range(20))
    finally:
        commit.join()


def stream(spark: SparkSession, options: dict[str, str], checkpoint: Path) -> list[list[Any]]:
    """The rows of each micro-batch until all is read."""
    batches: list[list[Any]] = []
    query = (
        spark.readStream.format("pulsar")
        .options(**options)
        .load()
        .writeStream.option("checkpointLocation", str(checkpoint))
        .foreachBatch(lambda batch, _: batches.append(batch.select("value", "__key").collect()))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return batches


def test_a_stream_keeps_the_order_of_keys(
    spark: SparkSession, topic: ScalableTopic, options: Options, tmp_path: Path
) -> None:
    settings = options(startingOffsets="earliest")
    topic.send(*rows(0, 40))
    batches = stream(spark, settings, tmp_path)
    topic.split(1)
    topic.send(*rows(40, 80))
    topic.merge(0, 2)
    topic.send(*rows(80, 120))
    batches += stream(spark, settings, tmp_path)
    by_key: dict[bytes, list[int]] = defaultdict(list)
    for batch in batches:
        for row in batch:
            by_key[bytes(row["__key"])].append(int(row["value"]))
    assert sorted(number for each in by_key.values() for number in each) == list(range(120))
    assert all(each == sorted(each) for each in by_key.values())
    assert not any(stream(spark, settings, tmp_path)), "nothing comes twice"


def test_a_stream_from_the_end(
    spark: SparkSession, topic: ScalableTopic, options: Options, tmp_path: Path
) -> None:
    settings = options(startingOffsets="latest")
    topic.send(*rows(0, 20))
    topic.split(0)
    assert not any(stream(spark, settings, tmp_path))
    topic.send(*rows(20, 30))
    topic.split(1)
    topic.send(*rows(30, 40))
    found = [int(row["value"]) for batch in stream(spark, settings, tmp_path) for row in batch]
    assert sorted(found) == list(range(20, 40))


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        ({"readFrom": "bookie"}, "expected a read without readFrom=bookie"),
        ({"topic": "segment://public/default/x/0000-ffff-0"}, "name the topic: topic://public/default/x"),
        ({"topic": "topic://public/default/nothing"}, "does not exist"),
    ],
)
def test_what_is_refused(read: Read, refused: dict[str, str], text: str) -> None:
    with pytest.raises(Exception, match=text):
        read(**refused).collect()


def test_writing_is_refused(spark: SparkSession, topic: ScalableTopic, options: Options) -> None:
    frame = spark.range(1).selectExpr("cast(id AS string) AS value")
    with pytest.raises(Exception, match="got a scalable topic of Pulsar 5"):
        frame.write.format("pulsar").options(**options()).mode("append").save()
    assert topic.segments() == {0: "ACTIVE", 1: "ACTIVE"}


def test_segments_on_the_command_line(
    server: LocalPulsar, topic: ScalableTopic, capsys: pytest.CaptureFixture[str]
) -> None:
    topic.split(0)
    cli(["layout", topic.name, "--service-url", server.service_url, "--json"], standalone_mode=False)
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["segment"], row["state"], row["parents"]) for row in found] == [
        (0, "sealed", []), (1, "active", []), (2, "active", [0]), (3, "active", [0]),
    ]  # fmt: skip
    assert found[2]["name"] == f"{topic.name.replace('topic', 'segment', 1)}/0000-3fff-2"
