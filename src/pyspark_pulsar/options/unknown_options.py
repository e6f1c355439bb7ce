"""Names that are no option: what the user may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.pages import page, with_pages

_SUGGESTIONS: Final = 3
_LISTED: Final = 5
_LIKENESS: Final = 0.6
_AS_LIKE: Final = 0.1

_SECURITY: Final = (
    "credentials and TLS are in pulsar.client.authPluginClassName, pulsar.client.authParams and "
    "pulsar.client.tlsTrustCertsFilePath (<security>)"
)
_EXACTLY_ONCE: Final = "say deliveryGuarantee=exactly-once"
_OF_KAFKA: Final = {
    "kafka.bootstrap.servers": "the servers are in service.url, such as pulsar://host:6650",
    "bootstrap.servers": "the servers are in service.url, such as pulsar://host:6650",
    "subscribe": "a write takes topic, or a column __topic that names the topic of each row",
    "assign": "a partition is a topic too: say topics with names such as my-topic-partition-0",
    "kafka.group.id": "say subscriptionName, a subscription that follows the query",
    "groupIdPrefix": "nothing is left behind that would need a name; subscriptionName names a subscription that "
    "follows the query",
    "includeHeaders": "the headers are in column __messageProperties, which is always there",
    "kafkaConsumer.pollTimeoutMs": "say pollTimeoutMs",
    "fetchOffset.numRetries": "say pulsar.client.operationTimeoutMs, how long is tried again",
    "fetchOffset.retryIntervalMs": "say pulsar.client.operationTimeoutMs, how long is tried again",
    "startingOffsetsByTimestampStrategy": "a time behind the last message is the end of the topic",
    "kafka.security.protocol": "TLS is said by service.url, pulsar+ssl://host:6651; " + _SECURITY,
    "kafka.acks": "say deliveryGuarantee",
    "kafka.enable.idempotence": _EXACTLY_ONCE,
    "kafka.transactional.id": _EXACTLY_ONCE,
    "kafka.transaction.timeout.ms": "say transactionTimeoutMs",
    "kafka.isolation.level": "messages of open and aborted transactions are never read",
    "kafka.compression.type": "say pulsar.producer.compressionType",
    "kafka.batch.size": "say pulsar.producer.batchingMaxBytes",
    "kafka.linger.ms": "say pulsar.producer.batchingMaxPublishDelayMicros",
    "kafka.max.request.size": "say pulsar.producer.chunkingEnabled for large messages",
    "kafka.client.id": "say pulsar.producer.producerName",
    "kafka.request.timeout.ms": "say pulsar.client.operationTimeoutMs",
    "kafka.delivery.timeout.ms": "say pulsar.producer.sendTimeoutMs",
    "kafka.max.poll.records": "say batchRows, or pulsar.consumer.receiverQueueSize",
    "kafka.auto.offset.reset": "say startingOffsets",
    "kafka.key.serializer": "the columns and the topic's schema say it (<schema-mapping>)",
    "kafka.value.serializer": "the columns and the topic's schema say it (<schema-mapping>)",
    "kafka.key.deserializer": "the topic's schema says it (<schema-mapping>)",
    "kafka.value.deserializer": "the topic's schema says it (<schema-mapping>)",
    "kafka.schema.registry.url": "the schemas are Pulsar's own, at service.url",
}
"""Options of Spark's source for Kafka, by their names there, and what there is in their place."""

_OF_PULSAR_SPARK: Final = {
    "subscriptionPrefix": "nothing is left behind that would need a name; subscriptionName names a subscription that "
    "follows the query",
    "endingOffsetsByTime": "say endingOffsetsByTimestamp",
    "startingOffsetsByTime": "say startingOffsetsByTimestamp",
    "topicMulti": "say topics",
    "topicSingle": "say topic",
    "topicPattern": "say topicsPattern",
    "useTls": "say it by service.url, pulsar+ssl://host:6651",
}
"""Options of StreamNative's pulsar-spark that are not here, and what there is in their place."""

_ELSEWHERE: Final = {name.lower(): (name, hint) for name, hint in (_OF_KAFKA | _OF_PULSAR_SPARK).items()}
_PREFIXES: Final = {
    "kafka.ssl.": _SECURITY,
    "kafka.sasl.": _SECURITY,
    "kafka.": "this is Pulsar: its servers are in service.url, such as pulsar://host:6650, its topics in topic, topics "
    "or topicsPattern",
    "pulsar.admin.": "the options pulsar.client.* serve the admin REST API as well",
    "pulsar.failover.": "there is nothing in its place (<migrating>)",
}


def unknown_options(keys: Iterable[str], known: Iterable[str], what: str = "unknown option") -> str:
    """What to say of `keys`, at least one, of which none is among `known`.

    Spark gives sources in Python all names in small letters; one of another connector is shown as it is written there.
    """
    listed = list(known)
    told = [
        f"{name!r}; {hint}" if hint else repr(name) for name, hint in (_meant(key, listed) for key in keys)
    ]
    all_options = f"(all options: {page('options')})"
    if len(told) == 1:
        return f"{what} {told[0]} {all_options}"
    rest = len(told) - _LISTED
    more = f"\n  - and {rest} more" if rest > 0 else ""
    return f"{len(told)} {what}s {all_options}:" + "".join(f"\n  - {each}" for each in told[:_LISTED]) + more


def _meant(key: str, known: list[str]) -> tuple[str, str]:
    """The name as it is written where it is known, and what there is in its place."""
    name, hint = _ELSEWHERE.get(key.lower(), (key, ""))
    hint = hint or next((hint for prefix, hint in _PREFIXES.items() if key.lower().startswith(prefix)), "")
    if not hint and (close := near_misses(key, known)):
        hint = f"did you mean {' or '.join(map(repr, close))}?"
    return name, with_pages(hint)


def near_misses(key: str, known: Iterable[str]) -> list[str]:
    """Those of `known` that look like `key`, or whose last part does, the likeliest first; a few at most."""
    likeness = {name: _likeness(key.lower(), name.lower()) for name in known}
    close = [
        name for name, alike in likeness.items() if alike >= max(_LIKENESS, max(likeness.values()) - _AS_LIKE)
    ]
    return sorted(close, key=lambda name: (-likeness[name], name))[:_SUGGESTIONS]


def _likeness(key: str, name: str) -> float:
    last = difflib.SequenceMatcher(None, key.rpartition(".")[2], name.rpartition(".")[2]).ratio()
    return max(difflib.SequenceMatcher(None, key, name).ratio(), last)
