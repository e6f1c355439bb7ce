"""Where each closed ledger is read from: what `readFrom` asks for, and what can be reached. Driver only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyspark_pulsar.client.admin import AdminClient
from pyspark_pulsar.client.ledger import Ledger, Striping
from pyspark_pulsar.client.reach import reachable
from pyspark_pulsar.errors import LedgerUnavailable, PermissionDenied
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.ledgers import TopicLedgers, fetch_striping
from pyspark_pulsar.read.split import FromBookies, FromBroker, Location
from pyspark_pulsar.read.stretch import Stretch
from pyspark_pulsar.topic import TopicPartition

AUTO: Final = "auto"
BROKER: Final = "broker"
BOOKIE: Final = "bookie"
TIERED: Final = "tiered"
_MOST_CONNECT_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Places:
    """What the driver knows of the places that ledgers can be read from."""

    read_from: str
    bookies: tuple[str, ...] = ()
    """The ids of all bookies that are known."""
    up: frozenset[str] = frozenset()
    """Those that take connections; asked for `auto` only."""

    def locate(
        self, partition: TopicPartition, parts: Iterable[Stretch], known: TopicLedgers | None
    ) -> list[Stretch]:
        """The stretches with their locations, and their ledgers as `known` has them. Raises what `of` raises."""
        by_id = known.by_id() if known is not None else {}
        return [
            replace(each, ledger=by_id[number], location=self.of(partition, by_id[number]))
            if each.ledger is not None and (number := each.ledger.ledger) in by_id
            else each
            for each in parts
        ]

    def of(self, partition: TopicPartition, ledger: Ledger) -> Location:
        """Raises `LedgerUnavailable` for a closed ledger that does not lie where `readFrom` says."""
        if ledger.is_open or self.read_from == BROKER:
            return FromBroker()
        if self.read_from == TIERED:
            raise LedgerUnavailable(
                f"{partition}, ledger {ledger.ledger}: expected it in tiered storage, as readFrom=tiered says, but it "
                f"is not offloaded; offload it, or use readFrom=auto"
            )
        if self.read_from == BOOKIE or (ledger.offload_id is None and self._is_served(ledger.striping)):
            return FromBookies(ledger, self.bookies if ledger.striping is None else ())
        return FromBroker()

    def _is_served(self, striping: Striping | None) -> bool:
        """Whether a bookie is up for each entry. Where the striping is not known, whether any is: a task that finds
        no replica goes on at the broker."""
        if striping is None:
            return bool(self.up)
        # Such entries can only be checked with the ledger's password, which brokers tell nobody.
        return striping.digest != "HMAC" and all(
            sum(bookie not in self.up for bookie in ensemble.bookies) < striping.write_quorum
            for ensemble in striping.ensembles
        )


def find_places(
    options: ReadOptions, admin: AdminClient, wanted: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]]
) -> tuple[Places, dict[TopicPartition, TopicLedgers]]:
    """Where the `wanted` ledgers, given by id, can be read from; and all ledgers, now with what is known of their
    striping. Raises the errors of `AdminClient`; what only a superuser may ask for is done without."""
    known = {partition: ledgers for partition, (ledgers, _) in wanted.items()}
    if options.read_from in (BROKER, TIERED):
        return Places(options.read_from), known
    on_bookies = {
        partition: (
            ledgers,
            {each.ledger for each in ledgers.ledgers if each.ledger in ids and _is_on_bookies(options, each)},
        )
        for partition, (ledgers, ids) in wanted.items()
    }
    if not any(ids for _, ids in on_bookies.values()):
        return Places(options.read_from), known
    listed: tuple[str, ...] = ()
    refused: PermissionDenied | None = None
    try:
        listed = admin.bookies()
    except PermissionDenied as fault:
        refused = fault
    # A right that is missing for it: then striping stays unknown, and is found out by asking bookies.
    with contextlib.suppress(PermissionDenied):
        known = fetch_striping(admin, on_bookies, at_any_cost=not listed)
    bookies = tuple(sorted({*listed, *_bookies_of(known.values())}))
    if options.read_from == BOOKIE and refused is not None and not bookies:
        raise refused
    up = _up(options, bookies) if options.read_from == AUTO else frozenset[str]()
    return Places(options.read_from, bookies, up), known


def _is_on_bookies(options: ReadOptions, ledger: Ledger) -> bool:
    return not ledger.is_open and (ledger.offload_id is None or options.read_from == BOOKIE)


def _bookies_of(known: Iterable[TopicLedgers]) -> set[str]:
    return {
        bookie
        for ledgers in known
        for ledger in ledgers.ledgers
        if ledger.striping is not None
        for ensemble in ledger.striping.ensembles
        for bookie in ensemble.bookies
    }


def _up(options: ReadOptions, bookies: tuple[str, ...]) -> frozenset[str]:
    addresses = dict(options.bookie_addresses)
    by_id = {bookie: addresses.get(bookie, bookie) for bookie in bookies}
    seconds = min(options.bookie_timeout_ms, _MOST_CONNECT_MS) / 1000
    answering = reachable(by_id.values(), seconds)
    return frozenset(bookie for bookie, address in by_id.items() if address in answering)
