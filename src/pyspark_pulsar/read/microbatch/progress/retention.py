"""How far behind a stream may fall before Pulsar may delete what it has not read. Driver only.

Without a subscription, only retention keeps messages. With one, they are kept until they are acknowledged, which a
message TTL does for the subscription when its time is over; from then on retention keeps them.
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
_FOR_EVER: Final = -1

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Horizon:
    """What lies farther back than this may be deleted; None is no bound."""

    seconds: float | None = None
    bytes: int | None = None

    @property
    def is_immediate(self) -> bool:
        return self.seconds == 0 or self.bytes == 0

    def is_near(self, lag: Lag) -> bool:
        """Whether a reader has fallen back half of the way."""
        return _is_near(lag.seconds, self.seconds) or _is_near(lag.bytes, self.bytes)

    def __str__(self) -> str:
        parts = [] if self.seconds is None else [f"{self.seconds:.0f} s"]
        return " or ".join([*parts, *([] if self.bytes is None else [f"{self.bytes} bytes"])]) or "no bound"


def horizon_of(retention: Any, ttl_seconds: Any, *, is_held: bool) -> Horizon:
    """From the answers of the admin REST API about a topic: its effective retention and message TTL.

    `is_held`: whether a subscription stands where the query does.
    """
    policy = retention if isinstance(retention, dict) else {}
    minutes, megabytes = policy.get("retentionTimeInMinutes", 0), policy.get("retentionSizeInMB", 0)
    if is_held:
        if not isinstance(ttl_seconds, int) or ttl_seconds <= 0 or minutes == _FOR_EVER:
            return Horizon()
        return Horizon(ttl_seconds + 60.0 * minutes)
    if 0 in (minutes, megabytes):
        # Pulsar keeps nothing as soon as one of them is 0.
        return Horizon(0.0, 0)
    return Horizon(
        None if minutes == _FOR_EVER else 60.0 * minutes, None if megabytes == _FOR_EVER else megabytes << 20
    )


class RetentionWatch:
    """Asks once for each namespace, of one of its topics; says nothing, and asks no more, where it may not ask."""

    def __init__(self, admin: AdminClient, *, is_held: bool) -> None:
        self._admin = admin
        self._is_held = is_held
        self._horizons: dict[Namespace, Horizon] = {}
        self._warned: set[TopicPartition] = set()
        self._may_ask = True

    def ask(self, partitions: Iterable[TopicPartition]) -> None:
        """Of all that `warn` is told of; logs at first sight of a namespace that it keeps nothing."""
        # Brokers tell no policies of scalable topics where they tell those of others.
        for partition in partitions:
            if not partition.is_segment and partition.topic.namespace not in self._horizons:
                self._ask_for(partition)

    def warn(self, report: LagReport) -> None:
        """Log each topic partition that has fallen half of the way back to where messages may be deleted."""
        for partition, lag in report.lags.items():
            if partition.is_segment:
                continue
            horizon = self._horizons[partition.topic.namespace]
            if not horizon.is_near(lag):
                self._warned.discard(partition)
            elif partition not in self._warned and not horizon.is_immediate:
                self._warned.add(partition)
                _log.warning(
                    "%s: the query is %s behind, and what is more than %s behind may be deleted before it is read; "
                    "%s", partition, _text(lag), horizon, self._advice(),
                )  # fmt: skip

    def _ask_for(self, partition: TopicPartition) -> None:
        namespace = partition.topic.namespace
        self._horizons[namespace] = Horizon()
        if not self._may_ask:
            return
        try:
            horizon = horizon_of(
                self._admin.policies.applied(partition.topic, "retention"),
                self._admin.policies.applied(partition.topic, "messageTTL"),
                is_held=self._is_held,
            )
        except PulsarError as fault:
            _log.info("the retention of %s is not known: %s", namespace, fault)
            self._may_ask = isinstance(fault, TopicNotFoundError)
            return
        self._horizons[namespace] = horizon
        if horizon.is_immediate:
            _log.warning(
                "namespace %s retains no messages (asked of topic %s): what no subscription keeps may be deleted "
                "before the query has read it; %s", namespace, partition.topic, self._advice(),
            )  # fmt: skip

    def _advice(self) -> str:
        if self._is_held:
            return "the namespace's message TTL expires messages for subscriptions, too: raise it, or its retention"
        return (
            "give the query a subscription that keeps them (option subscriptionName), or raise the retention"
        )


def _is_near(value: float | None, bound: float | None) -> bool:
    return value is not None and bound is not None and value > bound * _NEAR


def _text(lag: Lag) -> str:
    parts = (
        [] if lag.seconds is None else [f"{lag.seconds:.0f} s"],
        [] if lag.bytes is None else [f"{lag.bytes} bytes"],
    )
    return " or ".join(text for part in parts for text in part)
