"""Which offloaded ledgers bookies still hold. Driver only.

After an offload they keep a ledger for as long as the policy says (`managedLedgerOffloadDeletionLagInMillis`); the
admin REST API does not tell when that is over. So they are asked for an entry.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.message_id import Position
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.locations.bookie import bookie_entries
from pyspark_pulsar.read.split import FromBookies, Piece
from pyspark_pulsar.topic import TopicPartition

_AT_ONCE: Final = 16


def kept_by_bookies(
    options: ReadOptions, ledgers: Sequence[tuple[TopicPartition, Ledger]], bookies: Collection[str]
) -> frozenset[int]:
    """The ids of those `ledgers`, none of them empty, whose first entry one of these bookies gives. That they hold the
    others shows when they are read."""
    if not ledgers or not bookies:
        return frozenset()
    asked = tuple(sorted(bookies))
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pulsar-bookies") as pool:
        answers = pool.map(lambda each: _is_kept(options, each[0], each[1], asked), ledgers)
        return frozenset(ledger.ledger for (_, ledger), kept in zip(ledgers, answers, strict=True) if kept)


def _is_kept(
    options: ReadOptions, partition: TopicPartition, ledger: Ledger, bookies: tuple[str, ...]
) -> bool:
    location = FromBookies(replace(ledger, striping=None), bookies)
    first = Piece(Position(ledger.ledger, 0), Position(ledger.ledger, 1), location)
    try:
        return any(len(entries) > 0 for entries in bookie_entries(options, partition, first, location))
    except PulsarError:
        return False
