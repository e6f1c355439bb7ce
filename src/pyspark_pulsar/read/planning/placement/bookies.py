"""Which bookies there are, where they listen, and which of them answer the driver. Driver only."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.bookkeeper.bookie_health import BOOKIE_HEALTH
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress, bookie_address
from pyspark_pulsar.client.bookkeeper.connection.channel import PLAIN, BookieSecurity
from pyspark_pulsar.client.bookkeeper.connection.connections import ConnectionLost
from pyspark_pulsar.client.bookkeeper.connection.directory import Directory, find_addresses
from pyspark_pulsar.client.bookkeeper.connection.probe import ask_bookies
from pyspark_pulsar.client.bookkeeper.connection.security import bookie_security
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import (
    ConnectionFailed,
    OptionError,
    PermissionDenied,
    ProtocolError,
    PulsarError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.read_from import AUTO, BOOKIE
from pyspark_pulsar.pages import page
from pyspark_pulsar.read.planning.ahead import Ahead
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_striping, is_cheap

_log: Final = logging.getLogger(__name__)

_MOST_WAIT_MS: Final = 1_000
_MOST_WAIT_FOR_TLS_MS: Final = 5_000
_UNTOLD: Final = (PermissionDenied, ConnectionFailed, ProtocolError, TopicNotFoundError)


@dataclass(frozen=True, slots=True)
class PresentBookies:
    """Those that brokers list, whatever is read."""

    ids: tuple[str, ...] = ()
    answers: Mapping[str, ConnectionLost | None] = field(default_factory=dict)
    """None of those that answer the driver; not of all. Those whose id is no address are called by their address."""


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
    ahead: Ahead[PresentBookies] | None = None,
) -> tuple[BookiesFound, dict[TopicPartition, TopicLedgers]]:
    """All bookies, and the ledgers with their striping, as far as this role may see them. `touched`: the ledgers that
    will be read, by id. `ahead`: `present_bookies`, where that was asked for already.

    Raises the errors of `AdminClient`, and with `readFrom=bookie` `OptionError` for a bookie whose address is not
    known, and why bookies refuse to be asked where none is left.
    """
    present, known = _told(options, admin, touched, known, ahead)
    bookies = present.ids
    directory = find_addresses(options, admin, bookies)
    names = tuple(directory.addresses.get(bookie, bookie) for bookie in bookies)
    known = {partition: _at_addresses(ledgers, directory) for partition, ledgers in known.items()}
    holders = _bookies_of(known.values())
    if options.read_from == BOOKIE:
        for bookie in holders:
            bookie_address(bookie, dict(options.bookie_addresses))
    up, notes = _answering(options, names, directory, holders, present)
    return BookiesFound(names, up, notes), known


def _told(
    options: ReadOptions,
    admin: AdminClient,
    touched: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    known: dict[TopicPartition, TopicLedgers],
    ahead: Ahead[PresentBookies] | None,
) -> tuple[PresentBookies, dict[TopicPartition, TopicLedgers]]:
    """All bookies, those that only ledgers name too, and the ledgers."""
    if ahead is None or not ahead.is_recent:
        ahead = Ahead(admin.begin(present_bookies, options, admin))
    # What is not told is found out by asking bookies; `auto` can do without all of it.
    bearable = _UNTOLD if options.read_from == AUTO else (PermissionDenied,)
    present, unlisted = PresentBookies(), None
    known, unstriped = _striped(admin, touched, known, bearable)
    try:
        present = ahead.answer.result()
    except bearable as fault:
        unlisted = fault
    if not present.ids and unstriped is None:
        costly = {one: pair for one, pair in touched.items() if pair[1] and not is_cheap(*pair)}
        known, unstriped = _striped(admin, costly, known, bearable, at_any_cost=True)
    refused = unlisted or unstriped
    if refused is not None and not isinstance(refused, PermissionDenied):
        _log.warning("where ledgers lie on bookies is not known in full: %s", refused)
    bookies = tuple(sorted({*present.ids, *_bookies_of(known.values())}))
    if options.read_from == BOOKIE and refused is not None and not bookies:
        raise refused
    return replace(present, ids=bookies), known


def _striped(
    admin: AdminClient,
    touched: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    known: dict[TopicPartition, TopicLedgers],
    bearable: tuple[type[PulsarError], ...],
    *,
    at_any_cost: bool = False,
) -> tuple[dict[TopicPartition, TopicLedgers], PulsarError | None]:
    """`known` with the striping of the `touched`, and why brokers do not tell some of it, as far as that is
    `bearable`."""
    fault = next((ledgers.striping_fault for ledgers, _ in touched.values() if ledgers.striping_fault), None)
    try:
        known = known | fetch_striping(admin, touched, at_any_cost=at_any_cost)
    except bearable as refused:
        fault = refused
    if fault is not None and not isinstance(fault, bearable):
        raise fault
    return known, fault


def present_bookies(options: ReadOptions, admin: AdminClient) -> PresentBookies:
    """What brokers list, and which of these answer the driver, as far as `find_bookies` wants to know. Raises the
    errors of `AdminClient`, and `OptionError` for files of certificates."""
    bookies = admin.bookies.ids()
    directory = find_addresses(options, admin, bookies)
    addresses = _addresses(options, (directory.addresses.get(bookie, bookie) for bookie in bookies))
    security = bookie_security(options)
    return PresentBookies(bookies, {} if _trusts(options, security) else _ask(options, addresses, security))


def _addresses(options: ReadOptions, bookies: Iterable[str]) -> dict[str, BookieAddress]:
    """Of those that have one."""
    addresses: dict[str, BookieAddress] = {}
    for bookie in bookies:
        with contextlib.suppress(OptionError):
            addresses[bookie] = bookie_address(bookie, dict(options.bookie_addresses))
    return addresses


def _trusts(options: ReadOptions, security: BookieSecurity) -> bool:
    """Nobody asks them before tasks do: there is nothing to refuse but a password, which the task is told."""
    return options.read_from == BOOKIE and security == PLAIN


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
    options: ReadOptions,
    bookies: tuple[str, ...],
    directory: Directory,
    holders: set[str],
    present: PresentBookies,
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Those that the driver can ask, and notes about the others. `holders` hold what is read; empty where that is not
    told. With `readFrom=bookie`, where none is left, raises why one was refused or refuses."""
    addresses = _addresses(options, bookies)
    security = bookie_security(options)
    if _trusts(options, security):
        return frozenset(addresses), ()
    rest = {bookie: address for bookie, address in addresses.items() if bookie not in present.answers}
    answers = {**present.answers, **_ask(options, rest, security)}
    up = frozenset(bookie for bookie, lost in answers.items() if lost is None)
    refused = {bookie: lost.fault for bookie, lost in answers.items() if lost is not None and lost.fault}
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
            f"them in bookieAddresses, or see {page('bookies', 'Names')}; ledgers that lie on them alone are "
            f"read from the broker"
        )
    down = [bookie for bookie in addresses if bookie not in up and bookie not in refused]
    if down:
        notes.append(
            f"bookies {', '.join(down)} do not answer the driver (option bookieAddresses says where a bookie listens): "
            f"ledgers that lie on them alone are read from the broker"
        )
    return up, tuple(notes)


def _ask(
    options: ReadOptions, addresses: Mapping[str, BookieAddress], security: BookieSecurity
) -> dict[str, ConnectionLost | None]:
    """None of those that answer; nothing of those in quarantine.

    A stream plans every few seconds: a bookie that did not answer is not waited for each time.
    """
    patience = _MOST_WAIT_MS if security == PLAIN else _MOST_WAIT_FOR_TLS_MS
    asked = {
        bookie: address for bookie, address in addresses.items() if not BOOKIE_HEALTH.is_quarantined(address)
    }
    lost = ask_bookies(asked, min(options.bookie_timeout_ms, patience) / 1000, security)
    for bookie, address in asked.items():
        if bookie not in lost:
            BOOKIE_HEALTH.has_answered(address)
        elif lost[bookie].fault is None:
            BOOKIE_HEALTH.quarantine(address)
    return {bookie: lost.get(bookie) for bookie in asked}
