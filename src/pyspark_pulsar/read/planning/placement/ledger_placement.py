"""The location of each closed ledger, chosen by option `readFrom` and by which servers answer. Driver only."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.ledger import Ledger, LedgerMetadata
from pyspark_pulsar.errors import ConnectionFailed, LedgerUnavailable
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.read_from import AUTO, BOOKIE, BROKER, TIERED
from pyspark_pulsar.read.location import EntryLocation
from pyspark_pulsar.read.planning.early_request import EarlyRequest
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.placement.bookies import PresentBookies, find_bookies
from pyspark_pulsar.read.planning.placement.offloaded import TieredLedger, tiered_ledgers
from pyspark_pulsar.read.planning.placement.on_bookies import kept_by_bookies
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.compacted import FromCompactedLedger
from pyspark_pulsar.read.sources.offloaded import FromTieredStorage

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Placement:
    """The locations of ledgers that the driver has found."""

    read_from: str
    bookies: tuple[str, ...] = ()
    """The ids of all known bookies."""
    up: frozenset[str] = frozenset()
    """The bookies that answer the driver."""
    tiered: Mapping[tuple[TopicPartition, int], TieredLedger] = field(default_factory=dict)
    """The ledgers that can be read from tiered storage, by topic partition and ledger id."""
    kept: frozenset[int] = frozenset()
    """Ids of offloaded ledgers that are read from bookies because their copy cannot be read; empty unless `auto`."""
    notes: tuple[str, ...] = ()
    """The reasons why some bookies are not used; empty unless `readFrom` is `auto`."""

    def locate(
        self, partition: TopicPartition, ranges: Iterable[LedgerRange], known: TopicLedgers | None
    ) -> list[LedgerRange]:
        """Return the ranges with their locations. The ledger of each range is from `known`.

        A range in tiered storage is cut at the entries where a reader can start without fetching earlier entries. The
        errors of `location_of` are raised.
        """
        by_id = known.by_id() if known is not None else {}
        located: list[LedgerRange] = []
        for ledger_range in ranges:
            if ledger_range.ledger is not None and ledger_range.is_compacted:
                location = self._of_view(partition, ledger_range.ledger)
                located.append(replace(ledger_range, location=location))
                continue
            ledger = by_id.get(ledger_range.ledger.id) if ledger_range.ledger is not None else None
            if ledger is None:
                located.append(ledger_range)
                continue
            copy = self.tiered.get((partition, ledger.id))
            whole = replace(ledger_range, ledger=ledger, location=self.location_of(partition, ledger))
            located += [whole] if copy is None else whole.cut_at(copy.first_entries)
        return located

    def location_of(self, partition: TopicPartition, ledger: Ledger) -> EntryLocation:
        """Return the location of a ledger.

        Raise `LedgerUnavailable` if the ledger is not in the location of `readFrom`.
        """
        if ledger.is_open or self.read_from == BROKER:
            return FromBroker()
        copy = self.tiered.get((partition, ledger.id))
        if copy is not None:
            return FromTieredStorage(copy.ledger, copy.store)
        if self.read_from == TIERED:
            raise LedgerUnavailable(
                f"{partition}, ledger {ledger.id}: expected the ledger in tiered storage because of readFrom=tiered, "
                f"but it is not offloaded; offload it, or use readFrom=auto"
            )
        if self.read_from == BOOKIE or self._is_on_bookies(ledger):
            return FromBookies(ledger, self.bookies if ledger.metadata is None else ())
        return FromBroker()

    def _of_view(self, partition: TopicPartition, view: Ledger) -> EntryLocation:
        """Return the location of a compacted view.

        The view is always on bookies, but brokers do not report on which bookies.
        """
        if self.read_from == TIERED:
            raise LedgerUnavailable(
                f"{partition}: expected the compacted view in tiered storage because of readFrom=tiered, but it is "
                f"never offloaded; use readFrom=auto, or leave readCompacted out"
            )
        is_wanted = self.read_from == BOOKIE or (self.read_from == AUTO and bool(self.up))
        return FromCompactedLedger(view, self.bookies) if is_wanted else FromBroker()

    def _is_on_bookies(self, ledger: Ledger) -> bool:
        if ledger.offload_id is not None:
            return ledger.id in self.kept
        return self._is_served(ledger.metadata)

    def _is_served(self, striping: LedgerMetadata | None) -> bool:
        """Return whether bookies can return each entry. If the striping is unknown, return whether any bookie answers.

        If a task finds no replica, it continues at the broker.
        """
        if striping is None:
            return bool(self.up)
        # Checking entries with an HMAC digest needs the ledger's password, which brokers do not report.
        return striping.digest != "HMAC" and all(
            sum(bookie not in self.up for bookie in ensemble.bookies) < striping.write_quorum
            for ensemble in striping.ensembles
        )


def find_placement(
    options: ReadOptions,
    admin: AdminClient,
    touched: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    *,
    views: bool = False,
    ahead: EarlyRequest[PresentBookies] | None = None,
) -> tuple[Placement, dict[TopicPartition, TopicLedgers]]:
    """Return the locations of the `touched` ledgers, and all ledgers of their topic partitions.

    The returned ledgers contain their striping (the bookies of each entry) if brokers report the striping.

    If a request needs a superuser, its failure is tolerated where possible. With `readFrom=auto`, every failed request
    is tolerated.

    Args:
        options: The options of the read.
        admin: The admin client.
        touched: The ledgers of each topic partition, and the ids of the ledgers to read.
        views: Whether to find locations for compacted views, too.
        ahead: An early request for `present_bookies`; None if no such request was sent.

    Raises:
        OptionError: With `readFrom=bookie`, the address of a bookie that stores these ledgers is unknown.
        PulsarError: For the same reasons as `AdminClient` and `tiered_ledgers`.

    """
    known = {partition: ledgers for partition, (ledgers, _) in touched.items()}
    if options.read_from == BROKER:
        return Placement(BROKER), known
    chosen = {
        partition: [ledger for ledger in ledgers.ledgers if ledger.id in ids and not ledger.is_open]
        for partition, (ledgers, ids) in touched.items()
    }
    tiered = _find_tiered(options, admin, chosen)
    on_bookies = {
        partition: (
            known[partition],
            {ledger.id for ledger in ledgers if ledger.offload_id is None or options.read_from == BOOKIE},
        )
        for partition, ledgers in chosen.items()
    }
    bare = _without_copy(chosen, tiered) if options.read_from == AUTO else []
    if options.read_from == TIERED or not (views or bare or any(ids for _, ids in on_bookies.values())):
        return Placement(options.read_from, tiered=tiered), known
    bookies, known = find_bookies(options, admin, on_bookies, known, ahead)
    kept = kept_by_bookies(options, bare, bookies.up)
    return Placement(options.read_from, bookies.names, bookies.up, tiered, kept, bookies.notes), known


def _without_copy(
    chosen: Mapping[TopicPartition, Iterable[Ledger]],
    tiered: Mapping[tuple[TopicPartition, int], TieredLedger],
) -> list[tuple[TopicPartition, Ledger]]:
    return [
        (partition, ledger)
        for partition, ledgers in chosen.items()
        for ledger in ledgers
        if ledger.offload_id is not None and ledger.entries and (partition, ledger.id) not in tiered
    ]


def _find_tiered(
    options: ReadOptions, admin: AdminClient, chosen: Mapping[TopicPartition, Iterable[Ledger]]
) -> dict[tuple[TopicPartition, int], TieredLedger]:
    if options.read_from == BOOKIE:
        return {}
    try:
        return tiered_ledgers(options, admin, chosen)
    except ConnectionFailed as fault:
        if options.read_from != AUTO:
            raise
        _log.warning(
            "offloaded ledgers are not read from tiered storage: their location is unknown: %s", fault
        )
        return {}
