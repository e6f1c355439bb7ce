"""The step `look` of a round. The step finds the complete ledgers of a topic that are not tiered yet."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import partial

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.transaction_buffer import readable_end
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.history.columnar.positions import TieredPartition
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.tier_note import TierNote
from pyspark_pulsar.history.tiering.ledgers.complete_ledgers import CompletePart, complete_part
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.topics import discover_partitions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.planning.ledgers.data_loss import is_cut_off, retention_ms
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_ledgers
from pyspark_pulsar.read.planning.tables.known_tables import check_same_topic
from pyspark_pulsar.runtime import time


def complete_parts(
    client: BrokerClient,
    admin: AdminClient,
    options: ReadOptions,
    topic: TopicName,
    table: ColumnarTable,
    note: TierNote | None,
    held: Mapping[TopicPartition, int],
    round_bytes: int,
) -> tuple[dict[TopicPartition, CompletePart], dict[TopicPartition, TopicLedgers]]:
    """Return two mappings by topic partition: the part to tier in this round, and the present ledgers.

    Args:
        client: Finds the ends of the topic partitions. The caller closes the client.
        admin: Lists the ledgers of the topic partitions. The caller closes the client.
        options: The options of the round.
        topic: The topic that is tiered.
        table: The table in its present state.
        note: The topic's note, or None if the topic has no note.
        held: The id of the first ledger with an incomplete chunked message, by topic partition. This ledger is not
            tiered.
        round_bytes: The approximate limit on the size of each part, in stored bytes.

    Raises:
        DataLossError: Ledgers were removed before they were tiered.
        TierMismatch: The table belongs to another topic, or has lost rows.
        PulsarError: The errors of `LogEnds.ends` and `fetch_ledgers`.

    """
    partitions = discover_partitions(client, [topic])
    with closing(LogEnds(client)) as log_ends:
        # A later round tiers the messages that open transactions hide now.
        ends = log_ends.ends(partitions, is_repeated=True)
    ledgers = fetch_ledgers(admin, partitions)
    positions, parts = table.positions, {}
    for partition in partitions:
        tiered = positions.get(partition)
        if tiered is not None:
            present, location = ledgers[partition], (f"table {table.name}", table.id)
            check_same_topic(partition, tiered, location, present, lambda: note)
            if note is not None and options.fail_on_data_loss and is_cut_off(tiered.end, present):
                _check_end(admin, partition, tiered, present, note)
        part = complete_part(
            partition,
            ledgers[partition],
            tiered,
            _readable_end(admin, partition, ledgers[partition], ends[partition]),
            time.time_ns() // 1_000_000,
            max_bytes=round_bytes,
            before=held.get(partition),
            kept_ms=partial(retention_ms, admin, partition),
            fail=options.fail_on_data_loss,
        )
        if part is not None:
            parts[partition] = part
    return parts, ledgers


def has_left_over(
    table: ColumnarTable,
    parts: Mapping[TopicPartition, CompletePart],
    ledgers: Mapping[TopicPartition, TopicLedgers],
) -> bool:
    """Return whether, after this round, some closed ledger with entries is not tiered."""
    for partition, present in ledgers.items():
        tiered = parts[partition].tiered if partition in parts else table.positions.get(partition)
        end = EARLIEST if tiered is None else tiered.end
        for ledger in present.ledgers:
            if not ledger.is_open and ledger.entries and Position(ledger.id, ledger.entries) > end:
                return True
    return False


def requests_of(parts: Mapping[TopicPartition, CompletePart]) -> list[RangeRequest]:
    """Return the ranges of the nonempty parts, for a planner."""
    return [
        RangeRequest(partition, part.start, part.tiered.end, is_whole=True)
        for partition, part in sorted(parts.items())
        if not part.is_empty
    ]


def _check_end(
    admin: AdminClient,
    partition: TopicPartition,
    tiered: TieredPartition,
    present: TopicLedgers,
    note: TierNote,
) -> None:
    """Raise `TierMismatch` if the table was restored to an earlier state, and lacks messages of removed ledgers."""
    kept_ms = partial(retention_ms, admin, partition)
    if not tiered.is_outlived(present.ledgers[0].id, time.time_ns() // 1_000_000, kept_ms):
        note.check_end(partition, tiered)


def _readable_end(
    admin: AdminClient, partition: TopicPartition, present: TopicLedgers, end: Position
) -> Position:
    """Return the end of the visible messages of a topic partition, for comparison with closed ledgers.

    `end` is the position after the last visible message. Markers and aborted messages can follow this message in closed
    ledgers. The result is after these hidden entries.
    """
    closed = [ledger for ledger in present.ledgers if not ledger.is_open and ledger.entries]
    if not closed or Position(closed[-1].id, closed[-1].entries) <= end:
        return end
    return max(end, readable_end(admin, partition) or end)
