"""The offloaded ledgers that can be read from tiered storage, and the first entries of their blocks. Driver only.

The driver checks each copy before it makes splits. A copy may be in a location that the policy no longer names, or may
need credentials that the query does not have. A copy may also lack entries, although the broker reports it as complete.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.policy import TieredStore, find_tiered_store
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import LedgerUnavailable, PrerequisiteMissing, TieredStorageUnavailable
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.sources.offloaded import open_copy

_log: Final = logging.getLogger(__name__)
# With `auto` a query can use other locations, so it waits for tiered storage for a shorter time.
_AUTO_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class TieredLedger:
    """A ledger that can be read from tiered storage."""

    ledger: Ledger
    store: TieredStore
    first_entries: tuple[int, ...]
    """The entries at which a reader can begin without fetching earlier entries; sorted, the first is 0."""


def tiered_ledgers(
    options: ReadOptions, admin: RestClient | None, ledgers: Mapping[TopicPartition, Iterable[Ledger]]
) -> dict[tuple[TopicPartition, int], TieredLedger]:
    """Return the offloaded ledgers that can be read from tiered storage, by topic partition and ledger id.

    With `readFrom=auto`, ledgers that cannot be read from tiered storage are left out. A warning contains their number
    and one of the reasons.

    Raises:
        LedgerUnavailable: With `readFrom=tiered`, an offloaded ledger cannot be read.
        PrerequisiteMissing: With `readFrom=tiered`, a package for the storage is not installed.
        OptionError: The options of the storage are wrong.
        PulsarError: For the same reasons as `admin`.

    """
    must = options.read_from == "tiered"
    readable: dict[tuple[TopicPartition, int], TieredLedger] = {}
    topics = _by_topic(ledgers)
    stores = map_concurrently(lambda topic: find_tiered_store(options, admin, topic), topics)
    for (topic, offloaded), store in zip(topics.items(), stores, strict=True):
        if store is None:
            if must:
                raise LedgerUnavailable(
                    f"{topic}: expected the location of its offloaded ledgers, but neither tieredStorageUrl nor an "
                    f"offload policy that this role can read (admin.url) contains the location; set tieredStorageUrl, "
                    f"or use readFrom=auto"
                )
            continue
        timeout = store.patience_seconds if must else min(store.patience_seconds, _AUTO_SECONDS)
        answers = _open_all(store, timeout, offloaded)
        faults = [answer for answer in answers if isinstance(answer, Exception)]
        if faults and must:
            raise faults[0]
        if faults:
            _log.warning(
                "%s: %d of %d offloaded ledgers are not read from tiered storage: %s",
                topic, len(faults), len(offloaded), faults[0],
            )  # fmt: skip
        readable |= {
            (partition, ledger.id): answer
            for (partition, ledger), answer in zip(offloaded, answers, strict=True)
            if isinstance(answer, TieredLedger)
        }
    return readable


def _by_topic(
    partitions: Mapping[TopicPartition, Iterable[Ledger]],
) -> dict[TopicName, list[tuple[TopicPartition, Ledger]]]:
    topics: dict[TopicName, list[tuple[TopicPartition, Ledger]]] = {}
    for partition, ledgers in partitions.items():
        offloaded = [(partition, ledger) for ledger in ledgers if ledger.offload_id and not ledger.is_open]
        if offloaded:
            topics.setdefault(partition.topic, []).extend(offloaded)
    return topics


def _open_all(
    store: TieredStore, timeout: float, offloaded: list[tuple[TopicPartition, Ledger]]
) -> list[TieredLedger | LedgerUnavailable | PrerequisiteMissing]:
    first = _open(store, timeout, *offloaded[0])
    # A fault of the store itself affects all ledgers, so the other ledgers are not tried.
    if isinstance(first, (TieredStorageUnavailable, PrerequisiteMissing)):
        return [first] * len(offloaded)
    return [first, *map_concurrently(lambda pair: _open(store, timeout, *pair), offloaded[1:])]


def _open(
    store: TieredStore, timeout: float, partition: TopicPartition, ledger: Ledger
) -> TieredLedger | LedgerUnavailable | PrerequisiteMissing:
    try:
        copy = open_copy(replace(store, patience_seconds=timeout), partition, ledger)
        copy.check()
    except (LedgerUnavailable, PrerequisiteMissing) as fault:
        return fault
    firsts = sorted({max(entry, 0) for entry, _ in copy.index.blocks})
    return TieredLedger(ledger, store, tuple(firsts))
