"""A counter of a stream's unread messages, so that the limits of a micro-batch are exact. Driver only.

Only an entry itself contains the number of its messages. So the driver reads the entries of the next micro-batch before
the tasks do. The kernel reads their metadata, and stores the number of messages and of stored bytes of each entry
(`codec.backlog`). The kernel neither stores nor decodes payloads.

The counted part of a topic partition is one part of its log without a gap:

    begin ................ until ................................ end of the request
    | counted: no I/O      | read from the broker when needed     |

    event                                        begin            until
    first request, or one outside the part       its start        its start
    request that reaches past `until`            unchanged        grows to the share's limit, or to the request's end
    the stream has read up to a position         moves there      unchanged
    the partition is no longer read              removed          removed

The counted part is sufficient for a request if the limit is reached before `until`, or if `until` is not before the
request's end. So the counter of a running stream fetches each entry once, for any number of micro-batches and rounds.
The counter stores at most the entries of one micro-batch and of the next micro-batch.

While Spark works on a micro-batch, the counter counts the next micro-batch in advance (`count_ahead`), on background
threads. Every other call first waits for these threads. All requests of one call are for different topic partitions. So
only one thread at a time uses a `Backlog`. Failures of counting in advance are not raised; the next request for the
same entries meets the failure again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from pyspark_pulsar.codec.backlog import UNLIMITED, Backlog, CountedRange
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.driver_threads import DriverThreads
from pyspark_pulsar.read.loss_report import loss_reported
from pyspark_pulsar.read.microbatch.admission.allowance import MeasureRequest
from pyspark_pulsar.read.microbatch.admission.row_counter import count_rows
from pyspark_pulsar.read.planning.tables.known_tables import KnownTables
from pyspark_pulsar.read.sources.broker import BrokerEntries
from pyspark_pulsar.runtime import Future, wait

_USUAL_BYTES: Final = 1_000
# A broker sends as many messages as the permits allow, and messages past the limit are discarded. So the permits cover
# only a fraction of the needed messages.
_PARTS: Final = 4

PublishedFrom = Callable[[TopicPartition], int | None]
"""A function that returns the earliest publish time (Unix milliseconds) of a partition's counted messages, or None."""


class BacklogCounter:
    """A counter for one query, used by one thread. The background threads open their own connections at first use."""

    def __init__(
        self, options: ReadOptions, published_from: PublishedFrom, tables: KnownTables | None = None
    ) -> None:
        """Store the arguments. Messages that are in a topic's table (`tables`) are counted in the table."""
        self._tables = tables
        self._options = options
        self._published_from = published_from
        self._threads = DriverThreads(options, "pulsar-backlog")
        self._backlogs: dict[TopicPartition, Backlog] = {}
        self._ahead: list[Future[CountedRange]] = []

    def measure(self, requests: Sequence[MeasureRequest]) -> list[CountedRange]:
        """Return how far each share reaches, counted exactly. The method is an `allowance.Measure`.

        With `failOnDataLoss=false`, removed messages are not counted.

        Raises:
            PulsarError: For the same reasons as `BrokerEntries`.

        """
        self._settle()
        if len(requests) == 1:
            return [self._measured(requests[0])]
        return self._threads.map(self._measured, requests)

    def forget_before(self, positions: Mapping[TopicPartition, Position]) -> None:
        """Forget the counted messages before `positions`, and all topic partitions that are not in `positions`."""
        self._settle()
        self._backlogs = {
            partition: backlog for partition, backlog in self._backlogs.items() if partition in positions
        }
        for partition, backlog in self._backlogs.items():
            backlog.drop_before(positions[partition])

    def count_ahead(self, requests: Sequence[MeasureRequest]) -> None:
        """Start counting the next micro-batch's messages on background threads, and return immediately."""
        self._settle()
        self._ahead = [self._threads.submit(self._measured, request) for request in requests]

    def _settle(self) -> None:
        """Wait until counting in advance has ended."""
        wait(self._ahead)
        self._ahead = []

    def entry_records(self, partition: TopicPartition) -> float:
        """Return the mean number of messages per counted entry; 1 if no entry was counted."""
        backlog = self._backlogs.get(partition)
        return max(1.0, backlog.records / backlog.entries) if backlog is not None and backlog.entries else 1.0

    def close(self) -> None:
        self._threads.close()

    def _measured(self, request: MeasureRequest) -> CountedRange:
        tiered = None if self._tables is None else self._tables.positions_of(request.partition)
        if self._tables is None or tiered is None or tiered.end <= request.start:
            return self._measured_by_entries(request)
        until = min(tiered.end, request.end)
        published_from = self._published_from(request.partition)
        part = count_rows(self._tables, replace(request, end=until), published_from)
        share = request.share.without(part)
        if part.end < until or until == request.end or share.is_used_up:
            return part
        at_least_one = request.at_least_one and part.records == 0
        rest = self._measured_by_entries(
            replace(request, start=until, share=share, at_least_one=at_least_one)
        )
        return CountedRange(rest.end, part.records + rest.records, part.size + rest.size)

    def _measured_by_entries(self, request: MeasureRequest) -> CountedRange:
        backlog = self._backlog(request)
        part = _within(backlog, request)
        records, size = _less(request.share.records, part.records), _less(request.share.size, part.size)
        if (
            part.end < min(backlog.until, request.end)
            or backlog.until >= request.end
            or records <= 0
            or size <= 0
        ):
            return part
        self._count(request, backlog, records, size)
        return _within(backlog, request)

    def _backlog(self, request: MeasureRequest) -> Backlog:
        backlog = self._backlogs.get(request.partition)
        if backlog is None or not backlog.begin <= request.start <= backlog.until:
            backlog = Backlog(request.start, self._published_from(request.partition))
            self._backlogs[request.partition] = backlog
        return backlog

    def _count(self, request: MeasureRequest, backlog: Backlog, records: int, size: int) -> None:
        """Count more entries, up to a number of `records` or bytes (`size`), or to the end of the request."""
        options = self._options
        source = BrokerEntries(
            self._threads.client(),
            request.partition,
            backlog.until,
            request.end,
            permits=self._permits(records, size),
            poll_seconds=options.poll_timeout_ms / 1000,
            read_compacted=options.read_compacted,
        )
        with closing(iter(source)) as batches, loss_reported(fail=options.fail_on_data_loss):
            for entries in batches:
                counted, counted_size = backlog.add(entries)
                records, size = _less(records, counted), _less(size, counted_size)
                if records <= 0 or size <= 0 or self._threads.is_closed:
                    return
        # Compaction may have removed the last messages of the range, so no entry has moved `until` to the end.
        backlog.until = max(backlog.until, request.end)

    def _permits(self, records: int, size: int) -> int:
        messages = min(records, size // _USUAL_BYTES if size < UNLIMITED else UNLIMITED)
        # An entry at the limit is always fetched completely, although it may contain more messages than the share.
        return max(1, min(self._options.receiver_queue_size, -(-messages // _PARTS)))


def _within(backlog: Backlog, request: MeasureRequest) -> CountedRange:
    share = request.share
    return backlog.take(
        request.start,
        request.end,
        records=share.records,
        size=share.size,
        at_least_one=request.at_least_one,
    )


def _less(total: int, taken: int) -> int:
    return total if total >= UNLIMITED else total - taken
