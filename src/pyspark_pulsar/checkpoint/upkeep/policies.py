"""Policies of a checkpoint's topics that would let the broker remove what is needed; asked where `admin.url` is
given."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from pyspark_pulsar.checkpoint.messages.writer import KEEPER
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import CheckpointUnsafe, ConnectionFailed, PulsarError, TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions

_log: Final = logging.getLogger(__name__)

_PATIENCE_MS: Final = 5_000
_EVICTION: Final = "consumer_backlog_eviction"


def check_policies(options: ReadOptions, topics: list[TopicName]) -> None:
    """Raises `CheckpointUnsafe` for a message TTL, for a backlog quota that evicts, and for subscriptions that expire.
    Warns of a quota that would stop the query. What a role may not see is not checked."""
    if options.admin_url is None:
        return
    with AdminClient(options, patience_ms=_PATIENCE_MS) as admin:
        for topic in topics:
            _check_ttl(topic, _applied(admin, topic, "messageTTL"))
            _check_quota(topic, _applied(admin, topic, "backlogQuotaMap"))
        namespace = topics[0].namespace
        expiry = _told(lambda: admin.policies.own(namespace, "subscriptionExpirationTime"))
        if isinstance(expiry, int) and expiry > 0:
            raise CheckpointUnsafe(
                f"namespace {namespace}: expected subscriptions that do not expire, got subscriptionExpirationTime "
                f"{expiry} minutes: while the query is stopped the subscription {KEEPER!r} would go, and then its "
                f"checkpoint; set it to 0, or keep checkpoints in another namespace"
            )


def _check_ttl(topic: TopicName, seconds: Any) -> None:
    if isinstance(seconds, int) and seconds > 0:
        raise CheckpointUnsafe(
            f"topic {topic}: expected no message TTL, got {seconds} s, after which the broker passes over what the "
            f"checkpoint needs; remove it, or keep checkpoints in another namespace"
        )


def _check_quota(topic: TopicName, quotas: Any) -> None:
    for kind, quota in (quotas if isinstance(quotas, dict) else {}).items():
        if not isinstance(quota, dict):
            continue
        limits = {key: value for key, value in quota.items() if key.startswith("limit")}
        if not any(isinstance(value, int) and value > 0 for value in limits.values()):
            continue
        if quota.get("policy") == _EVICTION:
            raise CheckpointUnsafe(
                f"topic {topic}: expected no backlog quota that evicts, got {kind} with {_EVICTION} and {limits}: the "
                f"broker would pass over what the checkpoint needs; give it another policy, or keep checkpoints in "
                f"another namespace"
            )
        _log.warning(
            "topic %s has the backlog quota %s with %s and policy %s: what a checkpoint needs counts as backlog, and "
            "beyond the quota the query stops",
            topic,
            kind,
            limits,
            quota.get("policy"),
        )


def _applied(admin: AdminClient, topic: TopicName, name: str) -> Any:
    """Of a topic that is not there yet its namespace's, where it has one."""
    try:
        return admin.policies.applied(topic, name)
    except TopicNotFoundError:
        return _told(lambda: admin.policies.own(topic.namespace, name))
    except PulsarError as fault:
        return _untold(fault)


def _told(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except PulsarError as fault:
        return _untold(fault)


def _untold(fault: PulsarError) -> None:
    level = logging.WARNING if isinstance(fault, ConnectionFailed) else logging.INFO
    _log.log(level, "policies of a checkpoint's topics are not checked: %s", fault)
