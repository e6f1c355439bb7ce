"""A list of the ledgers of topic partitions, for users.

For each ledger, the list contains the location, and the reader that a query would use for the ledger. This module runs
on the driver only, and does not open ledgers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.policy import TieredStore, find_tiered_store
from pyspark_pulsar.errors import (
    ColumnsUnavailable,
    DataLossError,
    LedgerUnavailable,
    OptionError,
    PermissionDenied,
)
from pyspark_pulsar.inspect.table_parts import TablePart, table_parts
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.batch.batch_plan import BatchPlan, plan_batch
from pyspark_pulsar.read.bounds.timestamps import resolve_windows, span_of_window
from pyspark_pulsar.read.bounds.topics import discover_partitions, discover_topics
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_ledgers, fetch_striping
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan
from pyspark_pulsar.read.split import SplitRange

OPEN, CLOSED, COMPACTED = "open", "closed", "compacted"
EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Segment:
    """A ledger of a topic partition, or the ledger of the partition's compacted view.

    Attributes:
        state: The state `open` or `closed`, or `compacted` for the ledger of the compacted view.
        copy: The URL of the ledger's copy in tiered storage; None if no copy exists or the URL is unknown.
        reader: `broker`, `bookie`, `tiered`, `columns` or `compacted`; None if the query would not read the ledger.
        skipped: The reason why the query would not read the ledger; None if the query would read the ledger, or if the
            query has no plan.

    """

    partition: TopicPartition
    ledger: Ledger
    state: str
    copy: str | None = None
    reader: str | None = None
    skipped: str | None = None

    @property
    def storage(self) -> str:
        """Return the kind of storage: `tiered`, `bookie` or `compacted`. A compacted ledger is on bookies too."""
        if self.state == COMPACTED:
            return COMPACTED
        return "tiered" if self.ledger.offload_id else "bookie"

    @property
    def bookies(self) -> tuple[str, ...]:
        """Return the ids of all bookies in the ledger's ensembles. The result is empty if the ensembles are unknown."""
        striping = self.ledger.metadata
        bookies = (
            (bookie for ensemble in striping.ensembles for bookie in ensemble.bookies) if striping else ()
        )
        return tuple(dict.fromkeys(bookies))


@dataclass(frozen=True, slots=True)
class Survey:
    """The ledgers of all topics that a query reads.

    Attributes:
        segments: The ledgers, in the order of topic partitions and ledgers.
        fault: The reason why the query would fail; None if the query would not fail. With a fault, no segment has a
            reader.
        tables: The content of the topics' tables, in the order of topic partitions.

    """

    segments: tuple[Segment, ...]
    fault: str | None = None
    tables: tuple[TablePart, ...] = ()


def survey(options: ReadOptions) -> Survey:
    """Return the present ledgers, with the reader that a batch with these options would use for each ledger.

    If ledgers were removed or cannot be read with these options, `Survey.fault` contains the reason.

    Raises:
        OptionError: The option `admin.url` is not set.
        PermissionDenied: The admin REST API refuses the request.
        PulsarError: The errors of `plan_batch`.

    """
    if options.admin_url is None:
        raise OptionError(
            "option 'admin.url' is missing: expected the address of the admin REST API, because only it lists the "
            "ledgers; set admin.url"
        )
    plan, fault = BatchPlan((), ()), None
    try:
        plan = plan_batch(options, fails_fast=True)
    except (LedgerUnavailable, ColumnsUnavailable, DataLossError) as unreadable:
        fault = str(unreadable)
    plans = {partition_plan.partition: partition_plan for partition_plan in plan.partitions}
    with AdminClient.for_planning(options) as admin:
        partitions = list(plans) or _partitions(options)
        _check_ledgers(partitions)
        known = _ledgers(admin, partitions, plans)
        stores = _stores(options, admin, known)
    windows = resolve_windows(options, partitions)
    return Survey(
        tuple(
            segment
            for partition in sorted(known)
            for segment in segments_of(
                options,
                partition,
                known[partition],
                plans.get(partition),
                windows[partition],
                stores.get(partition.topic),
            )
        ),
        fault,
        table_parts(options, partitions, plans),
    )


