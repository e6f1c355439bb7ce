"""Suggestions for names that are not options."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.pages import page, with_pages

_SUGGESTIONS: Final = 3
_LISTED: Final = 5
_LEAST_SIMILARITY: Final = 0.6
_SIMILARITY_MARGIN: Final = 0.1

_SECURITY: Final = (
    "credentials and TLS are in pulsar.client.authPluginClassName, pulsar.client.authParams and "
    "pulsar.client.tlsTrustCertsFilePath (<security>)"
)
_EXACTLY_ONCE: Final = "set deliveryGuarantee=exactly-once"
_RETRIES: Final = "set pulsar.client.operationTimeoutMs, the time limit for a request with all retries"
_NO_PREFIX: Final = (
    "a query needs no prefix, because it leaves nothing in Pulsar; set subscriptionName for a subscription that "
    "follows the query"
)
_KAFKA_HINTS: Final = {
    "kafka.bootstrap.servers": "the servers are in service.url, such as pulsar://host:6650",
    "bootstrap.servers": "the servers are in service.url, such as pulsar://host:6650",
    "subscribe": "set topic for a write, or add a column __topic with the topic of each row",
    "assign": "a partition is a topic too: set topics to names such as my-topic-partition-0",
    "kafka.group.id": "set subscriptionName, a subscription that follows the query",
    "groupIdPrefix": _NO_PREFIX,
    "includeHeaders": "the headers are in column __messageProperties, which always exists",
    "kafkaConsumer.pollTimeoutMs": "set pollTimeoutMs",
    "fetchOffset.numRetries": _RETRIES,
    "fetchOffset.retryIntervalMs": _RETRIES,
    "startingOffsetsByTimestampStrategy": "a time after the last message means the end of the topic",
    "kafka.security.protocol": "for TLS, set service.url to pulsar+ssl://host:6651; " + _SECURITY,
    "kafka.acks": "set deliveryGuarantee",
    "kafka.enable.idempotence": _EXACTLY_ONCE,
    "kafka.transactional.id": _EXACTLY_ONCE,
    "kafka.transaction.timeout.ms": "set transactionTimeoutMs",
    "kafka.isolation.level": "reads never return messages of open and aborted transactions",
    "kafka.compression.type": "set pulsar.producer.compressionType",
    "kafka.batch.size": "set pulsar.producer.batchingMaxBytes",
    "kafka.linger.ms": "set pulsar.producer.batchingMaxPublishDelayMicros",
    "kafka.max.request.size": "set pulsar.producer.chunkingEnabled for large messages",
    "kafka.client.id": "set pulsar.producer.producerName",
    "kafka.request.timeout.ms": "set pulsar.client.operationTimeoutMs",
    "kafka.delivery.timeout.ms": "set pulsar.producer.sendTimeoutMs",
    "kafka.max.poll.records": "set batchRows or pulsar.consumer.receiverQueueSize",
    "kafka.auto.offset.reset": "set startingOffsets",
    "kafka.key.serializer": "the columns and the topic's schema determine the format (<schema-mapping>)",
    "kafka.value.serializer": "the columns and the topic's schema determine the format (<schema-mapping>)",
    "kafka.key.deserializer": "the topic's schema determines the format (<schema-mapping>)",
    "kafka.value.deserializer": "the topic's schema determines the format (<schema-mapping>)",
    "kafka.schema.registry.url": "reads and writes use Pulsar's own schema registry, at service.url",
}
"""Hints that replace options of Spark's Kafka source by options of this package, by the name of the Kafka option."""

_PULSAR_SPARK_HINTS: Final = {
    "subscriptionPrefix": _NO_PREFIX,
    "endingOffsetsByTime": "set endingOffsetsByTimestamp",
    "startingOffsetsByTime": "set startingOffsetsByTimestamp",
    "topicMulti": "set topics",
    "topicSingle": "set topic",
    "topicPattern": "set topicsPattern",
    "useTls": "set service.url to pulsar+ssl://host:6651",
}
"""Hints for options of StreamNative's pulsar-spark that this package does not have."""

_ELSEWHERE: Final = {
    name.lower(): (name, hint) for name, hint in (_KAFKA_HINTS | _PULSAR_SPARK_HINTS).items()
}
_PREFIXES: Final = {
    "kafka.ssl.": _SECURITY,
    "kafka.sasl.": _SECURITY,
    "kafka.": "this source reads Pulsar: set service.url to its servers, such as pulsar://host:6650, and topic, topics "
    "or topicsPattern to its topics",
    "pulsar.admin.": "the options pulsar.client.* also apply to the admin REST API",
    "pulsar.failover.": "this package has no such option (<migrating>)",
}


def unknown_options(keys: Iterable[str], known: Iterable[str], what: str = "unknown option") -> str:
    """Return the text of an error for unknown keys, with suggestions.

    Spark passes keys in lower case to Python sources. The text spells the option of another connector in the spelling
    of that connector.

    Args:
        keys: The unknown keys, at least one.
        known: All keys that exist.
        what: The words for one unknown key in the text, such as `unknown option`.

    """
    listed = list(known)
    lines = [
        f"{name!r}; {hint}" if hint else repr(name)
        for name, hint in (_suggestion(key, listed) for key in keys)
    ]
    all_options = f"(all options: {page('options')})"
    if len(lines) == 1:
        return f"{what} {lines[0]} {all_options}"
    rest = len(lines) - _LISTED
    more = f"\n  - and {rest} more" if rest > 0 else ""
    return (
        f"{len(lines)} {what}s {all_options}:" + "".join(f"\n  - {each}" for each in lines[:_LISTED]) + more
    )


def _suggestion(key: str, known: list[str]) -> tuple[str, str]:
    """Return the name of the option in its connector's spelling, and a hint. The hint can be empty."""
    name, hint = _ELSEWHERE.get(key.lower(), (key, ""))
    hint = hint or next((hint for prefix, hint in _PREFIXES.items() if key.lower().startswith(prefix)), "")
    if not hint and (close := near_misses(key, known)):
        hint = f"did you mean {' or '.join(map(repr, close))}?"
    return name, with_pages(hint)


def near_misses(key: str, known: Iterable[str]) -> list[str]:
    """Return at most three names that resemble `key`, or whose last part resembles the last part of `key`.

    The best match is first.
    """
    similarity = {name: _similarity(key.lower(), name.lower()) for name in known}
    close = [
        name
        for name, value in similarity.items()
        if value >= max(_LEAST_SIMILARITY, max(similarity.values()) - _SIMILARITY_MARGIN)
    ]
    return sorted(close, key=lambda name: (-similarity[name], name))[:_SUGGESTIONS]


def _similarity(key: str, name: str) -> float:
    last = difflib.SequenceMatcher(None, key.rpartition(".")[2], name.rpartition(".")[2]).ratio()
    return max(difflib.SequenceMatcher(None, key, name).ratio(), last)
