"""The lag at which Pulsar may delete messages that a stream has not read. Driver only.

Without a subscription, only retention keeps messages. A subscription keeps messages until they are acknowledged. If a
namespace has a message TTL, Pulsar acknowledges older messages for the subscription. After the TTL, only retention
keeps these messages.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PulsarError, TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicPartition
from pyspark_pulsar.read.microbatch.progress.lag import Lag, LagReport

_NEAR: Final = 0.5
_FOREVER: Final = -1

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Horizon:
    """A limit of the lag, past which Pulsar may delete unread messages. A value of None means no limit."""

    seconds: float | None = None
    bytes: int | None = None

    @property
    def is_immediate(self) -> bool:
        return self.seconds == 0 or self.bytes == 0

    def is_near(self, lag: Lag) -> bool:
        """Return whether `lag` is more than half of this limit."""
        return _is_near(lag.seconds, self.seconds) or _is_near(lag.bytes, self.bytes)

    def __str__(self) -> str:
        parts = [] if self.seconds is None else [f"{self.seconds:.0f} s"]
        return " or ".join([*parts, *([] if self.bytes is None else [f"{self.bytes} bytes"])]) or "no bound"


def horizon_of(retention: Any, ttl_seconds: Any, *, is_held: bool) -> Horizon:
    """Return the limit for a topic, computed from answers of the admin REST API.

    Args:
        retention: The topic's effective retention.
        ttl_seconds: The topic's effective message TTL.
        is_held: Whether a subscription at the query's position keeps the messages.

    """
    policy = retention if isinstance(retention, dict) else {}
    minutes, megabytes = policy.get("retentionTimeInMinutes", 0), policy.get("retentionSizeInMB", 0)
    if is_held:
        if not isinstance(ttl_seconds, int) or ttl_seconds <= 0 or minutes == _FOREVER:
            return Horizon()
        return Horizon(ttl_seconds + 60.0 * minutes)
    if 0 in (minutes, megabytes):
        # Pulsar retains no messages if one of the two limits is 0.
        return Horizon(0.0, 0)
    return Horizon(
        None if minutes == _FOREVER else 60.0 * minutes, None if megabytes == _FOREVER else megabytes << 20
    )


class RetentionWatch:
    """A watch that looks up the retention of each namespace, through one of the namespace's topics.

    If the role is not authorized, the watch stops its lookups and raises no error.
    """

    def __init__(self, admin: AdminClient, *, is_held: bool) -> None:
        self._admin = admin
        self._is_held = is_held
        self._horizons: dict[Namespace, Horizon] = {}
        self._warned: set[TopicPartition] = set()
        self._may_look_up = True

    def look_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Look up the retention for all partitions of the next call of `warn`.

        A namespace that retains no messages is logged once.
        """
        # The calls that return the policies of a topic do not work for scalable topics.
        for partition in partitions:
            if not partition.is_segment and partition.topic.namespace not in self._horizons:
                self._look_up_namespace(partition)

    def warn(self, report: LagReport) -> None:
        """Log each topic partition whose lag is more than half of the limit."""
        for partition, lag in report.lags.items():
            if partition.is_segment:
                continue
            horizon = self._horizons[partition.topic.namespace]
            if not horizon.is_near(lag):
                self._warned.discard(partition)
            elif partition not in self._warned and not horizon.is_immediate:
                self._warned.add(partition)
                _log.warning(
                    "the query lags by %s, and messages can be deleted unread at a lag of more than %s: %s; %s",
                    _text(lag), horizon, partition, self._advice(),
                )  # fmt: skip

    def _look_up_namespace(self, partition: TopicPartition) -> None:
        namespace = partition.topic.namespace
        self._horizons[namespace] = Horizon()
        if not self._may_look_up:
            return
        try:
            horizon = horizon_of(
                self._admin.policies.applied(partition.topic, "retention"),
                self._admin.policies.applied(partition.topic, "messageTTL"),
                is_held=self._is_held,
            )
        except PulsarError as fault:
            _log.info("looking up the retention of %s failed: %s", namespace, fault)
            self._may_look_up = isinstance(fault, TopicNotFoundError)
            return
        self._horizons[namespace] = horizon
        if horizon.is_immediate:
            _log.warning(
                "namespace %s retains no messages (looked up by topic %s): messages that no subscription keeps can be "
                "deleted before the query has read them; %s", namespace, partition.topic, self._advice(),
            )  # fmt: skip

    def _advice(self) -> str:
        if self._is_held:
            return "raise the namespace's retention, or its message TTL, after which messages of subscriptions expire"
        return (
            "set option subscriptionName, so that a subscription keeps the messages, or raise the retention"
        )


def _is_near(value: float | None, bound: float | None) -> bool:
    return value is not None and bound is not None and value > bound * _NEAR


def _text(lag: Lag) -> str:
    parts = (
        [] if lag.seconds is None else [f"{lag.seconds:.0f} s"],
        [] if lag.bytes is None else [f"{lag.bytes} bytes"],
    )
    return " or ".join(text for part in parts for text in part)
