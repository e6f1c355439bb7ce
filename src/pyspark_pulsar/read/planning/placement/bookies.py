"""The bookies of a cluster: their addresses, and which bookies answer the driver. Driver only."""

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
from pyspark_pulsar.client.bookkeeper.connection.probe import probe_bookies
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
from pyspark_pulsar.read.planning.early_request import EarlyRequest
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_striping, is_cheap

_log: Final = logging.getLogger(__name__)

_MOST_WAIT_MS: Final = 1_000
_MOST_WAIT_FOR_TLS_MS: Final = 5_000
_REFUSALS: Final = (PermissionDenied, ConnectionFailed, ProtocolError, TopicNotFoundError)


@dataclass(frozen=True, slots=True)
class PresentBookies:
    """The bookies that brokers list."""

    ids: tuple[str, ...] = ()
    answers: Mapping[str, ConnectionLost | None] = field(default_factory=dict)
    """The fault of each queried bookie, or None if the bookie answers the driver.

    A bookie is named by its known address if its id is not an address."""


@dataclass(frozen=True, slots=True)
class BookiesFound:
    """The bookies that the driver knows. A bookie is named by its known address if its id is not an address."""

    names: tuple[str, ...]
    """The names of all bookies."""
    up: frozenset[str]
    """The bookies that answer the driver."""
    notes: tuple[str, ...]
    """The reasons why the other bookies are not used. The tuple is empty unless `readFrom` is `auto`."""


def find_bookies(
    options: ReadOptions,
    admin: AdminClient,
    touched: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    known: dict[TopicPartition, TopicLedgers],
    ahead: EarlyRequest[PresentBookies] | None = None,
) -> tuple[BookiesFound, dict[TopicPartition, TopicLedgers]]:
    """Return all bookies, and the ledgers with their striping (the bookies of each entry), if this role may read both.

    Args:
        options: The options of the read.
        admin: The admin client.
        touched: The ledgers of each topic partition, and the ids of the ledgers to read.
        known: The ledgers to which the striping is added.
        ahead: An early request for `present_bookies`; None if no such request was sent.

    Raises:
        OptionError: With `readFrom=bookie`, the address of a bookie that stores these ledgers is unknown.
        PulsarError: For the same reasons as `AdminClient`. With `readFrom=bookie`, also the first refusal of a bookie,
            if no bookie answers.

    """
    present, known = _list_bookies(options, admin, touched, known, ahead)
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


def _list_bookies(
    options: ReadOptions,
    admin: AdminClient,
    touched: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    known: dict[TopicPartition, TopicLedgers],
    ahead: EarlyRequest[PresentBookies] | None,
) -> tuple[PresentBookies, dict[TopicPartition, TopicLedgers]]:
    """Return all bookies, even if only the striping names a bookie, and the ledgers with their striping."""
    if ahead is None or not ahead.is_recent:
        ahead = EarlyRequest(admin.begin(present_bookies, options, admin))
    # If this role may not read the brokers' lists, the answers of bookies are enough. With `auto`, no list is
    # necessary.
    tolerated = _REFUSALS if options.read_from == AUTO else (PermissionDenied,)
    present, unlisted = PresentBookies(), None
    known, unstriped = _striped(admin, touched, known, tolerated)
    try:
        present = ahead.answer.result()
    except tolerated as fault:
        unlisted = fault
    if not present.ids and unstriped is None:
        costly = {one: pair for one, pair in touched.items() if pair[1] and not is_cheap(*pair)}
        known, unstriped = _striped(admin, costly, known, tolerated, at_any_cost=True)
    refused = unlisted or unstriped
    if refused is not None and not isinstance(refused, PermissionDenied):
        _log.warning("The bookies of some ledgers are unknown: %s", refused)
    bookies = tuple(sorted({*present.ids, *_bookies_of(known.values())}))
    if options.read_from == BOOKIE and refused is not None and not bookies:
        raise refused
    return replace(present, ids=bookies), known


