"""The share of retention that has passed for ledgers that are not tiered yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.topic import TopicName

WARNING_SHARE: Final = 0.5
"""The passed share of retention at which tiering warns: the remaining time equals the passed time."""
_MEGABYTE: Final = 1 << 20


def retention_policy(admin: AdminClient, topic: TopicName) -> Mapping[str, int]:
    """Return the topic's retention policy in Pulsar's form; empty if the topic has none, or the role may not see it."""
    try:
        policy = admin.policies.applied(topic, "retention")
    except PermissionDenied:
        return {}
    return policy if isinstance(policy, Mapping) else {}


def used_share(policy: Mapping[str, int], seconds: float, size: int) -> float | None:
    """Return the share of retention that has passed for the first ledger that is not tiered.

    Retention removes ledgers by age and by the bytes that follow them, whichever limit is reached first, after all
    subscriptions have acknowledged them.

    Args:
        policy: The topic's retention policy.
        seconds: The time since that ledger was closed; 0 if there is none.
        size: The bytes of that ledger and of all later ledgers.

    Returns:
        1.0 or more if retention may have removed the ledger. None if the policy is unknown, or does not keep
        acknowledged messages.

    """
    minutes, megabytes = int(policy.get("retentionTimeInMinutes", 0)), int(policy.get("retentionSizeInMB", 0))
    if minutes == 0 or megabytes == 0:
        return None
    if seconds == 0.0:
        return 0.0
    by_time = seconds / (minutes * 60) if minutes > 0 else 0.0
    by_size = size / (megabytes * _MEGABYTE) if megabytes > 0 else 0.0
    return max(by_time, by_size)
