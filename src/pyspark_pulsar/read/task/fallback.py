"""The entries of one piece of a split, from where it was planned to be read. Executor only.

A direct read (bookies, tiered storage) can fail for reasons that are none of the query's: a bookie dies, an object is
gone, a ledger is offloaded or deleted meanwhile. With `readFrom=auto` the broker, which knows where everything lies
now, gives the rest of the piece; if a copy in tiered storage fails, bookies are asked before it.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.errors import (
    ConnectionFailed,
    CorruptEntryError,
    DamagedCopy,
    DataLossError,
    DeadlineExceeded,
    LedgerUnavailable,
    OptionError,
    PrerequisiteMissing,
    PulsarError,
)
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import after_entry
from pyspark_pulsar.read.sources.bookkeeper import bookie_entries, compacted_entries
from pyspark_pulsar.read.sources.broker import BrokerEntries
from pyspark_pulsar.read.sources.contiguous import contiguous
from pyspark_pulsar.read.sources.offloaded import tiered_entries
from pyspark_pulsar.read.split import (
    FromBookies,
    FromBroker,
    FromCompactedLedger,
    FromTieredStorage,
    SplitRange,
)
from pyspark_pulsar.read.task.audit import SplitAudit
from pyspark_pulsar.read.task.ledger_deleted import check_lost, check_still_there
from pyspark_pulsar.read.task.replicas import Given, on_bookies
from pyspark_pulsar.topic import TopicPartition

# The last is about this executor, which may lack what the driver has.
_DIRECT_FAULTS = (LedgerUnavailable, ConnectionFailed, CorruptEntryError, OptionError, PrerequisiteMissing)

_log = logging.getLogger(__name__)

_ELSEWHERE = "%s: the rest of a piece, from %s up to %s, comes from %s, since reading it from %s failed: %s"


def range_entries(
    client: BrokerClient,
    options: ReadOptions,
    partition: TopicPartition,
    split_range: SplitRange,
    audit: SplitAudit,
    *,
    by_broker: bool = False,
) -> Generator[EntryBatch, None, None]:
    """Whole entries in order, each once, none outside the piece. The entries at its ends may hold messages outside it;
    pieces of one split meet between entries. `by_broker`: wherever it was planned to be read.

    Raises the errors of `BrokerEntries`, `DataLossError` for a ledger that was deleted meanwhile; with another
    `readFrom` than `auto` also the errors of the direct read. Close it when not all of it is wanted.
    """
    rest, fault = split_range, None
    if not by_broker and not isinstance(split_range.location, FromBroker):
        rest, fault = yield from _directly(options, partition, split_range, audit)
        if fault is None:
            return
        if options.read_from != "auto":
            check_lost(options, partition, rest, fault)
            audit.lose(rest)
            return
        bookies = on_bookies(options, partition, rest)
        if bookies is not None:
            _log.warning(
                _ELSEWHERE, partition, rest.start, rest.end, "bookies", split_range.location.name, fault
            )
            found = replace(rest, location=bookies)
            found, second = yield from _directly(options, partition, found, audit)
            if second is None:
                return
            rest = replace(found, location=split_range.location)
            _log.warning(_ELSEWHERE, partition, rest.start, rest.end, "the broker", "bookies", second)
        else:
            _log.warning(
                _ELSEWHERE, partition, rest.start, rest.end, "the broker", split_range.location.name, fault
            )
    yield from _by_broker(client, options, partition, rest, audit, fault)


def _directly(
    options: ReadOptions, partition: TopicPartition, split_range: SplitRange, audit: SplitAudit
) -> Generator[EntryBatch, None, tuple[SplitRange, PulsarError | None]]:
    """From where the piece says. Returns what is left of it, and why."""
    rest = split_range
    run = audit.begin(split_range)
    try:
        with closing(_direct(options, partition, split_range)) as source:
            for entries in source:
                # Compaction reads through the broker, which has left out what aborted transactions wrote.
                entries.unfiltered = not isinstance(split_range.location, FromCompactedLedger)
                run.receive(entries)
                entries.trim(rest.start.as_tuple(), rest.end.as_tuple())
                if entries.last is not None:
                    run.take(entries)
                    rest = replace(rest, start=after_entry(*entries.last))
                    yield entries
        run.end()
    except _DIRECT_FAULTS as fault:
        audit.give_way(rest.start, f"{type(fault).__name__}: {fault}")
        return rest, fault
    return rest, None


def _by_broker(
    client: BrokerClient,
    options: ReadOptions,
    partition: TopicPartition,
    split_range: SplitRange,
    audit: SplitAudit,
    fault: PulsarError | None,
) -> Generator[EntryBatch, None, None]:
    """All that the broker has of the piece, whose location says where it was planned to be read; `fault`: why it is not
    read there."""
    rest, first, given = split_range, None, Given(split_range)
    run = audit.begin(replace(split_range, location=FromBroker()))
    try:
        with closing(_broker_entries(client, options, partition, split_range)) as source:
            for entries in source:
                first = first or entries.first
                run.receive(entries)
                entries.trim(rest.start.as_tuple(), rest.end.as_tuple())
                if entries.last is not None:
                    run.take(entries)
                    given.take(entries)
                    rest = replace(rest, start=after_entry(*entries.last))
                    yield entries
    except DeadlineExceeded as late:
        if fault is None:
            raise
        raise DeadlineExceeded(
            f"{late}. The broker was asked since reading it from {split_range.location.name} failed: {fault}"
        ) from None
    run.end()
    if check_still_there(options, partition, split_range, rest, first, run.entries):
        run.lose()
    if isinstance(fault, DamagedCopy):
        given.check(partition)


def _direct(
    options: ReadOptions, partition: TopicPartition, split_range: SplitRange
) -> Generator[EntryBatch, None, None]:
    location = split_range.location
    match location:
        case FromBookies():
            source = bookie_entries(options, partition, split_range, location)
            return contiguous(source, partition, split_range, location.ledger)
        case FromTieredStorage():
            source = tiered_entries(partition, split_range, location)
            return contiguous(source, partition, split_range, location.ledger)
        case FromCompactedLedger():
            return compacted_entries(options, partition, location)
    raise LedgerUnavailable(
        f"{partition}: expected a location that this version reads from, got {location.name}"
    )


def _broker_entries(
    client: BrokerClient, options: ReadOptions, partition: TopicPartition, split_range: SplitRange
) -> Generator[EntryBatch, None, None]:
    entries = BrokerEntries(
        client,
        partition,
        split_range.start,
        split_range.end,
        permits=options.receiver_queue_size,
        poll_seconds=options.poll_timeout_ms / 1000,
        read_compacted=options.read_compacted,
        consumers=options.consumers_per_split,
    )
    try:
        yield from entries
    except DataLossError as loss:
        if options.fail_on_data_loss:
            raise
        _log.warning("%s. failOnDataLoss=false: the query goes on with what is left.", loss)
