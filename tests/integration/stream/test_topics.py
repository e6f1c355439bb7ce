"""Streaming: partitions and topics that are added while a stream runs or is stopped."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from integration.official import Admin, await_true
from integration.streams import Stream, finish, has_first_batch, send_numbers, to_files, values_in
from pyspark.sql import SparkSession

from pyspark_pulsar.errors import DataLossError, OptionError
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.spark.read_limits import ReadAllAvailable
from pyspark_pulsar.tools.standalone import LocalPulsar


def test_partitions_added_to_a_running_stream_are_read(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    admin.create_partitioned(topic, 1)
    send_numbers(official, f"{topic}-partition-0", range(10))
    query = to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path).start()
    try:
        query.processAllAvailable()
        admin.update_partitions(topic, 3)
        for index in range(3):
            send_numbers(official, f"{topic}-partition-{index}", range(10 * index + 10, 10 * index + 20))
        query.processAllAvailable()
    finally:
        query.stop()
    assert values_in(spark, tmp_path) == Counter(range(40))


def test_new_topics_of_a_pattern_are_read_from_their_first_message(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    send_numbers(official, f"{topic}-a", range(10))
    send_numbers(official, f"{topic[:-1]}X-other", range(1000, 1010))
    query = to_files(stream(topicsPattern=f"{topic}-.*"), tmp_path).start()
    try:
        await_true("the first micro-batch", has_first_batch(tmp_path / "checkpoint"))
        send_numbers(official, f"{topic}-b", range(20, 30))
        send_numbers(official, f"{topic}-a", range(10, 20))
        query.processAllAvailable()
    finally:
        query.stop()
    # `latest` applies to topics that existed at the start; the new topic is read from its first message.
    assert values_in(spark, tmp_path) == Counter(range(10, 30))


def test_topics_of_several_namespaces_are_found_while_the_stream_runs(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
) -> None:
    prefix = f"public/{topic.rpartition('-')[2]}"
    for letter in "ab":
        admin.make_namespace(f"{prefix}-{letter}")
    send_numbers(official, f"persistent://{prefix}-a/orders-1", range(10))
    send_numbers(official, f"persistent://{prefix}-a/bills-1", range(1000, 1010))
    send_numbers(official, f"persistent://{prefix}-b/orders-1", range(10, 20))
    pattern = f"persistent://{prefix}-[a-c]/orders-.*"
    with pytest.raises(Exception, match=r"OptionError.*admin\.url"):
        stream(topicsPattern=pattern)
    frame = stream(topicsPattern=pattern, startingOffsets="earliest", **{"admin.url": pulsar.admin_url})
    query = to_files(frame, tmp_path).start()
    try:
        query.processAllAvailable()
        admin.make_namespace(f"{prefix}-c")
        send_numbers(official, f"persistent://{prefix}-c/orders-9", range(20, 30))
        send_numbers(official, f"persistent://{prefix}-b/orders-2", range(30, 40))
        query.processAllAvailable()
    finally:
        query.stop()
    assert values_in(spark, tmp_path) == Counter(range(40))


def test_a_topic_made_again_is_data_loss_or_is_read_from_its_start(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    send_numbers(official, topic, range(10))
    finish(
        to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path).trigger(availableNow=True).start()
    )
    admin.delete(topic)
    admin.create(topic)
    send_numbers(official, topic, range(10, 15))
    query = to_files(stream(topic=topic), tmp_path).trigger(availableNow=True).start()
    with pytest.raises(Exception, match=r"DataLossError.*deleted and made again"):
        query.awaitTermination(60)
    finish(to_files(stream(topic=topic, failOnDataLoss="false"), tmp_path).trigger(availableNow=True).start())
    assert values_in(spark, tmp_path) == Counter(range(15))


def test_a_deleted_topic_of_a_pattern_is_data_loss_or_ignored(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    for index in range(2):
        send_numbers(official, f"{topic}-{index}", range(10 * index, 10 * index + 10))
    pattern = {"topicsPattern": f"{topic}-.*", "startingOffsets": "earliest"}
    query = to_files(stream(**pattern, failOnDataLoss="false"), tmp_path).start()
    try:
        query.processAllAvailable()
        admin.delete(f"{topic}-0")
        send_numbers(official, f"{topic}-1", range(20, 25))
        query.processAllAvailable()
        send_numbers(official, f"{topic}-0", range(25, 30))
        query.processAllAvailable()
    finally:
        query.stop()
    assert values_in(spark, tmp_path) == Counter(range(30))
    admin.delete(f"{topic}-0")
    query = to_files(stream(**pattern), tmp_path).start()
    with pytest.raises(Exception, match=r"DataLossError.*deleted"):
        query.awaitTermination(60)


def test_a_checkpoint_of_another_topic_is_refused_before_anything_is_read(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    other = f"{topic}-n"
    send_numbers(official, topic, range(10))
    send_numbers(official, other, range(100, 110))

    def run(name: str, **options: str) -> None:
        frame = stream(topic=name, startingOffsets="earliest", **options)
        finish(to_files(frame, tmp_path).trigger(availableNow=True).start(), seconds=180)

    run(topic)
    send_numbers(official, topic, range(10, 15))
    with pytest.raises(
        Exception, match=rf"OptionError.*{other}.*{topic} \(read up to .*allowDifferentTopics"
    ):
        run(other, subscriptionName="kept")
    assert values_in(spark, tmp_path) == Counter(range(10))
    assert "kept" not in admin.subscriptions(other)
    # The full name is the same topic.
    run(topic.removeprefix("persistent://public/default/"))
    run(other, allowDifferentTopics="true")
    # The checkpoint now contains that topic alone.
    send_numbers(official, other, range(110, 115))
    run(other)
    assert values_in(spark, tmp_path) == Counter([*range(15), *range(100, 115)])


def test_a_pattern_that_no_longer_matches_topics_of_the_checkpoint(
    topic: str, pulsar: LocalPulsar, official: official_client.Client, admin: Admin
) -> None:
    send_numbers(official, f"{topic}-a", range(10))
    send_numbers(official, f"{topic}-b", range(10))

    def reader(**options: str) -> PulsarStreamReader:
        given = parse_options(
            ReadOptions, {"service.url": pulsar.service_url, "startingOffsets": "earliest"} | options
        )
        return PulsarStreamReader(given, resolve_source_schema(given))

    def positions(reader: PulsarStreamReader, start: dict[str, Any] | None = None) -> set[str]:
        end = reader.latestOffset(start or reader.initialOffset(), ReadAllAvailable())
        reader.stop()
        return set(end["positions"])

    former = reader(topicsPattern=f"{topic}-.*")
    offset = former.latestOffset(former.initialOffset(), ReadAllAvailable())
    former.stop()
    assert positions(reader(topicsPattern=f"{topic}-[ab]"), offset) == {f"{topic}-a", f"{topic}-b"}
    assert positions(reader(topics=f"{topic}-b,{topic}-a"), offset) == {f"{topic}-a", f"{topic}-b"}
    narrow = reader(topicsPattern=f"{topic}-[b-z]")
    for ask in (
        lambda: narrow.latestOffset(offset, ReadAllAvailable()),
        lambda: narrow.partitions(former.initialOffset(), offset),
    ):
        with pytest.raises(OptionError, match=rf"topicsPattern.*{topic}-a \(read up to"):
            ask()
    narrow.stop()
    meant = {"topicsPattern": f"{topic}-[b-z]", "allowDifferentTopics": "true"}
    assert positions(reader(**meant), offset) == {f"{topic}-b"}
    # The deletion of such a topic counts as data loss.
    admin.delete(f"{topic}-a")
    with pytest.raises(DataLossError, match=f"{topic}-a"):
        positions(reader(topicsPattern=f"{topic}-[b-z]"), offset)
    kept = reader(topicsPattern=f"{topic}-[b-z]", failOnDataLoss="false")
    assert positions(kept, offset) == {f"{topic}-b"}
