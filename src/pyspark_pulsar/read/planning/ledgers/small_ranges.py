"""Which ranges are so small that their ledgers need not be told. Driver only; no I/O.

The admin REST API is asked twice for each topic partition. That costs a broker more than to send a few entries. So it
is not asked where the answer would change nothing, or hardly anything: a range from earliest that is all that the topic
partition has, a few entries in one ledger. A broker tells both ends with the end of the log (`read.log_end`), and such
a range comes from the broker in one split.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange

FEW: Final = 8
"""Of so many topic partitions the ledgers are told at about the same time: then their sizes are worth more."""
LARGEST_ENTRY: Final = 5 << 20
"""Bytes: what brokers take, unless they are told otherwise (`maxMessageSize`)."""


def small_ranges(options: ReadOptions, requests: Iterable[RangeRequest]) -> frozenset[TopicPartition]:
    """Those whose ledgers need not be told to someone who may read all from brokers.

    None where times leave out ledgers, or where a split holds no more than so many messages.
    """
    if options.read_compacted or options.max_records_per_partition is not None:
        return frozenset()
    small = [request.partition for request in requests if _is_small(request, options.max_bytes_per_partition)]
    # Fewer splits than are asked for would have to be cut by the sizes of their ledgers.
    return frozenset(small) if len(small) > max(FEW, options.min_partitions or 0) else frozenset()


def _is_small(request: RangeRequest, most_bytes: int) -> bool:
    start, end = request.start_in_ledger, request.end
    if not request.start.is_earliest or start.is_earliest or start >= end:
        return False
    if request.window.bounds_publish_times:
        return False
    return LedgerRange(start, end, None).entries * LARGEST_ENTRY <= most_bytes