def segments_of(
    options: ReadOptions,
    partition: TopicPartition,
    known: TopicLedgers,
    plan: PartitionPlan | None,
    window: TimeWindow,
    store: TieredStore | None = None,
) -> list[Segment]:
    """Return the ledgers of a topic partition. If `plan` is None, the readers of the ledgers are unknown."""
    ranges = [] if plan is None else [split_range for split in plan.splits for split_range in split.ranges]
    segments: list[Segment] = []
    for ledger in known.ledgers:
        reader = reader_of(ledger, ranges)
        skipped = None
        if plan is not None and reader is None:
            skipped = why_skipped(ledger, known, plan, window, options.clock_slack_ms)
        copy = _copy(partition, ledger, ranges, store)
        segments.append(Segment(partition, ledger, OPEN if ledger.is_open else CLOSED, copy, reader, skipped))
    if known.compacted is not None:
        used = any(split_range.location.ledger_id == known.compacted.id for split_range in ranges)
        skipped = None if used or plan is None else _why_no_compacted(options)
        reader = COMPACTED if used else None
        segments.append(Segment(partition, known.compacted, COMPACTED, reader=reader, skipped=skipped))
    return segments


def reader_of(ledger: Ledger, ranges: Iterable[SplitRange]) -> str | None:
    """Return the reader of the first range with entries of the ledger, or None if no range has such entries."""
    for split_range in ranges:
        if split_range.location.gives(ledger, split_range.start, split_range.end):
            return split_range.location.name
    return None


def why_skipped(
    ledger: Ledger, known: TopicLedgers, plan: PartitionPlan, window: TimeWindow, slack_ms: int
) -> str:
    """Return the reason why no split of the plan contains entries of the ledger."""
    if ledger.entries == 0:
        return EMPTY
    if window.is_empty:
        return "no time between startingTimestamp and endingTimestamp"
    start, end = span_of_window(known.ledgers, window, slack_ms)
    if start is not None and ledger.id < start.ledger:
        return "closed before startingTimestamp"
    if end is not None and ledger.id >= end.ledger:
        return "opened after endingTimestamp"
    if Position(ledger.id, ledger.entries) <= plan.start:
        return "before startingOffsets"
    return "after endingOffsets, or after the last message that consumers can see"


def _why_no_compacted(options: ReadOptions) -> str:
    return "read through the broker" if options.read_compacted else "read with readCompacted=true only"


def _check_ledgers(partitions: Iterable[TopicPartition]) -> None:
    scalable = sorted({str(partition.topic) for partition in partitions if partition.is_segment})
    if scalable:
        raise OptionError(
            f"topic {', '.join(scalable)} is a scalable topic: expected topics whose ledgers the admin REST API lists; "
            f"run `pyspark-pulsar layout` to see the segments of scalable topics"
        )


def _partitions(options: ReadOptions) -> list[TopicPartition]:
    with BrokerClient.for_planning(options) as client:
        return discover_partitions(client, discover_topics(client, options))


def _ledgers(
    admin: AdminClient, partitions: Iterable[TopicPartition], plans: Mapping[TopicPartition, PartitionPlan]
) -> dict[TopicPartition, TopicLedgers]:
    """Return the ledgers of topic partitions.

    If the role is allowed to read the striping of the ledgers, the result contains the striping.
    """
    planned = {partition: plans[partition].ledgers for partition in partitions if partition in plans}
    known = {partition: ledgers for partition, ledgers in planned.items() if ledgers is not None}
    known |= fetch_ledgers(admin, [partition for partition in partitions if partition not in known])
    bare = {
        partition: (ledgers, {ledger.id for ledger in ledgers.ledgers})
        for partition, ledgers in known.items()
        if any(ledger.metadata is None and ledger.offload_id is None for ledger in ledgers.ledgers)
    }
    with contextlib.suppress(PermissionDenied):
        known |= fetch_striping(admin, bare)
    return known


def _stores(
    options: ReadOptions, admin: AdminClient, known: Mapping[TopicPartition, TopicLedgers]
) -> dict[TopicName, TieredStore]:
    """Return the tiered storage of each topic that has offloaded ledgers. Omit topics whose storage is unknown."""
    offloaded = {
        partition.topic
        for partition, ledgers in known.items()
        if any(ledger.offload_id for ledger in ledgers.ledgers)
    }
    stores = {topic: find_tiered_store(options, admin, topic) for topic in sorted(offloaded)}
    return {topic: store for topic, store in stores.items() if store is not None}


def _copy(
    partition: TopicPartition, ledger: Ledger, ranges: Iterable[SplitRange], store: TieredStore | None
) -> str | None:
    """Return the URL of a ledger's copy in tiered storage, or None if no URL is known.

    The URL is from the plan. If the plan has no URL, this function computes the URL from the present offload policy.
    """
    for split_range in ranges:
        planned = split_range.location.copy_url(partition)
        if planned is not None and split_range.location.ledger_id == ledger.id:
            return planned
    if store is None or ledger.offload_id is None:
        return None
    return f"{store.url}/{store.name_of(partition, ledger)}"
