"""The positions up to which topics are tiered, and the remaining work. Driver only.

This module reads the lists of ledgers and files, and no entries or rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.tier_note import TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.faults import catalog_settings, topic_fault
from pyspark_pulsar.history.tiering.ledgers.retention_use import WARNING_SHARE, retention_policy, used_share
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topics import discover_partitions
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_ledgers
from pyspark_pulsar.read.planning.tables.known_tables import check_same_topic
from pyspark_pulsar.read.planning.tables.topic_notes import check_note, fetch_note
from pyspark_pulsar.runtime import time


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """The status of one topic partition."""

    partition: TopicPartition
    end: Position
    """The position (exclusive) up to which the partition is tiered; `EARLIEST` if no message is tiered."""
    untiered_ledgers: int
    """The number of closed ledgers with entries that are not tiered yet."""
    untiered_bytes: int
    """The stored bytes of the ledgers that are not tiered, including the open ledger."""
    lag_seconds: float
    """The seconds since the first ledger that is not tiered was closed; 0 if all closed ledgers are tiered."""
    lost: tuple[tuple[Position, Position], ...] = ()
    retention_used: float | None = None
    """The used share of retention, from `retention_use.used_share`."""


@dataclass(frozen=True, slots=True)
class TierStatus:
    """The status of one topic."""

    topic: TopicName
    table: str
    format: str | None
    """The format of the table, `iceberg` or `delta`; None if the topic has no table."""
    files: int = 0
    rows: int = 0
    size: int = 0
    """The total size of the files in bytes."""
    small_files: int = 0
    """The number of files that are smaller than half the largest file size."""
    partitions: tuple[PartitionStatus, ...] = ()
    fault: str | None = None
    """The reason why the status is incomplete, or why tiering of the topic fails. None means no fault."""

    @property
    def untiered_ledgers(self) -> int:
        return sum(partition.untiered_ledgers for partition in self.partitions)

    @property
    def untiered_bytes(self) -> int:
        return sum(partition.untiered_bytes for partition in self.partitions)

    @property
    def lag_seconds(self) -> float:
        return max((partition.lag_seconds for partition in self.partitions), default=0.0)

    @property
    def retention_used(self) -> float | None:
        """Return the largest used share of retention of all topic partitions, or None if all shares are unknown."""
        return max(
            (one.retention_used for one in self.partitions if one.retention_used is not None), default=None
        )

    @property
    def warning(self) -> str | None:
        """Return a warning that retention may soon remove ledgers that are not tiered.

        Returns:
            The warning. The result is None if the used share is below `WARNING_SHARE`, or is unknown.

        """
        used = self.retention_used
        if used is None or used < WARNING_SHARE:
            return None
        return (
            f"{self.topic}: {used:.0%} of retention has passed for the first of {self.untiered_ledgers} ledgers that "
            f"are not tiered yet ({self.untiered_bytes} bytes). Messages that retention removes before they are tiered "
            f"are lost; tier the topic, or set a longer retention"
        )


def tier_status(options: ReadOptions, topics: Sequence[TopicName]) -> list[TierStatus]:
    """Return the status of each topic, in the order of the topics. Errors of one topic are in `TierStatus.fault`.

    Raises:
        OptionError: The options do not locate the tables.
        PrerequisiteMissing: The library for the format is not installed.
        ConnectionFailed: The broker cannot be reached.

    """
    tables = TopicTables(options)
    with BrokerClient.for_planning(options) as client, AdminClient.for_planning(options) as admin:
        settings = catalog_settings(options)
        return [_topic_status(client, admin, tables, settings, topic.without_partition()) for topic in topics]


def _topic_status(
    client: BrokerClient,
    admin: AdminClient,
    tables: TopicTables,
    settings: Mapping[str, str],
    topic: TopicName,
) -> TierStatus:
    """Return the status of a topic. Secrets in the settings of the catalog are removed from errors."""
    name = tables.identifier(topic)
    table: ColumnarTable | None = None
    try:
        # The note is read before the table, so the table is at least as new as the note.
        note, table = fetch_note(admin, topic), tables.load(topic)
        check_note(topic, note, tables, table)
        partitions = discover_partitions(client, [topic])
        ledgers = fetch_ledgers(admin, partitions)
        policy = retention_policy(admin, topic)
        statuses = tuple(
            _partition_status(partition, ledgers[partition], table, note, policy) for partition in partitions
        )
        files = () if table is None else table.files()
    except Exception as fault:  # noqa: BLE001 - a topic's fault must not hide the status of other topics
        named = topic_fault(str(topic), fault, settings)
        return TierStatus(topic, name, None if table is None else table.format, fault=str(named))
    if table is None:
        return TierStatus(topic, name, None, partitions=statuses)
    half = table.file_bytes // 2
    return TierStatus(
        topic,
        name,
        table.format,
        len(files),
        sum(file.rows for file in files),
        sum(file.size for file in files),
        sum(file.size < half for file in files),
        statuses,
    )


def _partition_status(
    partition: TopicPartition,
    ledgers: TopicLedgers,
    table: ColumnarTable | None,
    note: TierNote | None,
    policy: Mapping[str, int],
) -> PartitionStatus:
    """Return the status of a topic partition. Raises `TierMismatch`."""
    tiered = None if table is None else table.positions.get(partition)
    if table is not None and tiered is not None:
        check_same_topic(partition, tiered, (f"table {table.name}", table.id), ledgers, lambda: note)
    end = EARLIEST if tiered is None else tiered.end
    rest = [
        ledger for ledger in ledgers.ledgers if ledger.entries and Position(ledger.id, ledger.entries) > end
    ]
    closed = [ledger for ledger in rest if not ledger.is_open]
    since = min((ledger.closed_ms or 0 for ledger in closed), default=0)
    size, seconds = (
        sum(ledger.size for ledger in rest),
        max(0.0, time.time() - since / 1000) if since else 0.0,
    )
    lost = () if tiered is None else tiered.lost
    return PartitionStatus(
        partition, end, len(closed), size, seconds, lost, used_share(policy, seconds, size)
    )


def status_rows(known: Sequence[TierStatus]) -> list[dict[str, Any]]:
    """Return one row for each topic partition. A topic without a status of its partitions has one row."""
    return [
        {
            "topic": str(topic.topic),
            "table": topic.table,
            "format": topic.format,
            "partition": None if partition is None else partition.partition.index,
            "end": None if partition is None else str(partition.end),
            "ledgers_behind": None if partition is None else partition.untiered_ledgers,
            "bytes_behind": None if partition is None else partition.untiered_bytes,
            "seconds_behind": None if partition is None else round(partition.lag_seconds, 3),
            "retention_used": None if partition is None else partition.retention_used,
            "lost": [] if partition is None else [f"{start} to {end}" for start, end in partition.lost],
            "rows": topic.rows,
            "files": topic.files,
            "bytes": topic.size,
            "small_files": topic.small_files,
            "fault": topic.fault,
        }
        for topic in known
        for partition in topic.partitions or (None,)
    ]
