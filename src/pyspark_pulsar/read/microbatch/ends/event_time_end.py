"""The ends of a stream by event time: each partition ends before its first message at or after a time. Driver only.

Only the messages themselves contain event times. The metadata of a batched entry does not contain event times. So the
driver reads the entries before a micro-batch is planned. The driver's kernel opens batches, decodes no values, and
stores nothing. A search uses at most a few seconds of a trigger. The micro-batch ends where the search has stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.codec.data_keys import DataKeys
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.model.position import EARLIEST, Position, after_entry
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.bounds.driver_threads import AT_ONCE, DriverThreads
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.loss_report import loss_reported
from pyspark_pulsar.read.sources.broker import BrokerEntries
from pyspark_pulsar.read.sources.chunk_search import earlier_entries
from pyspark_pulsar.runtime import time
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema

_SEARCH_SECONDS: Final = 5.0
_MESSAGE_ID: Final = "__messageId"


@dataclass(slots=True)
class _Search:
    """The progress of the search in one topic partition."""

    until: Position
    """The position up to which the search has found no message at or after the event time."""
    is_found: bool = False
    """True if `until` is the position of the message at which the stream ends."""
    last_round: int = 0
    """The number of the last call that searched this partition."""


class EventTimeSearch:
    """The search for the first message at or after an event time in each topic partition.

    Used by one thread. The background threads connect at first use.
    """

    def __init__(
        self, options: ReadOptions, bound: TimeBound, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Store the arguments.

        Args:
            options: The options of the query.
            bound: The event times, in Unix milliseconds. Topic partitions without a time are not searched.
            clock: Returns monotonic seconds.

        """
        self._options = options
        self._bound = bound
        self._clock = clock
        self._threads = DriverThreads(options, "pulsar-event-time")
        self._searches: dict[TopicPartition, _Search] = {}
        self._round = 0

    def continue_search(
        self, starts: Positions, ends: Positions, published_from: TimeBound | None = None
    ) -> None:
        """Continue the search up to `ends`, within the time limit of a trigger.

        The search of a topic partition continues from where it stopped, or begins at `starts`. Each call searches at
        least a part of the remaining messages. Messages published before `published_from` are ignored.

        Raises:
            PulsarError: For the same reasons as `BrokerEntries` and the decoder. A task would raise the same error.

        """
        self._round += 1
        self._searches = {
            partition: search for partition, search in self._searches.items() if partition in ends
        }
        for partition in ends:
            start = starts.get(partition, EARLIEST)
            if self._bound.time_of(partition) is not None:
                search = self._searches.setdefault(partition, _Search(start))
                search.until = search.until if search.is_found else max(search.until, start)
        rest = [
            partition
            for partition, search in self._searches.items()
            if not search.is_found and search.until < ends[partition]
        ]
        # The partition that was searched least recently is first, because the time may not suffice for all partitions.
        rest.sort(key=lambda partition: (self._searches[partition].last_round, partition))
        deadline = self._clock() + _SEARCH_SECONDS

        def search_one(partition: TopicPartition) -> None:
            if self._clock() < deadline or partition in rest[:AT_ONCE]:
                published = None if published_from is None else published_from.time_of(partition)
                self._search(partition, ends[partition], published, deadline)

        self._threads.map(search_one, rest)

    def searched(self, partition: TopicPartition) -> Position:
        """Return the position up to which the search has found no message at or after the event time."""
        return self._searches[partition].until

    def ends(self) -> dict[TopicPartition, Position]:
        """Return the end of each topic partition in which the search has found the end."""
        return {partition: search.until for partition, search in self._searches.items() if search.is_found}

    def close(self) -> None:
        self._threads.close()

    def _search(
        self, partition: TopicPartition, end: Position, published_from: int | None, deadline: float
    ) -> None:
        options, search = self._options, self._searches[partition]
        search.last_round = self._round
        source = BrokerEntries(
            self._threads.client(),
            partition,
            search.until,
            end,
            permits=max(1, options.receiver_queue_size // AT_ONCE),
            poll_seconds=options.poll_timeout_ms / 1000,
            read_compacted=options.read_compacted,
        )
        decoder = self._decoder(partition, search.until, end, published_from)
        with closing(iter(source)) as batches, loss_reported(fail=options.fail_on_data_loss):
            for entries in batches:
                last = entries.last
                first = _first_row(decoder, entries)
                if first is not None:
                    search.until, search.is_found = first, True
                    return
                if last is not None:
                    search.until = min(end, max(search.until, after_entry(*last)))
                if self._clock() >= deadline or self._threads.is_closed:
                    return
        search.until = end

    def _decoder(
        self, partition: TopicPartition, start: Position, end: Position, published_from: int | None
    ) -> EntryDecoder:
        """Create a decoder that returns the messages at or after the event time, one message per record batch."""
        options = self._options
        keys = DataKeys(options.crypto_default_private_key, dict(options.crypto_private_keys))
        return EntryDecoder(
            _schema(),
            topic=str(partition.topic),
            partition=partition.index,
            fetch_schema=lambda _: None,
            batch_rows=1,
            start=start.as_tuple(),
            end=end.as_tuple(),
            intake=Intake(
                unwrap=keys.unwrap,
                earlier=partial(earlier_entries, options, partition),
                crypto_failure_action=options.crypto_failure_action,
                max_open_chunked=options.max_pending_chunked_message,
            ),
            row_filter=RowFilter(
                TimeWindow(published_from=published_from), event_from=self._bound.time_of(partition)
            ),
        )


def _first_row(decoder: EntryDecoder, entries: EntryBatch) -> Position | None:
    """Return the position of the first row that the decoder returns for the entries; None if there is no row."""
    for batch in decoder.decode(entries):
        message_id = batch.column(_MESSAGE_ID)[0].as_py()
        return Position(message_id["ledger"], message_id["entry"], max(0, message_id["batchIndex"]))
    return None


def _schema() -> ReadSchema:
    return resolve_read_schema(None, topic="", columns=[_MESSAGE_ID])
