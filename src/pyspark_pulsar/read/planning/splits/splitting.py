"""Splits of located ranges: the steps `records` and `packing` of a plan. Driver only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.splits.key_ranges import BY_KEY, split_by_key
from pyspark_pulsar.read.planning.splits.packing import Limits, PartitionRange, cut
from pyspark_pulsar.read.planning.splits.sampling import entry_records
from pyspark_pulsar.read.planning.tables.file_range import FileRange
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.topic import TopicPartition


def splits_by_partition(
    options: ReadOptions,
    client: BrokerClient,
    requests: Sequence[RangeRequest],
    ranges: Mapping[TopicPartition, Sequence[LedgerRange | FileRange]],
) -> Mapping[TopicPartition, list[Split]]:
    """Of each request its `ranges`, in order, cut and packed as the options say; asks the broker for some entries where
    splits are limited by messages. Raises the errors of `BrokerClient`."""
    least = options.min_partitions or 1
    by_key = options.split_by == BY_KEY
    sampled = options.max_records_per_partition is not None and not by_key
    records = entry_records(client, _of_ledgers(ranges)) if sampled else {}
    partition_ranges = [
        PartitionRange(
            request.partition,
            request.start,
            request.end,
            tuple(ranges[request.partition]),
            records.get(request.partition, 1.0),
            request.window,
            request.from_earliest,
            request.keys,
        )
        for request in requests
    ]
    limits = Limits(options.max_bytes_per_partition, least, options.max_records_per_partition)
    splits: dict[TopicPartition, list[Split]] = defaultdict(list)
    for split in split_by_key(partition_ranges, least) if by_key else cut(partition_ranges, limits):
        splits[split.partition].append(split)
    return splits


def _of_ledgers(
    ranges: Mapping[TopicPartition, Sequence[LedgerRange | FileRange]],
) -> dict[TopicPartition, list[LedgerRange]]:
    """Files say of themselves how many rows they have."""
    return {
        partition: [part for part in parts if part.entry_rows is None] for partition, parts in ranges.items()
    }
