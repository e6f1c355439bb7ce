"""`waitingForNonExistedTopic`: a read that begins before its topics are there. Driver only."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topics import discover_topics, present_topic_partitions
from pyspark_pulsar.spark.logging import show_warnings

_PAUSE_SECONDS: Final = 0.5
# A producer makes its topic first and registers its schema then, within milliseconds.
SCHEMA_SECONDS: Final = 5.0

_log: Final = logging.getLogger(__name__)


def present_topics(client: BrokerClient, options: ReadOptions) -> list[TopicName]:
    """`discover_topics`; with option `waitingForNonExistedTopic` when each topic that is named exists, or the pattern
    has a match. Topics that have come meanwhile are given some seconds to have a schema.

    Raises what `discover_topics` raises, and `TopicNotFoundError` when that takes longer than `pollTimeoutMs`.
    """
    topics = discover_topics(client, options)
    if not options.waiting_for_non_existed_topic or (topics and not _missing(client, topics)):
        return topics
    deadline = time.monotonic() + options.poll_timeout_ms / 1000
    show_warnings()
    _log.warning(
        "waiting for %s, up to %d s", _expected(client, options, topics), options.poll_timeout_ms // 1000
    )
    while not topics or _missing(client, topics):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TopicNotFoundError(
                f"waitingForNonExistedTopic: nothing came within pollTimeoutMs ({options.poll_timeout_ms} ms): "
                f"expected {_expected(client, options, topics)}; create what is missing, correct the name, "
                f"or wait longer"
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
