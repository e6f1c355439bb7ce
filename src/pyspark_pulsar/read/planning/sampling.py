"""How many messages an entry holds: nobody counts it, so a few entries are asked for and looked at. Driver only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.planning.ledger_range import LedgerRange
from pyspark_pulsar.topic import TopicPartition

_MOST_ENTRIES: Final = 48
_MOST_OF_ONE: Final = 4
_TAKE_SECONDS: Final = 1.0


def entry_records(
    client: BrokerClient, found: Mapping[TopicPartition, Sequence[LedgerRange]]
) -> dict[TopicPartition, float]:
    """Messages per entry, at least 1, of each topic partition: the most that some of its entries hold.

    The broker is asked for at most 48 entries in all; partitions of which none came get the mean of the others.
    """
    wanted = [partition for partition, parts in found.items() if parts]
    each = max(1, min(_MOST_OF_ONE, _MOST_ENTRIES // max(1, len(wanted))))
    step = max(1, -(-len(wanted) // _MOST_ENTRIES))
    sampled: dict[TopicPartition, float] = {}
    for asked in wanted[::step]:
        counts = [_messages_at(client, asked, position) for position in _positions(found[asked], each)]
        if any(counts):
            sampled[asked] = float(max(filter(None, counts)))
    mean = sum(sampled.values()) / len(sampled) if sampled else 1.0
    return {partition: sampled.get(partition, mean) for partition in wanted}


def _positions(parts: Sequence[LedgerRange], number: int) -> list[Position]:
    """Evenly over the stretches: in the middle of each that is chosen."""
    chosen = [parts[len(parts) * index // number] for index in range(min(number, len(parts)))]
    if len(chosen) == 1 and number > 1:
        return [part.start for part in chosen[0].cut(number)]
    return [part.cut(2)[-1].start for part in chosen]


def _messages_at(client: BrokerClient, asked: TopicPartition, position: Position) -> int | None:
    """Messages in the first entry at `position` or behind it; None when none comes."""
    return client.retrying(partial(_one_entry, client, asked, position))


def _one_entry(client: BrokerClient, asked: TopicPartition, position: Position) -> int | None:
    consumer = subscribe(client, asked.name, Position(position.ledger, position.entry))
    try:
        consumer.add_permits(1)
        entries = consumer.take(_TAKE_SECONDS)
    finally:
        consumer.close()
    if entries is None or len(entries) == 0:
        return None
    return -(-entries.num_messages // len(entries))
