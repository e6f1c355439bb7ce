"""A search for earlier entries, in growing steps, to find the first chunks of a message.

Used on the driver and on executors. The message begins before the range that a task reads. The chunks of a message are
usually close together. So the search grows from a few entries to the whole ledger, and then to earlier ledgers. The ids
of earlier ledgers are unknown. But if a position's ledger does not exist, brokers begin at the next existing ledger. So
the search subtracts growing numbers from the ledger's id until the broker answers with an earlier ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.sources.broker import BrokerEntries

_FIRST_REACH = 16
_GROWTH = 8
# A chunk may be as large as the largest message. With more permits, more chunks would only wait in memory.
_PERMITS = 100


def earlier_entries(
    options: ReadOptions, partition: TopicPartition, ledger: int, entry: int, chunks: int
) -> Generator[Iterator[EntryBatch], None, None]:
    """Yield iterators over the entries before (ledger, entry), for `codec.intake.Intake`.

    Each iterator begins farther back than the previous one. The entry at `ledger:entry` contains the last of the
    message's `chunks` chunks. An iterator may continue after the entry. The compacted view is never read, because
    compaction treats the chunks of a message as messages of one key.

    Raises:
        PulsarError: For the same reasons as `BrokerEntries`.

    """
    seconds = options.poll_timeout_ms / 1000
    # The search opens its own connections, because entries for the split's consumer may fill the consumer's buffer.
    with BrokerClient(options) as client:
        before = Position(ledger, entry)
        first_at = partial(_first_at, client, partition, before, seconds)
        for start in starts_before(ledger, entry, max(_FIRST_REACH, 2 * chunks), first_at):
            yield iter(
                BrokerEntries(client, partition, start, before, permits=_PERMITS, poll_seconds=seconds)
            )


def starts_before(
    ledger: int, entry: int, reach: int, first_at: Callable[[Position], Position]
) -> Iterator[Position]:
    """Yield start positions, each before the previous one. The last position is before all entries.

    Args:
        ledger: The ledger id of the known entry.
        entry: The entry id of the known entry.
        reach: The number of entries between the first start position and the known entry.
        first_at: Returns the position of the first entry at or after a position.

    """
    while reach < entry:
        yield Position(ledger, entry - reach)
        reach *= _GROWTH
    reached = Position(ledger, entry)
    if entry > 0:
        reached = Position(ledger, 0)
        yield reached
    beginning = None
    step = 1
    while step < ledger:
        first = first_at(Position(ledger - step, 0))
        if first < reached:
            reached = first
            yield reached
        # The first ledger is looked up late, because reading it may be slow.
        beginning = beginning or first_at(EARLIEST)
        if reached <= beginning:
            return
        step *= 2
    if (beginning or first_at(EARLIEST)) < reached:
        yield EARLIEST


def _first_at(
    client: BrokerClient, partition: TopicPartition, before: Position, poll_seconds: float, start: Position
) -> Position:
    """Return the position of the first entry at or after `start`, or `before` if no earlier entry exists."""
    location = BrokerEntries(client, partition, start, before, permits=1, poll_seconds=poll_seconds)
    with closing(iter(location)) as batches:
        entries = next(batches, None)
    return before if entries is None or entries.first is None else Position(*entries.first)
