"""Estimation of the number of messages per entry, from a few fetched entries. Driver only.

The list of ledgers contains the number of entries, but not the number of messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.sources.peek import first_entry

_MOST_ENTRIES: Final = 48
_MOST_PER_PARTITION: Final = 4


def entry_records(
    client: BrokerClient, ranges: Mapping[TopicPartition, Sequence[LedgerRange]]
) -> dict[TopicPartition, float]:
    """Return, for each topic partition, the maximum number of messages in some of its entries; at least 1.

    At most 48 entries are fetched from the broker in total. If no entry of a partition was fetched, the partition gets
    the mean of the other partitions' results.
    """
    filled = [partition for partition, ledger_ranges in ranges.items() if ledger_ranges]
    per_partition = max(1, min(_MOST_PER_PARTITION, _MOST_ENTRIES // max(1, len(filled))))
    step = max(1, -(-len(filled) // _MOST_ENTRIES))
    sampled: dict[TopicPartition, float] = {}
    for partition in filled[::step]:
        counts = [
            _messages_at(client, partition, position)
            for position in _positions(ranges[partition], per_partition)
        ]
        if any(counts):
            sampled[partition] = float(max(filter(None, counts)))
    mean = sum(sampled.values()) / len(sampled) if sampled else 1.0
    return {partition: sampled.get(partition, mean) for partition in filled}


def _positions(ranges: Sequence[LedgerRange], number: int) -> list[Position]:
    """Return evenly spread positions: one in the middle of each chosen ledger range."""
    chosen = [ranges[len(ranges) * index // number] for index in range(min(number, len(ranges)))]
    if len(chosen) == 1 and number > 1:
        return [part.start for part in chosen[0].cut(number)]
    return [part.cut(2)[-1].start for part in chosen]


def _messages_at(client: BrokerClient, partition: TopicPartition, position: Position) -> int | None:
    """Return the number of messages in the first entry at or after `position`, or None if no entry arrives."""
    at_entry = Position(position.ledger, position.entry)
    entry = client.retrying(partial(first_entry, client, partition, at_entry))
    return None if entry is None else entry.messages
