"""How far topics are tiered, and what is left to do. Driver only; opens no ledger and no data file."""

from __future__ import annotations

import time
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


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """Of one topic partition."""

    partition: TopicPartition
    end: Position
    """Up to where (exclusive) it is tiered; `EARLIEST` if nothing is."""
    ledgers_behind: int
    """Closed ledgers with entries that are not tiered."""
    bytes_behind: int
    """Their stored bytes, and those of the open ledger."""
    seconds_behind: float
    """How long the first of them has been closed; 0 where none is."""
    lost: tuple[tuple[Position, Position], ...] = ()
    retention_used: float | None = None
    """As `retention.used_share`."""


@dataclass(frozen=True, slots=True)
class TierStatus:
    """Of one topic."""

    topic: TopicName
    table: str
    format: str | None
    """None where there is no table."""
    files: int = 0
    rows: int = 0
    size: int = 0
    """Bytes of the files."""
    small_files: int = 0
    """Files that are less than half as large as they may get."""
    partitions: tuple[PartitionStatus, ...] = ()
    fault: str | None = None
    """Why nothing more can be said, or why tiering fails."""

    @property
    def ledgers_behind(self) -> int:
        return sum(partition.ledgers_behind for partition in self.partitions)

    @property
    def bytes_behind(self) -> int:
        return sum(partition.bytes_behind for partition in self.partitions)

    @property
    def seconds_behind(self) -> float:
        return max((partition.seconds_behind for partition in self.partitions), default=0.0)

    @property
    def retention_used(self) -> float | None:
        """The largest of its topic partitions; None where none is known."""
        return max(
            (one.retention_used for one in self.partitions if one.retention_used is not None), default=None
        )

    @property
    def warning(self) -> str | None:
        """What to do before retention removes what is not tiered; None while there is enough time."""
        used = self.retention_used
        if used is None or used < WARNING_SHARE:
            return None
        return (
            f"{self.topic}: {used:.0%} of retention has passed for the first of {self.ledgers_behind} ledgers that are "
            f"not tiered yet ({self.bytes_behind} bytes); what retention removes before it is tiered is lost. Tier the "
            f"topic, or let retention be longer"
        )


def tier_status(options: ReadOptions, topics: Sequence[TopicName]) -> list[TierStatus]:
    """Of each topic, in their order. What fails of one is told as its `fault`. Raises `OptionError`,
    `PrerequisiteMissing`, `ConnectionFailed`."""
    tables = TopicTables(options)
    with BrokerClient.for_planning(options) as client, AdminClient.for_planning(options) as admin:
        settings = catalog_settings(options)
        return [_status(client, admin, tables, settings, topic.without_partition()) for topic in topics]


def _status(
    client: BrokerClient,
    admin: AdminClient,
    tables: TopicTables,
    settings: Mapping[str, str],
    topic: TopicName,
) -> TierStatus:
    """`settings`: those of the catalog."""
    name = tables.identifier(topic)
    table: ColumnarTable | None = None
    try:
        # The table is loaded after the note is read, so it is not behind it.
        note, table = fetch_note(admin, topic), tables.load(topic)
        check_note(topic, note, tables, table)
        partitions = discover_partitions(client, [topic])
        ledgers = fetch_ledgers(admin, partitions)
        policy = retention_policy(admin, topic)
        behind = tuple(
            _partition(partition, ledgers[partition], table, note, policy) for partition in partitions
        )
        files = () if table is None else table.files()
    except Exception as fault:  # noqa: BLE001 - the state of other topics is told all the same
        named = topic_fault(str(topic), fault, settings)
        return TierStatus(topic, name, None if table is None else table.format, fault=str(named))
    if table is None:
        return TierStatus(topic, name, None, partitions=behind)
    half = table.file_bytes // 2
    return TierStatus(
        topic,
        name,
        table.format,
        len(files),
        sum(file.rows for file in files),
        sum(file.size for file in files),
        sum(file.size < half for file in files),
        behind,
    )


def _partition(
    partition: TopicPartition,
    ledgers: TopicLedgers,
    table: ColumnarTable | None,
    note: TierNote | None,
    policy: Mapping[str, int],
) -> PartitionStatus:
    """Raises `TierMismatch`."""
    tiered = None if table is None else table.positions.of(partition)
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
    """One for each topic partition; one for a topic of which nothing more can be said."""
    return [
        {
            "topic": str(topic.topic),
            "table": topic.table,
            "format": topic.format,
            "partition": None if partition is None else partition.partition.index,
            "end": None if partition is None else str(partition.end),
            "ledgers_behind": None if partition is None else partition.ledgers_behind,
            "bytes_behind": None if partition is None else partition.bytes_behind,
            "seconds_behind": None if partition is None else round(partition.seconds_behind, 3),
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
