"""Chunked messages that continue after the end of the tiered range. Pure.

The position of a chunked message is the position of its last chunk. If tiering did not wait for the last chunk,
retention could remove the ledger with the first chunks. Then the message could not be assembled when its last chunk is
tiered. So until the last chunk arrives, the tiered range ends before the ledger with the first chunk. If the producer
has died, the last chunk never arrives. So tiering stops waiting for the message an hour after the ledger with the first
chunk was closed. Consumers have a similar limit (`expireTimeOfIncompleteChunkedMessage`, one minute by default).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark_pulsar.history.tiering.writing.split_writers import WrittenSplit
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.split import Split

WAIT_MS: Final = 3_600_000


def ledgers_with_open_chunks(
    splits: Sequence[Split],
    written: Sequence[WrittenSplit],
    ledgers: Mapping[TopicPartition, TopicLedgers],
    now_ms: int,
) -> dict[TopicPartition, int]:
    """Return the ledgers before which the tiered range must end, because tiering waits for chunks of messages.

    Args:
        splits: The splits of a round, in the order of positions.
        written: The results of the splits, in the same order.
        ledgers: The ledgers of each topic partition.
        now_ms: The present time, in Unix milliseconds.

    Returns:
        For each topic partition with such a message, the id of the ledger with the message's first chunk. If there are
        several such messages, the result contains the smallest id.

    """
    open_since: dict[TopicPartition, dict[bytes, int]] = {}
    for split, result in zip(splits, written, strict=True):
        still_open = open_since.setdefault(split.partition, {})
        for name in result.chunked.ended:
            still_open.pop(name, None)
        still_open.update({name: ledger for name, (ledger, _) in result.chunked.open.items()})
    first_kept: dict[TopicPartition, int] = {}
    for partition, still_open in open_since.items():
        closed = {ledger.id: ledger.closed_ms or 0 for ledger in ledgers[partition].ledgers}
        waited_for = [number for number in still_open.values() if now_ms - closed.get(number, 0) < WAIT_MS]
        if waited_for:
            first_kept[partition] = min(waited_for)
    return first_kept