def _striped(
    admin: AdminClient,
    touched: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    known: dict[TopicPartition, TopicLedgers],
    tolerated: tuple[type[PulsarError], ...],
    *,
    at_any_cost: bool = False,
) -> tuple[dict[TopicPartition, TopicLedgers], PulsarError | None]:
    """Return `known` with the striping of the `touched` ledgers, and the error if brokers do not report all striping.

    An error that is not `tolerated` is raised.
    """
    fault = next((ledgers.striping_fault for ledgers, _ in touched.values() if ledgers.striping_fault), None)
    try:
        known = known | fetch_striping(admin, touched, at_any_cost=at_any_cost)
    except tolerated as refused:
        fault = refused
    if fault is not None and not isinstance(fault, tolerated):
        raise fault
    return known, fault


def present_bookies(options: ReadOptions, admin: AdminClient) -> PresentBookies:
    """Return the bookies that brokers list, and their answers to the driver if `find_bookies` needs the answers.

    The errors of `AdminClient` are raised, and `OptionError` for certificate files.
    """
    bookies = admin.bookies.ids()
    directory = find_addresses(options, admin, bookies)
    addresses = _addresses(options, (directory.addresses.get(bookie, bookie) for bookie in bookies))
    security = bookie_security(options)
    return PresentBookies(bookies, {} if _trusts(options, security) else _query(options, addresses, security))


def _addresses(options: ReadOptions, bookies: Iterable[str]) -> dict[str, BookieAddress]:
    """Return the addresses of bookies, without the bookies whose address is unknown."""
    addresses: dict[str, BookieAddress] = {}
    for bookie in bookies:
        with contextlib.suppress(OptionError):
            addresses[bookie] = bookie_address(bookie, dict(options.bookie_addresses))
    return addresses


def _trusts(options: ReadOptions, security: BookieSecurity) -> bool:
    """Return whether the driver uses bookies without querying them first.

    Without TLS and credentials, a bookie can refuse only because it requires a password. The task reports such a
    refusal.
    """
    return options.read_from == BOOKIE and security == PLAIN


def _at_addresses(ledgers: TopicLedgers, directory: Directory) -> TopicLedgers:
    """Replace bookie ids that are not addresses with known addresses, so that tasks do not look up the addresses."""
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
    """Return the bookies that answer the driver, and notes about the bookies that do not answer.

    Args:
        options: The options of the read.
        bookies: Ids or addresses of all bookies.
        directory: The addresses of bookies whose ids are not addresses.
        holders: The bookies that store the ledgers to read; empty if these bookies are unknown.
        present: The bookies that have already been queried, with their answers.

    Raises:
        PulsarError: With `readFrom=bookie`, no bookie answers. The error is the first refusal of a bookie.

    """
    addresses = _addresses(options, bookies)
    security = bookie_security(options)
    if _trusts(options, security):
        return frozenset(addresses), ()
    rest = {bookie: address for bookie, address in addresses.items() if bookie not in present.answers}
    answers = {**present.answers, **_query(options, rest, security)}
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
            f"the addresses of bookies {', '.join(sorted(nameless))} are unknown, and their ids are not addresses"
            f"{why}. Ledgers that only these bookies store are read from the broker; set the addresses in "
            f"bookieAddresses ({page('bookies', 'Bookie addresses')})"
        )
    down = [bookie for bookie in addresses if bookie not in up and bookie not in refused]
    if down:
        notes.append(
            f"bookies {', '.join(down)} do not answer the driver. Ledgers that only these bookies store are read "
            f"from the broker; if the bookies listen elsewhere, set bookieAddresses"
        )
    return up, tuple(notes)


def _query(
    options: ReadOptions, addresses: Mapping[str, BookieAddress], security: BookieSecurity
) -> dict[str, ConnectionLost | None]:
    """Return the fault of each bookie, or None if the bookie answers. Bookies in quarantine are not queried.

    A stream plans every few seconds, so a bookie that did not answer must not delay each plan.
    """
    timeout_ms = _MOST_WAIT_MS if security == PLAIN else _MOST_WAIT_FOR_TLS_MS
    queried = {
        bookie: address for bookie, address in addresses.items() if not BOOKIE_HEALTH.is_quarantined(address)
    }
    lost = probe_bookies(queried, min(options.bookie_timeout_ms, timeout_ms) / 1000, security)
    for bookie, address in queried.items():
        if bookie not in lost:
            BOOKIE_HEALTH.has_answered(address)
        elif lost[bookie].fault is None:
            BOOKIE_HEALTH.quarantine(address)
    return {bookie: lost.get(bookie) for bookie in queried}
