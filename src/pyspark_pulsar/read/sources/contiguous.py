"""What every direct read must give: each entry of the piece, once, in order. Executor only.

An object in tiered storage can lack entries without a sign of it, and a ledger ends where it was closed. So gaps in a
direct read are faults, which they are not for consumers.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from pyspark_pulsar.client.bookkeeper.metadata import Ledger
from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.read.split import SplitRange
from pyspark_pulsar.topic import TopicPartition


def entry_range(piece: SplitRange, ledger: Ledger) -> tuple[int, int]:
    """The first and the last entry (inclusive) of the ledger that have messages of the piece."""
    begins_here, ends_here = piece.start.ledger == ledger.ledger, piece.end.ledger == ledger.ledger
    first = piece.start.entry if begins_here else 0
    # An end in the middle of a batched entry lies behind messages of that entry.
    last = piece.end.entry - (piece.end.batch_index == 0) if ends_here else ledger.entries - 1
    return first, min(last, ledger.entries - 1)


def contiguous(
    source: Generator[EntryBatch, None, None], partition: TopicPartition, piece: SplitRange, ledger: Ledger
) -> Generator[EntryBatch, None, None]:
    """The entries of the source, as long as they are those of the piece. Raises `LedgerUnavailable`."""
    expected, last = entry_range(piece, ledger)
    with closing(source):
        for entries in source:
            begin, end = entries.first, entries.last
            if begin is None or end is None:
                continue
            whole = end[1] - begin[1] + 1 == len(entries) and end[1] <= last
            if begin != (ledger.ledger, expected) or not whole:
                raise _gap(
                    partition, piece, ledger, expected, f"{len(entries)} entries from {begin} to {end}"
                )
            expected = end[1] + 1
            yield entries
    if expected <= last:
        raise _gap(partition, piece, ledger, expected, f"nothing behind entry {expected - 1}")


def _gap(
    partition: TopicPartition, piece: SplitRange, ledger: Ledger, expected: int, got: str
) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"{partition}, ledger {ledger.ledger} of {ledger.entries} entries, read from {piece.location.name}: expected "
        f"entry {expected}, got {got}; read it from another place (option readFrom)"
    )
