"""Entries before an entry, further and further back, for the chunks of a message that began before a range.

Executor only. A message's chunks mostly lie close together, so the reach grows from a few entries over the
ledger to earlier ledgers. Their ids are not known; brokers begin at the next ledger there is when asked for
one that is not, and so ids are halved in until an earlier ledger answers.
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
# Chunks are as large as messages may be; more than these would only wait in memory.
_PERMITS = 100


def earlier_runs(
    options: ReadOptions, partition: TopicPartition, ledger: int, entry: int, chunks: int
) -> Generator[Iterator[EntryBatch], None, None]:
    """Entries up to (ledger, entry), where the last of `chunks` chunks lies; see `codec.intake.Intake`.

    A run may go on behind that entry. Never of the compacted view, in which the chunks of a message are
    messages of one key. Raises the errors of `BrokerEntries`.
    """
    seconds = options.poll_timeout_ms / 1000
    # Connections of its own: what waits for the split's consumer may fill the buffer of the split's connection.
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
    """Where to begin looking, each position before the one before it, the last before all entries.

    `reach`: how many entries to go back at first. `first_at`: the first entry at a position or behind it.
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
        # Not asked sooner: the first ledger may be kept where reading is slow.
        beginning = beginning or first_at(EARLIEST)
        if reached <= beginning:
            return
        step *= 2
    if (beginning or first_at(EARLIEST)) < reached:
        yield EARLIEST


def _first_at(
    client: BrokerClient, partition: TopicPartition, before: Position, poll_seconds: float, start: Position
) -> Position:
    """Raises the errors of `BrokerEntries`: there is such an entry, the one from which we look back."""
    location = BrokerEntries(client, partition, start, before, permits=1, poll_seconds=poll_seconds)
    with closing(iter(location)) as run:
        entries = next(run, None)
    return before if entries is None or entries.first is None else Position(*entries.first)
