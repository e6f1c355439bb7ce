"""Checks of bookies and tiered storage, because queries read directly from both. The checks run on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress, bookie_address
from pyspark_pulsar.client.bookkeeper.connection.directory import find_addresses
from pyspark_pulsar.client.bookkeeper.connection.probe import probe_bookies
from pyspark_pulsar.client.bookkeeper.connection.security import bookie_security
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.object_store import open_stored_bytes
from pyspark_pulsar.client.offload.policy import TieredStore, find_tiered_store
from pyspark_pulsar.errors import LedgerUnavailable, OptionError, PulsarError, TieredStorageUnavailable
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import fetch_ledgers
from pyspark_pulsar.read.sources.offloaded import open_copy
from pyspark_pulsar.tools.doctor.finding import (
    FAULT,
    NOT_ASKED,
    OK,
    WARNING,
    Finding,
    State,
    check,
    count_of,
    from_error,
)

_SECONDS: Final = 5.0
_OPEN: Final = (
    "open the bookies' port to this machine and to all executors, or set bookieAddresses to the addresses where they "
    "listen, or set readFrom=broker"
)
_LISTING: Final = (
    "use a role with superuser permissions, or set bookieAddresses; until then, bookies are found only through the "
    "ledgers of topics"
)
_PROBE: Final = "pyspark-pulsar-doctor"
"""The key of an object that does not exist. A store that can be read answers that the object is missing."""


def bookies(
    options: ReadOptions, admin: AdminClient | None, partitions: Sequence[TopicPartition]
) -> tuple[list[Finding], list[BookieAddress]]:
    """Check the bookies.

    Returns:
        A tuple: the findings, and the addresses of all known bookies.

    """
    named = dict(options.bookie_addresses)
    state: State = FAULT if options.read_from == "bookie" else WARNING
    if admin is None and not named:
        return [Finding("bookies", NOT_ASKED, "without the admin REST API, their addresses are unknown")], []
    findings: list[Finding] = []
    ids: set[str] = set(named)
    if admin is not None:
        try:
            ids = {*admin.bookies.ids()}
            findings.append(Finding("right to list bookies", OK, f"granted; {count_of(len(ids), 'bookie')}"))
        except PulsarError as fault:
            findings.append(from_error("right to list bookies", fault, WARNING, _LISTING))
            ids |= _find_by_ledgers(admin, partitions)
    known = {} if admin is None else find_addresses(options, admin, ids).addresses
    addresses: dict[str, BookieAddress] = {}
    for bookie in sorted(ids):
        try:
            addresses[bookie] = bookie_address(known.get(bookie, bookie), named)
        except OptionError as fault:
            findings.append(from_error(f"bookie {bookie}", fault, state))
    try:
        lost = probe_bookies(
            addresses, min(_SECONDS, options.bookie_timeout_ms / 1000), bookie_security(options)
        )
    except PulsarError as fault:
        return [*findings, from_error("bookies", fault, state)], list(addresses.values())
    for bookie, address in addresses.items():
        subject = f"bookie {address}"
        event = lost.get(bookie)
        if event is None:
            findings.append(Finding(subject, OK, "answers a read"))
        elif event.fault is not None:
            findings.append(
                from_error(subject, event.fault, state, "" if "; " in str(event.fault) else _OPEN)
            )
        else:
            findings.append(Finding(subject, state, event.reason, _OPEN))
    return findings, list(addresses.values())


def _find_by_ledgers(admin: AdminClient, partitions: Sequence[TopicPartition]) -> set[str]:
    """Return the ids of the bookies of the topics' ledgers.

    A topic is skipped if this role is not allowed to read the topic's stats.
    """
    found: set[str] = set()
    for partition in partitions:
        try:
            stats = admin.topics.internal_stats(partition, metadata=True)
        except PulsarError:
            continue
        for ledger in stats.get("ledgers") or ():
            found |= set(_bookie_ids(str(ledger.get("metadata") or "")))
    return found


def _bookie_ids(metadata: str) -> list[str]:
    from pyspark_pulsar.client.admin.ledger_metadata import parse_ledger_metadata

    parsed = parse_ledger_metadata(metadata)
    if parsed is None:
        return []
    return [bookie for ensemble in parsed.ensembles for bookie in ensemble.bookies]


def tiered_storage(
    options: ReadOptions, admin: AdminClient | None, partitions: Sequence[TopicPartition]
) -> Iterator[Finding]:
    """Check each store to which topics are offloaded."""
    state: State = FAULT if options.read_from == "tiered" else WARNING
    seen: set[str] = set()
    refused = False
    for partition in partitions:
        try:
            store = find_tiered_store(options, admin, partition.topic)
        except PulsarError as fault:
            refused = True
            yield from_error(f"tiered storage of {partition.topic}", fault, state)
            continue
        if store is None or store.url in seen:
            continue
        seen.add(store.url)
        ledger = None if admin is None else _offloaded(admin, partition)
        yield check(f"tiered storage {store.url}", partial(_open, store, partition, ledger), state)
    if not partitions:
        yield Finding("tiered storage", NOT_ASKED, "no topic is known, so no offloaded ledger either")
    elif seen or refused:
        return
    elif admin is None:
        yield Finding(
            "tiered storage", NOT_ASKED, "without the admin REST API, offloaded ledgers are unknown"
        )
    else:
        yield Finding(
            "tiered storage",
            OK,
            "none is configured in tieredStorageUrl, or in an offload policy that this role may read",
        )


def _offloaded(admin: AdminClient, partition: TopicPartition) -> Ledger | None:
    try:
        ledgers = fetch_ledgers(admin, [partition])[partition].ledgers
    except PulsarError:
        return None
    return next((each for each in ledgers if each.offload_id and not each.is_open), None)


def _open(store: TieredStore, partition: TopicPartition, ledger: Ledger | None) -> str:
    if ledger is not None:
        open_copy(store, partition, ledger).check()
        return f"the copy of ledger {ledger.id} can be read"
    try:
        open_stored_bytes(store).size(_PROBE, f"checking whether {store.url} can be read")
    except TieredStorageUnavailable:
        raise
    except LedgerUnavailable:
        pass
    return "answers; these topics have no ledger there yet"
