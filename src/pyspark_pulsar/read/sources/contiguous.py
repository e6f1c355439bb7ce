"""What every direct read must give: each entry of the piece, once, in order. Executor only.

An object in tiered storage can lack entries without a sign of it, and a ledger ends where it was closed. So gaps in a
direct read are faults, which they are not for consumers.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.read.split import SplitRange
from pyspark_pulsar.topic import TopicPartition


def entry_range(split_range: SplitRange, ledger: Ledger) -> tuple[int, int]:
    """The first and the last entry (inclusive) of the ledger that have messages of the piece."""
    begins_here, ends_here = split_range.start.ledger == ledger.id, split_range.end.ledger == ledger.id
    first = split_range.start.entry if begins_here else 0
    # An end in the middle of a batched entry lies behind messages of that entry.
    last = split_range.end.entry - (split_range.end.batch_index == 0) if ends_here else ledger.entries - 1
    return first, min(last, ledger.entries - 1)


def contiguous(
    source: Generator[EntryBatch, None, None],
    partition: TopicPartition,
    split_range: SplitRange,
    ledger: Ledger,
) -> Generator[EntryBatch, None, None]:
    """The entries of the source, as long as they are those of the piece. Raises `LedgerUnavailable`."""
    expected, last = entry_range(split_range, ledger)
    with closing(source):
        for entries in source:
            begin, end = entries.first, entries.last
            if begin is None or end is None:
                continue
            whole = end[1] - begin[1] + 1 == len(entries) and end[1] <= last
            if begin != (ledger.id, expected) or not whole:
                raise _gap(
                    partition, split_range, ledger, expected, f"{len(entries)} entries from {begin} to {end}"
                )
            expected = end[1] + 1
            yield entries
    if expected <= last:
        raise _gap(partition, split_range, ledger, expected, f"nothing behind entry {expected - 1}")


def _gap(
    partition: TopicPartition, split_range: SplitRange, ledger: Ledger, expected: int, got: str
) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"{partition}, ledger {ledger.id} of {ledger.entries} entries, read from {split_range.location.name}: expected "
        f"entry {expected}, got {got}; read it from another place (option readFrom)"
    )
