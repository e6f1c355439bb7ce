"""How close the ledgers that are not tiered yet are to the end of retention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.topic import TopicName

WARNING_SHARE: Final = 0.5
"""The used share of retention from which on tiering warns: as much time is left to act as has passed."""
_MEGABYTE: Final = 1 << 20


def retention_policy(admin: AdminClient, topic: TopicName) -> Mapping[str, int]:
    """Return the topic's policy as Pulsar has it; empty where this role may not see it, or there is none."""
    try:
        policy = admin.policies.applied(topic, "retention")
    except PermissionDenied:
        return {}
    return policy if isinstance(policy, Mapping) else {}


def used_share(policy: Mapping[str, int], seconds: float, size: int) -> float | None:
    """Return which part of retention has passed for the first ledger that is not tiered.

    Retention removes ledgers by age and by the bytes that follow them, whichever comes first, once all subscriptions
    have acknowledged them.

    Args:
        policy: The topic's retention policy.
        seconds: How long ago that ledger was closed; 0 if there is none.
        size: Bytes of that ledger and of all that follow.

    Returns:
        1.0 or more where retention may have removed it; None where the policy does not keep what is acknowledged, or
        is not known.

    """
    minutes, megabytes = int(policy.get("retentionTimeInMinutes", 0)), int(policy.get("retentionSizeInMB", 0))
    if minutes == 0 or megabytes == 0:
        return None
    if seconds == 0.0:
        return 0.0
    by_time = seconds / (minutes * 60) if minutes > 0 else 0.0
    by_size = size / (megabytes * _MEGABYTE) if megabytes > 0 else 0.0
    return max(by_time, by_size)
