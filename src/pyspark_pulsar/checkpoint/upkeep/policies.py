"""Checking whether a policy of a checkpoint's topics lets the broker remove needed data.

The check needs `admin.url`.
"""

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

_ADMIN_TIMEOUT_MS: Final = 5_000
_EVICTION: Final = "consumer_backlog_eviction"


def check_policies(options: ReadOptions, topics: list[TopicName]) -> None:
    """Check the policies of the topics.

    A policy that cannot be read is not checked. A backlog quota that would stop the query causes a warning in the log.

    Raises:
        CheckpointUnsafe: The topics have a message TTL, a backlog quota that evicts messages, or subscriptions that
            expire.

    """
    if options.admin_url is None:
        return
    with AdminClient(options, patience_ms=_ADMIN_TIMEOUT_MS) as admin:
        for topic in topics:
            _check_ttl(topic, _applied(admin, topic, "messageTTL"))
            _check_quota(topic, _applied(admin, topic, "backlogQuotaMap"))
        namespace = topics[0].namespace
        expiry = _try_read(lambda: admin.policies.own(namespace, "subscriptionExpirationTime"))
        if isinstance(expiry, int) and expiry > 0:
            raise CheckpointUnsafe(
                f"namespace {namespace}: expected subscriptions that do not expire, got subscriptionExpirationTime "
                f"{expiry} minutes. While the query is stopped, the subscription {KEEPER!r} would expire, and the "
                f"checkpoint would be lost; set the policy to 0, or keep checkpoints in another namespace"
            )


def _check_ttl(topic: TopicName, seconds: Any) -> None:
    if isinstance(seconds, int) and seconds > 0:
        raise CheckpointUnsafe(
            f"topic {topic}: expected no message TTL, got {seconds} s. The broker would then remove data that "
            f"the checkpoint needs; remove the TTL, or keep checkpoints in another namespace"
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
                f"topic {topic}: expected no backlog quota that evicts, got {kind} with {_EVICTION} and {limits}. The "
                f"broker would remove data that the checkpoint needs; set another policy, or keep checkpoints in "
                f"another namespace"
            )
        _log.warning(
            "The data of a checkpoint counts as backlog. If the backlog exceeds the quota, the query fails: quota %s, "
            "limits %s, policy %s, topic %s",
            kind,
            limits,
            quota.get("policy"),
            topic,
        )


def _applied(admin: AdminClient, topic: TopicName, name: str) -> Any:
    """Return the policy of a topic, or the policy of its namespace if the topic does not exist."""
    try:
        return admin.policies.applied(topic, name)
    except TopicNotFoundError:
        return _try_read(lambda: admin.policies.own(topic.namespace, name))
    except PulsarError as fault:
        return _log_unread(fault)


def _try_read(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except PulsarError as fault:
        return _log_unread(fault)


def _log_unread(fault: PulsarError) -> None:
    level = logging.WARNING if isinstance(fault, ConnectionFailed) else logging.INFO
    _log.log(level, "Policies of a checkpoint's topics are not checked: %s", fault)
