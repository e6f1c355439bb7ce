"""Which bookies there are, where they listen, and which of them answer the driver. Driver only."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress, bookie_address
from pyspark_pulsar.client.bookkeeper.connection.channel import PLAIN, BookieSecurity
from pyspark_pulsar.client.bookkeeper.connection.directory import Directory, find_addresses
from pyspark_pulsar.client.bookkeeper.connection.probe import ask_bookies
from pyspark_pulsar.client.bookkeeper.connection.security import bookie_security
from pyspark_pulsar.client.bookkeeper.health import BOOKIE_HEALTH
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import (
    ConnectionFailed,
    OptionError,
    PermissionDenied,
    ProtocolError,
    PulsarError,
    TopicNotFoundError,
)
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_striping, is_cheap
from pyspark_pulsar.topic import TopicPartition

_log: Final = logging.getLogger(__name__)

AUTO: Final = "auto"
BOOKIE: Final = "bookie"
_MOST_WAIT_MS: Final = 1_000
_MOST_WAIT_FOR_TLS_MS: Final = 5_000
_UNTOLD: Final = (PermissionDenied, ConnectionFailed, ProtocolError, TopicNotFoundError)


@dataclass(frozen=True, slots=True)
class BookiesFound:
    """What the driver knows of bookies. Those whose id is no address are called by their address where it is known."""

    names: tuple[str, ...]
    """Of all."""
    up: frozenset[str]
    """Those that answer the driver."""
    notes: tuple[str, ...]
    """Why others are not asked; with `readFrom=auto` only."""


def find_bookies(
    options: ReadOptions,
    admin: AdminClient,
    touched: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    known: dict[TopicPartition, TopicLedgers],
) -> tuple[BookiesFound, dict[TopicPartition, TopicLedgers]]:
    """All bookies, and the ledgers with their striping, as far as this role may see them. `touched`: the ledgers that
    will be read, by id.

    Raises the errors of `AdminClient`, and with `readFrom=bookie` `OptionError` for a bookie whose address is not
    known, and why bookies refuse to be asked where none is left.
    """
    bookies, known = _told(options, admin, touched, known)
    directory = find_addresses(options, admin, bookies)
    names = tuple(directory.addresses.get(bookie, bookie) for bookie in bookies)
    known = {partition: _at_addresses(ledgers, directory) for partition, ledgers in known.items()}
    holders = _bookies_of(known.values())
    if options.read_from == BOOKIE:
        for bookie in holders:
            bookie_address(bookie, dict(options.bookie_addresses))
    up, notes = _answering(options, names, directory, holders)
    return BookiesFound(names, up, notes), known


def _told(
    options: ReadOptions,
    admin: AdminClient,
    touched: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    known: dict[TopicPartition, TopicLedgers],
) -> tuple[tuple[str, ...], dict[TopicPartition, TopicLedgers]]:
    """The ids of all bookies, and the ledgers."""
    listed: tuple[str, ...] = ()
    refused: PulsarError | None = None
    # What is not told is found out by asking bookies; `auto` can do without all of it.
    bearable = _UNTOLD if options.read_from == AUTO else (PermissionDenied,)
    with ThreadPoolExecutor(1, thread_name_prefix="pulsar-admin") as pool:
        striping = pool.submit(fetch_striping, admin, touched)
        try:
            listed = admin.bookies.ids()
        except bearable as fault:
            refused = fault
        try:
            known = striping.result()
            if not listed:
                costly = {one: pair for one, pair in touched.items() if pair[1] and not is_cheap(*pair)}
                known |= fetch_striping(admin, costly, at_any_cost=True)
        except bearable as fault:
            refused = refused or fault
    if refused is not None and not isinstance(refused, PermissionDenied):
        _log.warning("where ledgers lie on bookies is not known in full: %s", refused)
    bookies = tuple(sorted({*listed, *_bookies_of(known.values())}))
    if options.read_from == BOOKIE and refused is not None and not bookies:
        raise refused
    return bookies, known


def _at_addresses(ledgers: TopicLedgers, directory: Directory) -> TopicLedgers:
    """With addresses instead of ids that are none, as far as they are known: so tasks need not ask."""
    if not directory.addresses:
        return ledgers

    def at_addresses(ledger: Ledger) -> Ledger:
        if ledger.metadata is None:
            return ledger
        ensembles = (
            replace(
                ensemble,
                bookies=tuple(directory.addresses.get(bookie, bookie) for bookie in ensemble.bookies),
            )
            for ensemble in ledger.metadata.ensembles
        )
        return replace(ledger, metadata=replace(ledger.metadata, ensembles=tuple(ensembles)))

    return replace(ledgers, ledgers=tuple(map(at_addresses, ledgers.ledgers)))


def _bookies_of(known: Iterable[TopicLedgers]) -> set[str]:
    return {
        bookie
        for ledgers in known
        for ledger in ledgers.ledgers
        if ledger.metadata is not None
        for ensemble in ledger.metadata.ensembles
        for bookie in ensemble.bookies
    }


def _answering(
    options: ReadOptions, bookies: tuple[str, ...], directory: Directory, holders: set[str]
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Those that the driver can ask, and notes about the others. `holders` hold what is read; empty where that is not
    told. With `readFrom=bookie`, where none is left, raises why one was refused or refuses."""
    addresses: dict[str, BookieAddress] = {}
    for bookie in bookies:
        with contextlib.suppress(OptionError):
            addresses[bookie] = bookie_address(bookie, dict(options.bookie_addresses))
    security = bookie_security(options)
    if options.read_from == BOOKIE and security == PLAIN:
        # There is nothing to refuse but a password, which the task is told.
        return frozenset(addresses), ()
    patience = _MOST_WAIT_MS if security == PLAIN else _MOST_WAIT_FOR_TLS_MS
    up, refused = _asked(addresses, min(options.bookie_timeout_ms, patience) / 1000, security)
    first = next(iter(refused.values()), None)
    if options.read_from == BOOKIE:
        if first is not None and not up:
            raise first
        return up, ()
    notes = []
    if first is not None:
        notes.append(f"nothing is read from bookies {', '.join(refused)}: {first}")
    nameless = [bookie for bookie in holders or bookies if bookie not in addresses]
    if nameless:
        why = "" if directory.fault is None else f" ({directory.fault})"
        notes.append(
            f"nobody says where bookies {', '.join(sorted(nameless))} listen, whose ids are no addresses{why}: name "
            f"them in bookieAddresses, or see docs/bookies.md, Names; ledgers that lie on them alone are read from the "
            f"broker"
        )
    down = [bookie for bookie in addresses if bookie not in up and bookie not in refused]
    if down:
        notes.append(
            f"bookies {', '.join(down)} do not answer the driver (option bookieAddresses says where a bookie listens): "
            f"ledgers that lie on them alone are read from the broker"
        )
    return up, tuple(notes)


def _asked(
    addresses: Mapping[str, BookieAddress], seconds: float, security: BookieSecurity
) -> tuple[frozenset[str], dict[str, PulsarError]]:
    """Those that answer, and why those that were refused, or that refuse.

    A stream plans every few seconds: a bookie that did not answer is not waited for each time.
    """
    asked = {
        bookie: address for bookie, address in addresses.items() if not BOOKIE_HEALTH.is_quarantined(address)
    }
    lost = ask_bookies(asked, seconds, security)
    for bookie, address in asked.items():
        if bookie not in lost:
            BOOKIE_HEALTH.has_answered(address)
        elif lost[bookie].fault is None:
            BOOKIE_HEALTH.quarantine(address)
    refused = {bookie: event.fault for bookie, event in lost.items() if event.fault is not None}
    return frozenset(asked) - lost.keys(), refused
