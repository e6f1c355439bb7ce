"""`startingSubscription`: a query begins where an existing subscription stands, whoever tells it, and only once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, await_true
from integration.streams import Stream, finish, half_acknowledged, send_numbers, to_files, values_in
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar


@pytest.fixture
def half_read(topic: str, official: official_client.Client) -> str:
    """A topic of ten messages, of which subscription `mine` has acknowledged five: `half_acknowledged`."""
    half_acknowledged(official, topic)
    return topic


def await_only_mine(admin: Admin, topic: str) -> None:
    """A broker removes the subscriptions of readers a moment after they have closed them."""
    await_true("no other subscription", lambda: admin.subscriptions(topic) == ["mine"])


@pytest.mark.parametrize("asks_admin", [True, False])
def test_a_batch_begins_behind_what_is_acknowledged(
    half_read: str, read_topic: ReadTopic, pulsar: LocalPulsar, admin: Admin, asks_admin: bool
) -> None:
    more = {"admin.url": pulsar.admin_url} if asks_admin else {}
    rows = read_topic(half_read, startingSubscription="mine", **more).collect()
    assert [int(bytes(row["value"])) for row in rows] == [4, 5, 6, 7, 8, 9]
    await_only_mine(admin, half_read)


def test_a_stream_begins_there_and_its_checkpoint_wins_afterwards(
    half_read: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    frame = stream(topic=half_read, startingSubscription="mine")
    finish(to_files(frame, tmp_path).trigger(availableNow=True).start())
    assert values_in(spark, tmp_path) == Counter(range(4, 10))
    send_numbers(official, half_read, range(10, 12))
    for start in (
        {"startingSubscription": "mine"},
        {"startingOffsets": "earliest"},
        {"startingTimestamp": "0"},
    ):
        finish(to_files(stream(topic=half_read, **start), tmp_path).trigger(availableNow=True).start())
        assert values_in(spark, tmp_path) == Counter(range(4, 12))


def test_without_the_subscription_the_error_names_it(
    half_read: str, read_topic: ReadTopic, pulsar: LocalPulsar, admin: Admin
) -> None:
    for more in ({}, {"admin.url": pulsar.admin_url}):
        with pytest.raises(Exception, match=r"OptionError.*startingSubscription.*'theirs'"):
            read_topic(half_read, startingSubscription="theirs", **more).collect()
    await_only_mine(admin, half_read)


def test_a_subscription_in_use_is_told_by_the_admin_api_only(
    half_read: str, read_topic: ReadTopic, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    consumer = official.subscribe(half_read, "mine")
    try:
        with pytest.raises(Exception, match=r"SubscriptionBusy.*give admin\.url"):
            read_topic(half_read, startingSubscription="mine").collect()
        read = read_topic(half_read, startingSubscription="mine", **{"admin.url": pulsar.admin_url})
        assert read.count() == 6
    finally:
        consumer.close()
