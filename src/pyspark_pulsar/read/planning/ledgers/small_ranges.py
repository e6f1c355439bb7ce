"""Detection of ranges that are so small that a plan does not need their ledgers. Driver only; no I/O.

Listing ledgers needs two admin REST requests for each topic partition. These requests cost a broker more than sending a
few entries. So the planner does not list ledgers if the list would hardly change the plan. A small range begins at
`earliest` and covers the whole topic partition, which has only a few entries in one ledger. The planner needs no list
to detect a small range, because a broker reports both ends of the log (`read.log_end`). The broker serves a small range
in one split.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange

FEW: Final = 8
"""Maximum number of topic partitions whose ledgers are always listed.

The sizes of their ledgers are worth the requests.
"""
LARGEST_ENTRY: Final = 5 << 20
"""The default size limit of brokers for one entry (`maxMessageSize`), in bytes."""


def small_ranges(options: ReadOptions, requests: Iterable[RangeRequest]) -> frozenset[TopicPartition]:
    """Return the topic partitions with small ranges, whose ledgers a plan does not need.

    The result is empty if splits are limited by messages, or if only a few ranges are small. Ranges with a window of
    publish times are left out, because the window may exclude ledgers.
    """
    if options.read_compacted or options.max_records_per_partition is not None:
        return frozenset()
    small = [request.partition for request in requests if _is_small(request, options.max_bytes_per_partition)]
    # Cutting these ranges into `minPartitions` splits needs the sizes of their ledgers.
    return frozenset(small) if len(small) > max(FEW, options.min_partitions or 0) else frozenset()


def _is_small(request: RangeRequest, most_bytes: int) -> bool:
    start, end = request.start_in_ledger, request.end
    if not request.start.is_earliest or start.is_earliest or start >= end:
        return False
    if request.window.bounds_publish_times:
        return False
    return LedgerRange(start, end, None).entries * LARGEST_ENTRY <= most_bytes
