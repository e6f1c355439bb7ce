"""Chunked messages that reach over the end of what is tiered.

A message that is cut into chunks lies where its last chunk lies. If only its first chunks were tiered, retention
could remove them with their ledger, and the message could never be put together when its last chunk is tiered. So a
table ends before the ledger in which such a message begins, until it has ended. A producer that has died leaves one
open for ever: an hour after its ledger was closed it is not waited for any more, as consumers do not wait either
(`expireTimeOfIncompleteChunkedMessage`, a minute by default). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark_pulsar.history.tiering.writing.split_writers import WrittenSplit
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.split import Split

PATIENCE_MS: Final = 3_600_000


def ledgers_with_open_chunks(
    splits: Sequence[Split],
    written: Sequence[WrittenSplit],
    ledgers: Mapping[TopicPartition, TopicLedgers],
    now_ms: int,
) -> dict[TopicPartition, int]:
    """Return the first ledger of each topic partition that may not be tiered yet.

    Args:
        splits: The splits of a round, in order.
        written: The result of each split.
        ledgers: The ledgers of each topic partition.
        now_ms: The present time, in Unix milliseconds.

    Returns:
        No entry for a topic partition of which all may be tiered.

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
        waited_for = [
            number for number in still_open.values() if now_ms - closed.get(number, 0) < PATIENCE_MS
        ]
        if waited_for:
            first_kept[partition] = min(waited_for)
    return first_kept
