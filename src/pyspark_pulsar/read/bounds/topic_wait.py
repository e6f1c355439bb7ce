"""Waiting for topics that do not exist yet (option `waitingForNonExistedTopic`). Driver only."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topics import discover_topics, present_topic_partitions
from pyspark_pulsar.runtime import time
from pyspark_pulsar.spark.logging import show_warnings

_PAUSE_SECONDS: Final = 0.5
# A producer creates its topic first, and registers its schema some milliseconds later.
SCHEMA_SECONDS: Final = 5.0

_log: Final = logging.getLogger(__name__)


def present_topics(client: BrokerClient, options: ReadOptions) -> list[TopicName]:
    """Return the topics of `discover_topics`. With option `waitingForNonExistedTopic`, wait until they exist.

    The function waits until each named topic exists, or until the pattern matches a topic. After that, the function
    waits up to `SCHEMA_SECONDS` for the topics' schemas.

    Raises:
        TopicNotFoundError: A topic did not appear within `pollTimeoutMs`.
        PulsarError: For the same reasons as `discover_topics`.

    """
    topics = discover_topics(client, options)
    if not options.waiting_for_non_existed_topic or (topics and not _missing(client, topics)):
        return topics
    deadline = time.monotonic() + options.poll_timeout_ms / 1000
    show_warnings()
    _log.warning(
        "Waiting up to %d s for %s", options.poll_timeout_ms // 1000, _expected(client, options, topics)
    )
    while not topics or _missing(client, topics):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TopicNotFoundError(
                f"waitingForNonExistedTopic: expected {_expected(client, options, topics)} within pollTimeoutMs "
                f"({options.poll_timeout_ms} ms), got none; create the missing topics, correct the name, or increase "
                f"pollTimeoutMs"
            )
        time.sleep(min(_PAUSE_SECONDS, left))
        topics = discover_topics(client, options)
    _await_schemas(client, topics)
    return topics


def _missing(client: BrokerClient, topics: Iterable[TopicName]) -> list[TopicName]:
    return [topic for topic, found in present_topic_partitions(client, topics).items() if found is None]


def _expected(client: BrokerClient, options: ReadOptions, topics: list[TopicName]) -> str:
    if options.topics_pattern is not None:
        return f"a topic that matches {options.topics_pattern.text!r}"
    return f"topic {', '.join(map(str, _missing(client, topics)))}"


def _await_schemas(client: BrokerClient, topics: list[TopicName]) -> None:
    deadline = time.monotonic() + SCHEMA_SECONDS
    whole_topics = {topic.without_partition() for topic in topics}
    while None in client.schemas(whole_topics).values() and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
