"""Which offloaded ledgers bookies still hold. Driver only.

After an offload they keep a ledger for as long as the policy says (`managedLedgerOffloadDeletionLagInMillis`); the
admin REST API does not tell when that is over. So they are asked for an entry.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.sources.bookkeeper import bookie_entries

_IN_A_ROW: Final = 256


def kept_by_bookies(
    options: ReadOptions, ledgers: Sequence[tuple[TopicPartition, Ledger]], bookies: Collection[str]
) -> frozenset[int]:
    """The ids of those `ledgers`, none of them empty, whose first entry one of these bookies gives. That they hold the
    others shows when they are read.

    The newest are asked for first; after many of which none is kept the older ones count as deleted, since ledgers are
    offloaded in their order.
    """
    known = tuple(sorted(bookies))
    if not known:
        return frozenset()
    newest = sorted(ledgers, key=lambda pair: pair[1].id, reverse=True)
    kept: set[int] = set()
    for start in range(0, len(newest), _IN_A_ROW):
        row = newest[start : start + _IN_A_ROW]
        answers = map_concurrently(lambda pair: _is_kept(options, pair[0], pair[1], known), row)
        kept_of_row = {ledger.id for (_, ledger), is_kept in zip(row, answers, strict=True) if is_kept}
        if not kept_of_row:
            break
        kept |= kept_of_row
    return frozenset(kept)


def _is_kept(
    options: ReadOptions, partition: TopicPartition, ledger: Ledger, bookies: tuple[str, ...]
) -> bool:
    bare = replace(ledger, metadata=None)
    try:
        return any(len(entries) > 0 for entries in bookie_entries(options, partition, bare, bookies, 0, 0))
    except PulsarError:
        return False
