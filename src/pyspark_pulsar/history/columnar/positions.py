"""Up to where a topic is tiered: kept in its table and nowhere else.

A table holds, of each topic partition, the messages up to `end` (exclusive), from the first that there was when tiering
began. All that is in a ledger is tiered or nothing, so `end` is one of these:

  * the position before the first entry of a ledger, where that ledger has entries. It stays until retention removes it;
  * the position behind the last entry of the last ledger with entries. The ledger behind it is empty, and brokers
  delete an
    empty ledger when they load the topic, and write to another.

The document, in a property of the table and in the summary of each of our commits, written by the same commit as the
files:

    {"version": 1, "partitions": {"persistent://tenant/ns/topic-partition-0":
        {"end": "23:16:0", "next": 25, "closed_at": 1790000000000, "seen_at": 1790000060000,
         "created": "2026-01-31T08:00:00.000Z", "lost": [["9:0:0", "12:0:0"]]}, ...}}

`next`: the empty ledger behind `end`; not there if none was. `closed_at`: when the ledger of `end` was closed;
`seen_at`: when it was last seen that nothing is behind it (both Unix milliseconds, by the clocks of the broker and of
the process that tiers). These are there in the second case only. `created`: when the topic partition was made, as
brokers tell it; a topic that was deleted and made again has another. `lost`: ranges whose ledgers were gone before
they were tiered, and that tiering was told to go on without.

What if the ledger of `end` is gone? Retention removes from the front, so as long as it is there nothing behind it is
gone. In the first case something that was not tiered is lost. In the second case it may be that nothing was written
since, or that what was written has been removed too (`TieredPartition.is_outlived`):

    the first ledger that is left is `next`     nothing can have been removed behind `end`            nothing is lost
    the ledger's age is less than retention     somebody has removed it otherwise, and maybe more     lost
    `seen_at` is longer ago than retention      what was written after that may be gone as well       lost
    else                                        nothing that was written after that can be gone yet   nothing is lost

The property outlives snapshots that somebody expires; the summary shows which commit moved what. Other engines may
rewrite the files: none of this says which they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition

_VERSION: Final = 1

Range = tuple[Position, Position]
"""From the first (inclusive) to the second (exclusive)."""


@dataclass(frozen=True, slots=True)
class TieredPartition:
    """What is tiered of one topic partition."""

    end: Position
    created: str | None = None
    """None where brokers did not tell it."""
    next: int | None = None
    closed_at: int | None = None
    seen_at: int | None = None
    lost: tuple[Range, ...] = ()
    """In order; all before `end`."""

    def is_outlived(self, first: int, now_ms: int, kept_ms: Callable[[], int | None]) -> bool:
        """Whether nothing was lost although the ledger of `end` is gone. `first`: the first ledger that is left.
        `kept_ms`: asked where it matters for how long retention keeps what is acknowledged, None for ever."""
        if self.closed_at is None or self.seen_at is None:
            return False
        if first == self.next:
            return True
        kept = kept_ms()
        return kept is not None and now_ms - self.closed_at >= kept > now_ms - self.seen_at

    def lost_in(self, start: Position, end: Position) -> tuple[Range, ...]:
        """The lost ranges of which something lies between `start` and `end`."""
        return tuple(lost for lost in self.lost if lost[0] < end and start < lost[1])


@dataclass(frozen=True, slots=True)
class TieredPositions:
    """Of a topic; partitions of which nothing is tiered are not there."""

    partitions: Mapping[TopicPartition, TieredPartition] = field(default_factory=dict)

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self.partitions)

    def of(self, partition: TopicPartition) -> TieredPartition | None:
        return self.partitions.get(partition)

    def replaced(self, partitions: Mapping[TopicPartition, TieredPartition]) -> TieredPositions:
        """With these instead of those that are there."""
        return TieredPositions({**self.partitions, **partitions})

    def to_json(self) -> str:
        """Sorted by topic partition, so that equal positions are equal texts."""
        partitions = {str(name): _document(tiered) for name, tiered in sorted(self.partitions.items())}
        return json.dumps({"version": _VERSION, "partitions": partitions}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, where: str) -> TieredPositions:
        """Raises `ProtocolError`, whose text `where` begins, for a document of a later version or of somebody else."""
        try:
            document = json.loads(text)
            version = document["version"]
            if version == _VERSION:
                return cls(
                    {
                        TopicPartition.parse(name): _partition(told)
                        for name, told in document["partitions"].items()
                    }
                )
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise ProtocolError(
                f"{where}: expected positions as pyspark-pulsar writes them, got {text[:200]!r} ({fault!r})"
            ) from None
        raise ProtocolError(
            f"{where}: expected positions in version {_VERSION}, got {version}; another version of pyspark-pulsar has "
            f"written them: use that one"
        )


def _document(tiered: TieredPartition) -> dict[str, Any]:
    told: dict[str, Any] = {"end": str(tiered.end)}
    if tiered.next is not None:
        told["next"] = tiered.next
    if tiered.closed_at is not None:
        told["closed_at"], told["seen_at"] = tiered.closed_at, tiered.seen_at
    if tiered.created is not None:
        told["created"] = tiered.created
    if tiered.lost:
        told["lost"] = [[str(start), str(end)] for start, end in tiered.lost]
    return told


def _partition(told: Mapping[str, Any]) -> TieredPartition:
    lost = tuple((Position.parse(start), Position.parse(end)) for start, end in told.get("lost", ()))
    return TieredPartition(
        Position.parse(told["end"]),
        told.get("created"),
        told.get("next"),
        told.get("closed_at"),
        told.get("seen_at"),
        lost,
    )
