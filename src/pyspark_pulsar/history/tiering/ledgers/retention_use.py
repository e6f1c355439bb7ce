"""The share of retention that ledgers have used before they are tiered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.topic import TopicName

WARNING_SHARE: Final = 0.5
"""The used share of retention at which tiering logs a warning. At this share, half of the time or size is left."""
_MEGABYTE: Final = 1 << 20


def retention_policy(admin: AdminClient, topic: TopicName) -> Mapping[str, int]:
    """Return the topic's retention policy in Pulsar's form.

    The result is empty if the topic has no policy, or if the role may not see the policy.
    """
    try:
        policy = admin.policies.applied(topic, "retention")
    except PermissionDenied:
        return {}
    return policy if isinstance(policy, Mapping) else {}


def used_share(policy: Mapping[str, int], seconds: float, size: int) -> float | None:
    """Return the share of the topic's retention that a ledger has used: the first ledger that is not tiered.

    Retention removes a ledger after all subscriptions have acknowledged its messages, and after the time limit or the
    size limit is reached. The size limit applies to the total size of the ledger and of all later ledgers.

    Args:
        policy: The topic's retention policy.
        seconds: The time since the ledger was closed; 0 if all closed ledgers are tiered.
        size: The size of the ledger and of all later ledgers, in bytes.

    Returns:
        The share. A share of 1.0 or more means that retention can remove the ledger at any time. None means that the
        policy is unknown, or does not keep acknowledged messages.

    """
    minutes, megabytes = int(policy.get("retentionTimeInMinutes", 0)), int(policy.get("retentionSizeInMB", 0))
    if minutes == 0 or megabytes == 0:
        return None
    if seconds == 0.0:
        return 0.0
    by_time = seconds / (minutes * 60) if minutes > 0 else 0.0
    by_size = size / (megabytes * _MEGABYTE) if megabytes > 0 else 0.0
    return max(by_time, by_size)
