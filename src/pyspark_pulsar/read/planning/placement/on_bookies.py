"""Detection of offloaded ledgers that bookies still store. Driver only.

After an offload, bookies keep a ledger for the duration of a policy (`managedLedgerOffloadDeletionLagInMillis`). The
admin REST API does not report when bookies delete the ledger. So the driver requests an entry from the bookies.
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

_ROW_LENGTH: Final = 256


def kept_by_bookies(
    options: ReadOptions, ledgers: Sequence[tuple[TopicPartition, Ledger]], bookies: Collection[str]
) -> frozenset[int]:
    """Return the ids of those `ledgers` whose first entry is returned by one of these bookies. No ledger may be empty.

    Only the read itself shows whether the bookies store the other entries, too. The newest ledgers are tried first, in
    groups. If no ledger of a group is stored, all older ledgers are treated as deleted, because ledgers are offloaded
    in order.
    """
    known = tuple(sorted(bookies))
    if not known:
        return frozenset()
    newest = sorted(ledgers, key=lambda pair: pair[1].id, reverse=True)
    kept: set[int] = set()
    for start in range(0, len(newest), _ROW_LENGTH):
        row = newest[start : start + _ROW_LENGTH]
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
