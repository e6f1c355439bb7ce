"""Counts what lies ahead of a stream, for limits that hold exactly. Driver only.

Nobody but the entries themselves knows how many messages they hold. So the entries that the next micro-batch will read
come through the driver first. The kernel looks at their heads and keeps a few numbers of each (`codec.backlog`):
messages and stored bytes. Payloads are neither kept nor decoded.

What is counted of a topic partition is one unbroken part of its log:

    begin ................ until ................................ end of the request
    | counted: no I/O      | read from the broker when needed     |

    event                                        begin            until
    first request, or one outside the part       its start        its start
    request that reaches behind `until`          stays            grows to the share's limit, or to the request's end
    the stream has read up to a position         moves there      stays
    the partition is no longer read              forgotten

A request is answered from what is counted where that is enough: its limit is reached before `until`, or `until` is not
before its end. So in a stream that goes on each entry is fetched once for counting, however many micro-batches and
rounds it is in. At most the part of one micro-batch, and of the next one, is held.

While Spark works on a micro-batch, the counter counts ahead what the next one will be allowed (`count_ahead`), on
threads that nobody waits for. Every other call first waits for them, so a `Backlog` is used by one thread at a time:
all requests of one call are of different topic partitions. What fails ahead is not raised; the next request meets it
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
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

_USUAL_BYTES: Final = 1_000
# The broker is allowed a part of what is needed at a time, since what it sends beyond that is thrown away.
_PARTS: Final = 4

PublishedFrom = Callable[[TopicPartition], int | None]
"""Since when (Unix milliseconds) messages of a topic partition count."""


class BacklogCounter:
    """Used by one thread, which several help, each by connections of its own. Connects at first use."""

    def __init__(
        self, options: ReadOptions, published_from: PublishedFrom, tables: KnownTables | None = None
    ) -> None:
        """`tables`: what topics' tables hold is counted there."""
        self._tables = tables
        self._options = options
        self._published_from = published_from
        self._threads = DriverThreads(options, "pulsar-backlog")
        self._backlogs: dict[TopicPartition, Backlog] = {}
        self._ahead: list[Future[CountedRange]] = []

    def measure(self, requests: Sequence[MeasureRequest]) -> list[CountedRange]:
        """Return how far each share reaches, counted exactly (`allowance.Measure`).

        With `failOnDataLoss=false` removed messages do not count. Raises the errors of `BrokerEntries`.
        """
        self._settle()
        if len(requests) == 1:
            return [self._measured(requests[0])]
        return self._threads.map(self._measured, requests)

    def forget_before(self, positions: Mapping[TopicPartition, Position]) -> None:
        """The stream has read up to there; other topic partitions are read no more."""
        self._settle()
        self._backlogs = {
            partition: backlog for partition, backlog in self._backlogs.items() if partition in positions
        }
        for partition, backlog in self._backlogs.items():
            backlog.drop_before(positions[partition])

    def count_ahead(self, requests: Sequence[MeasureRequest]) -> None:
        """Count what the next micro-batch will ask for, while the stream works on the present one. Does not wait."""
        self._settle()
        self._ahead = [self._threads.submit(self._measured, request) for request in requests]

    def _settle(self) -> None:
        """Wait for what is counted ahead."""
        wait(self._ahead)
        self._ahead = []

    def entry_records(self, partition: TopicPartition) -> float:
        """Messages per entry of what was counted, 1 where nothing was."""
        backlog = self._backlogs.get(partition)
        return max(1.0, backlog.records / backlog.entries) if backlog is not None and backlog.entries else 1.0

    def close(self) -> None:
        self._threads.close()

    def _measured(self, request: MeasureRequest) -> CountedRange:
        tiered = None if self._tables is None else self._tables.of(request.partition)
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
        """Until there are so many more messages, or bytes, or all."""
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
        # Of a compacted view, its last messages may be gone.
        backlog.until = max(backlog.until, request.end)

    def _permits(self, records: int, size: int) -> int:
        messages = min(records, size // _USUAL_BYTES if size < UNLIMITED else UNLIMITED)
        # An entry that begins at the limit is needed whole, with more messages than the share has.
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
