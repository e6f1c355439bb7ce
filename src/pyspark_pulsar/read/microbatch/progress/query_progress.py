"""A stream's work besides reading: moving the subscription, and measuring and logging the lag.

Driver only, once per trigger.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.microbatch.progress.lag import Lag, LagReport, LagWatch, is_at_end
from pyspark_pulsar.read.microbatch.progress.retention import RetentionWatch
from pyspark_pulsar.read.microbatch.progress.subscription import SubscriptionCursors
from pyspark_pulsar.read.planning.ledgers.known_ledgers import KnownLedgers
from pyspark_pulsar.read.sources.peek import FirstEntry, first_entries_once, first_entry
from pyspark_pulsar.runtime import time
from pyspark_pulsar.spark.logging import PROGRESS_LOG

LOG_SECONDS: Final = 60.0
_BRIEF_MS: Final = 2_000

_log: Final = logging.getLogger(PROGRESS_LOG)


class QueryProgress:
    """The subscription, the lag and the retention of a running query. Used by one thread."""

    def __init__(self, options: ReadOptions, client: BrokerClient, ledgers: KnownLedgers) -> None:
        """Store the arguments. The caller closes the client. `ledgers` belongs to the planner of the same query."""
        self._client = client
        self._ledgers = ledgers
        self._admin = admin = _brief_admin(options)
        name = options.subscription_name
        self._cursors = (
            SubscriptionCursors(
                client, name, self._has_messages, is_replicated=options.replicate_subscription_state
            )
            if name
            else None
        )
        self._lag = LagWatch(self._first_entries, self._listed_ledgers, options.lag_interval_ms / 1000)
        self._retention = RetentionWatch(admin, is_held=name is not None) if admin is not None else None
        self._log = ProgressLog(counts=admin is not None)

    def begin(self, committed: Positions, ends: Positions, counted_from: Positions) -> dict[str, Any]:
        """Move the subscription to the query's position and measure the lag, before a micro-batch is planned.

        Args:
            committed: Spark has committed the messages before these positions.
            ends: The query will read the messages before these positions. All existing partitions are in `ends`.
            counted_from: The lag counts messages from these positions on. These positions are usually equal to
                `committed`. In a run that ends by itself, these positions are the end of this micro-batch.

        Returns:
            The lag as JSON. A value that cannot be measured is None. A failed measurement never fails the query.

        Raises:
            PulsarError: For the same reasons as `SubscriptionCursors.follow`.

        """
        if self._cursors is not None:
            self._cursors.follow(
                {partition: committed[partition] for partition in ends if partition in committed}
            )
        looked_up = None
        if self._admin is not None and self._retention is not None:
            looked_up = self._admin.begin(self._retention.look_up, list(ends))
        report = self._lag.measure(counted_from, ends)
        if looked_up is not None and self._retention is not None:
            looked_up.result()
            self._retention.warn(report)
        if report.lags or is_at_end(committed, ends):
            self._log.log(report)
        return report.to_json()

    def commit(self, committed: Mapping[TopicPartition, Position]) -> None:
        """Acknowledge the messages before `committed`, because Spark has committed them."""
        if self._cursors is not None:
            self._cursors.acknowledge(committed)

    def retained_from(self, partitions: Collection[TopicPartition]) -> Positions:
        """Return, for each partition, the position after which the query's subscription retains all messages.

        Without a subscription, the result is empty. Raises the errors of `SubscriptionCursors.positions`.
        """
        return {} if self._cursors is None or not partitions else self._cursors.positions(partitions)

    def close(self) -> None:
        """Close the consumers of the subscription, which remains in Pulsar."""
        if self._cursors is not None:
            self._cursors.close()
        if self._admin is not None:
            self._admin.close()

    def _first_entries(
        self, starts: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, FirstEntry | None]:
        """Look up the first entries in one attempt, because a trigger waits for them.

        Ledgers are listed at the same time.
        """
        self._ledgers.list_ahead(starts)
        entries = first_entries_once(self._client, list(starts.items()))
        return {partition: entries[partition, start] for partition, start in starts.items()}

    def _listed_ledgers(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, tuple[Ledger, ...] | None]:
        try:
            known = self._ledgers.listed_ahead(partitions, _BRIEF_MS / 1000)
        except PermissionDenied:
            return dict.fromkeys(partitions)
        return {
            partition: known[partition].ledgers if partition in known else None for partition in partitions
        }

    def _has_messages(self, partition: TopicPartition, start: Position, end: Position) -> bool:
        try:
            first = first_entry(self._client, partition, start)
        except ConnectionFailed:
            return False
        return first is not None and first.position < end


class ProgressLog:
    """A log with at most one line a minute while a query lags, and one line when the lag ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, counts: bool) -> None:
        """Store the arguments.

        `counts` is true if `admin.url` is set, so that the messages of any range can be counted.
        """
        self._clock, self._counts = clock, counts
        self._next = clock()
        self._was_lagging = False

    def log(self, report: LagReport) -> None:
        """Log a line about the report if the last line is a minute old, or if the lag has ended."""
        if not report.lags:
            if self._was_lagging:
                self._was_lagging = False
                _log.info("the query has read all messages of its topics")
            return
        if self._clock() < self._next:
            return
        self._next = self._clock() + LOG_SECONDS
        self._was_lagging = True
        worst = max(report.lags, key=lambda partition: report.lags[partition].seconds or 0.0)
        _log.info(
            "the query lags in %s%s; the oldest message is %s, in %s",
            _number(len(report.lags), "topic partition"),
            self._counted(report.lags.values()),
            _age(report.lags[worst].seconds),
            worst,
        )

    def _counted(self, lags: Collection[Lag]) -> str:
        """Return a text with the total of the counted partitions. Later triggers count the remaining partitions."""
        counted = [lag for lag in lags if lag.messages is not None]
        if not counted:
            why = "counted at the next triggers" if self._counts else "not counted without admin.url"
            return f", whose messages are {why}"
        text = f": about {_number(sum(lag.messages or 0 for lag in counted), 'message')}"
        if all(lag.bytes is not None for lag in counted):
            text += f", {_number(sum(lag.bytes or 0 for lag in counted), 'byte')}"
        rest = len(lags) - len(counted)
        return f"{text}, and {_number(rest, 'partition')} not counted yet" if rest else text


def _number(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _brief_admin(options: ReadOptions) -> AdminClient | None:
    """Return an admin client with a short time limit, because its answers are only displayed."""
    if options.admin_url is None:
        return None
    brief = replace(
        options,
        operation_timeout_ms=min(_BRIEF_MS, options.operation_timeout_ms),
        connection_timeout_ms=min(_BRIEF_MS, options.connection_timeout_ms),
    )
    return AdminClient(brief)


def _age(seconds: float | None) -> str:
    return "of unknown age" if seconds is None else f"{seconds:.0f} s old"
