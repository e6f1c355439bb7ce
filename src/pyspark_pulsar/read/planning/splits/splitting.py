"""The steps `records` and `packing` of a plan, which divide ranges with locations into splits. Driver only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.draft import PartitionDraft
from pyspark_pulsar.read.planning.splits.key_ranges import BY_KEY, split_by_key
from pyspark_pulsar.read.planning.splits.packing import Limits, PartitionRange, cut
from pyspark_pulsar.read.planning.splits.sampling import entry_records
from pyspark_pulsar.read.split import Split


def make_splits(options: ReadOptions, client: BrokerClient, drafts: Sequence[PartitionDraft]) -> None:
    """Set the splits of each draft: its ranges in order, cut and packed as the options require.

    If splits are limited by messages, some entries are fetched from the broker to estimate their number of messages.
    For a table, nothing is fetched, because the number of rows in each file is known. The errors of `BrokerClient` are
    raised.
    """
    least = options.min_partitions or 1
    by_key = options.split_by == BY_KEY
    sampled = options.max_records_per_partition is not None and not by_key
    records = entry_records(client, {draft.partition: draft.parts for draft in drafts}) if sampled else {}
    ranges = [_partition_range(draft, records.get(draft.partition, 1.0)) for draft in drafts]
    limits = Limits(options.max_bytes_per_partition, least, options.max_records_per_partition)
    splits: dict[TopicPartition, list[Split]] = defaultdict(list)
    for split in split_by_key(ranges, least) if by_key else cut(ranges, limits):
        splits[split.partition].append(split)
    for draft in drafts:
        draft.splits = tuple(splits[draft.partition])


def _partition_range(draft: PartitionDraft, records: float) -> PartitionRange:
    request = draft.narrowed
    return PartitionRange(
        draft.partition,
        request.start,
        request.end,
        tuple(draft.ranges),
        records,
        request.window,
        request.from_earliest,
        request.keys,
    )


def limits_without_ledgers(options: ReadOptions, requests: Iterable[RangeRequest]) -> Iterator[str]:
    """Yield texts for the log about options that have less effect because no ledgers are known."""
    if any(request.window.bounds_publish_times for request in requests):
        yield (
            "times limit the returned rows, but not the fetched entries; set option admin.url to skip ledgers outside "
            "of the times"
        )
    if options.split_by == BY_KEY:
        return
    if options.min_partitions is not None or options.max_records_per_partition is not None:
        yield "only a range inside one ledger can be cut into splits; set option admin.url to cut other ranges"
