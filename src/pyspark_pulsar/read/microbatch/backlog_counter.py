"""Counts what lies ahead of a stream, for limits that hold exactly. Driver only.

Nobody but the entries themselves knows how many messages they hold. So the entries that the next micro-batch will read
come through the driver first, whose kernel looks at their heads, and keeps a few numbers of each: what was counted
once is not fetched again while the stream goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from typing import Final

from pyspark_pulsar.codec.backlog import UNLIMITED, Backlog, Counted
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.bounds.driver_threads import DriverThreads
from pyspark_pulsar.read.microbatch.admission import MeasureRequest
from pyspark_pulsar.read.sources.broker import BrokerEntries
from pyspark_pulsar.topic import TopicPartition

_USUAL_BYTES: Final = 1_000
# The broker is allowed a part of what is wanted at a time, since what it sends beyond that is thrown away.
_PARTS: Final = 4

PublishedFrom = Callable[[TopicPartition], int | None]
"""Since when (Unix milliseconds) messages of a topic partition count."""


class BacklogCounter:
    """Used by one thread, which several help, each by connections of its own. Connects at first use."""

    def __init__(self, options: ReadOptions, published_from: PublishedFrom) -> None:
        self._options = options
        self._published_from = published_from
        self._threads = DriverThreads(options, "pulsar-scout")
        self._backlogs: dict[TopicPartition, Backlog] = {}
        self._ahead: list[Future[Counted]] = []

    def measure(self, asks: Sequence[MeasureRequest]) -> list[Counted]:
        """How far each share reaches, counted exactly (`read.admission.Measure`). Raises the errors of
        `BrokerEntries`."""
        self._settle()
        if len(asks) == 1:
            return [self._measured(asks[0])]
        return self._threads.map(self._measured, asks)

    def forget_before(self, positions: Mapping[TopicPartition, Position]) -> None:
        """The stream has read up to there; nothing is asked of other topic partitions again."""
        self._settle()
        self._backlogs = {each: known for each, known in self._backlogs.items() if each in positions}
        for partition, backlog in self._backlogs.items():
            backlog.drop_before(positions[partition])

    def look_ahead(self, asks: Sequence[MeasureRequest]) -> None:
        """Count what will be asked for next, while the stream works on what it has."""
        self._settle()
        self._ahead = [self._threads.submit(self._measured, ask) for ask in asks]

    def _settle(self) -> None:
        """What fails while nobody waits for it is met again by whoever asks."""
        wait(self._ahead)
        self._ahead = []

    def entry_records(self, partition: TopicPartition) -> float:
        """Messages per entry of what was counted, 1 where nothing was."""
        known = self._backlogs.get(partition)
        return max(1.0, known.records / known.entries) if known is not None and known.entries else 1.0

    def close(self) -> None:
        self._threads.close()

    def _measured(self, ask: MeasureRequest) -> Counted:
        backlog = self._backlog(ask)
        part = _within(backlog, ask)
        records, size = _less(ask.share.records, part.records), _less(ask.share.size, part.size)
        if part.end < min(backlog.until, ask.end) or backlog.until >= ask.end or records <= 0 or size <= 0:
            return part
        self._count(ask, backlog, records, size)
        return _within(backlog, ask)

    def _backlog(self, ask: MeasureRequest) -> Backlog:
        known = self._backlogs.get(ask.partition)
        if known is None or not known.begin <= ask.start <= known.until:
            known = Backlog(ask.start, self._published_from(ask.partition))
            self._backlogs[ask.partition] = known
        return known

    def _count(self, ask: MeasureRequest, backlog: Backlog, records: int, size: int) -> None:
        """Until there are so many more messages, or bytes, or all."""
        options = self._options
        source = BrokerEntries(
            self._threads.client(),
            ask.partition,
            backlog.until,
            ask.end,
            permits=self._permits(records, size),
            poll_seconds=options.poll_timeout_ms / 1000,
            read_compacted=options.read_compacted,
        )
        with closing(iter(source)) as batches:
            for entries in batches:
                counted, counted_size = backlog.add(entries)
                records, size = _less(records, counted), _less(size, counted_size)
                if records <= 0 or size <= 0 or self._threads.is_closed:
                    return
        # Of a compacted view, its last messages may be gone.
        backlog.until = max(backlog.until, ask.end)

    def _permits(self, records: int, size: int) -> int:
        wanted = min(records, size // _USUAL_BYTES if size < UNLIMITED else UNLIMITED)
        # An entry that begins at the limit is needed whole, with more messages than are wanted.
        return max(1, min(self._options.receiver_queue_size, -(-wanted // _PARTS)))


def _within(backlog: Backlog, ask: MeasureRequest) -> Counted:
    share = ask.share
    return backlog.take(
        ask.start, ask.end, records=share.records, size=share.size, at_least_one=ask.at_least_one
    )


def _less(total: int, taken: int) -> int:
    return total if total >= UNLIMITED else total - taken
