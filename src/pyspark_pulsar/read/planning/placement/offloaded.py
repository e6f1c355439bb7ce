"""Which offloaded ledgers can be read from tiered storage, and where their blocks begin. Driver only.

Asked before splits are made, since a copy may lie in a place that the policy no longer names, lack entries although
the broker calls it complete, or need credentials that the query does not have.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.policy import TieredStore, tiered_store
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import LedgerUnavailable, PrerequisiteMissing, TieredStorageUnavailable
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.sources.offloaded import open_copy

_log: Final = logging.getLogger(__name__)
# A query that can do without tiered storage does not wait for it as long as one that cannot.
_AUTO_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class TieredLedger:
    """A ledger that can be read from tiered storage."""

    ledger: Ledger
    store: TieredStore
    first_entries: tuple[int, ...]
    """In order, beginning with 0: entries at which a reader can begin without fetching what lies before."""


def tiered_ledgers(
    options: ReadOptions, admin: RestClient | None, ledgers: Mapping[TopicPartition, Iterable[Ledger]]
) -> dict[tuple[TopicPartition, int], TieredLedger]:
    """Those of the `ledgers` that are offloaded and can be read there; the key holds the ledger's id.

    With `readFrom=tiered`, an offloaded ledger that cannot is an error: `LedgerUnavailable`, `PrerequisiteMissing`.
    With `auto`, it is left out, and a warning says how many and why. Raises `OptionError` and the errors of `admin`.
    """
    must = options.read_from == "tiered"
    readable: dict[tuple[TopicPartition, int], TieredLedger] = {}
    topics = _by_topic(ledgers)
    stores = map_concurrently(lambda topic: tiered_store(options, admin, topic), topics)
    for (topic, offloaded), store in zip(topics.items(), stores, strict=True):
        if store is None:
            if must:
                raise LedgerUnavailable(
                    f"{topic}: expected to learn where its ledgers are offloaded to, but neither tieredStorageUrl nor "
                    f"an offload policy that this role may see (admin.url) says it; give tieredStorageUrl, or use "
                    f"readFrom=auto"
                )
            continue
        patience = store.patience_seconds if must else min(store.patience_seconds, _AUTO_SECONDS)
        answers = _open_all(store, patience, offloaded)
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
    store: TieredStore, patience: float, offloaded: list[tuple[TopicPartition, Ledger]]
) -> list[TieredLedger | LedgerUnavailable | PrerequisiteMissing]:
    first = _open(store, patience, *offloaded[0])
    # What is about the store itself is not asked again for each ledger.
    if isinstance(first, (TieredStorageUnavailable, PrerequisiteMissing)):
        return [first] * len(offloaded)
    return [first, *map_concurrently(lambda pair: _open(store, patience, *pair), offloaded[1:])]


def _open(
    store: TieredStore, patience: float, partition: TopicPartition, ledger: Ledger
) -> TieredLedger | LedgerUnavailable | PrerequisiteMissing:
    try:
        copy = open_copy(replace(store, patience_seconds=patience), partition, ledger)
        copy.check()
    except (LedgerUnavailable, PrerequisiteMissing) as fault:
        return fault
    firsts = sorted({max(entry, 0) for entry, _ in copy.index.blocks})
    return TieredLedger(ledger, store, tuple(firsts))
