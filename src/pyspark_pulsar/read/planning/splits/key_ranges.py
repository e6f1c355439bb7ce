"""Splits by key, which keep all messages of a key together and in order. Driver only; no I/O.

Each split is a range of positions and a range of hash slots. The slots are the same as in Pulsar's Key_Shared
subscriptions (`codec.row_filter`). Every split of a topic partition fetches the whole range of positions. The split's
task drops the messages of other slots before it decodes messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from pyspark_pulsar.read.planning.splits.packing import PartitionRange, split_without_cuts
from pyspark_pulsar.read.planning.splits.shares import shares
from pyspark_pulsar.read.split import Split

BY_KEY: Final = "key"
"""The value of option `splitBy` for splits by key."""
SLOTS: Final = 65_536


def split_by_key(ranges: Sequence[PartitionRange], min_splits: int) -> list[Split]:
    """Return at least `min_splits` splits, if any range is not empty.

    Topic partitions with more entries get more splits.
    """
    filled = [partition_range for partition_range in ranges if partition_range.ledger_ranges]
    weights = [
        float(sum(ledger_range.entries for ledger_range in partition_range.ledger_ranges))
        for partition_range in filled
    ]
    numbers = shares(max(min_splits, len(filled)), weights)
    return [
        replace(split, slots=slots)
        for split, number in zip(split_without_cuts(filled), numbers, strict=True)
        for slots in _slots(min(number, SLOTS))
    ]


def _slots(number: int) -> list[tuple[int, int] | None]:
    """Divide all slots into `number` ranges of about the same size."""
    if number == 1:
        return [None]
    borders = [SLOTS * index // number for index in range(number + 1)]
    return list(pairwise(borders))
