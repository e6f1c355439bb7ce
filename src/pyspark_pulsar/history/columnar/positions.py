"""The positions up to which a topic is tiered. The topic's table stores these positions.

A table contains the messages of each topic partition up to `end` (exclusive), from the first message that was available
when tiering began. Tiering writes whole ledgers only, so `end` is one of these positions:

  * The position before the first entry of a ledger that has entries. Such a ledger exists until retention removes the
    ledger.
  * The position after the last entry of the last ledger with entries. The next ledger is empty. Brokers delete an empty
    ledger when they load the topic, and then write to another ledger.

The document below is stored in a table property, and in the summary of each commit of this package. A commit that adds
files writes the document for the positions after these files:

    {"version": 1, "partitions": {"persistent://tenant/ns/topic-partition-0":
        {"end": "23:16:0", "next": 25, "closed_at": 1790000000000, "seen_at": 1790000060000,
         "created": "2026-01-31T08:00:00.000Z", "lost": [["9:0:0", "12:0:0"]]}, ...}}

  * `next` is the empty ledger after `end`, if one existed.
  * `closed_at` is the time at which the ledger of `end` was closed, by the broker's clock.
  * `seen_at` is the last time at which tiering found no messages after `end`, by the clock of the tiering process.
  * `created` is the time at which the topic partition was created, as brokers report it. A topic that was deleted and
    created again has another time.
  * `lost` contains the ranges of ledgers that were removed before tiering. The field exists only if the user allowed
    tiering to continue after the loss.

`closed_at` and `seen_at` are Unix milliseconds. `next`, `closed_at` and `seen_at` exist only if `end` is after the last
entry of a ledger.

Retention removes the oldest ledgers first. While the ledger of `end` exists, all later ledgers exist too, and no
message is lost. If the ledger of `end` no longer exists, there are two cases. If `end` is before the ledger's first
entry, messages that were not tiered are lost. If `end` is after the ledger's last entry, either no later messages were
written, or later messages were removed too. In the second case, `TieredPartition.is_outlived` applies the first rule
that matches:

    condition                                reason                                                result
    the first remaining ledger is `next`     retention cannot have removed later messages          nothing is lost
    retention never removes messages         not retention, but another program or user removed    messages may be lost
                                             the ledger, and may have removed later ledgers
    the ledger was closed more recently      the same reason                                       messages may be lost
    than the retention time ago
    `seen_at` is at least the retention      retention may have removed later messages too         messages may be lost
    time ago
    all other cases                          retention still keeps all later messages              nothing is lost

The table property remains when snapshots expire. The commit summaries show which commit changed which position. The
document does not name data files, because other engines can rewrite data files.
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
"""Two positions: the first (inclusive) and the end (exclusive)."""


@dataclass(frozen=True, slots=True)
class TieredPartition:
    """The tiered range of one topic partition."""

    end: Position
    created: str | None = None
    """The time at which the topic partition was created; None if brokers did not report the time."""
    next: int | None = None
    closed_at: int | None = None
    seen_at: int | None = None
    lost: tuple[Range, ...] = ()
    """The lost ranges, in the order of positions. All lost ranges are before `end`."""

    def is_outlived(self, first: int, now_ms: int, kept_ms: Callable[[], int | None]) -> bool:
        """Return whether no messages were lost. Call this method only if the ledger of `end` no longer exists.

        Args:
            first: The id of the first remaining ledger.
            now_ms: The present time, in Unix milliseconds.
            kept_ms: A function that returns how long retention keeps acknowledged messages, in milliseconds. None
                means forever. The function is called only if the result depends on retention.

        """
        if self.closed_at is None or self.seen_at is None:
            return False
        if first == self.next:
            return True
        kept = kept_ms()
        return kept is not None and now_ms - self.closed_at >= kept > now_ms - self.seen_at

    def lost_in(self, start: Position, end: Position) -> tuple[Range, ...]:
        """Return the lost ranges that overlap the range from `start` to `end`."""
        return tuple(lost for lost in self.lost if lost[0] < end and start < lost[1])


@dataclass(frozen=True, slots=True)
class TieredPositions:
    """The tiered ranges of a topic. Partitions without tiered messages are absent."""

    partitions: Mapping[TopicPartition, TieredPartition] = field(default_factory=dict)

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self.partitions)

    def get(self, partition: TopicPartition) -> TieredPartition | None:
        return self.partitions.get(partition)

    def with_partitions(self, partitions: Mapping[TopicPartition, TieredPartition]) -> TieredPositions:
        """Return a copy in which `partitions` are added, or replace the earlier ranges of the same topic partitions."""
        return TieredPositions({**self.partitions, **partitions})

    def to_json(self) -> str:
        """Return the JSON document of the positions. Partitions are sorted, so equal positions have equal documents."""
        partitions = {str(name): _document(tiered) for name, tiered in sorted(self.partitions.items())}
        return json.dumps({"version": _VERSION, "partitions": partitions}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, where: str) -> TieredPositions:
        """Parse a document.

        Raises:
            ProtocolError: A later version or another program wrote the document. The error text begins with `where`.

        """
        try:
            document = json.loads(text)
            version = document["version"]
            if version == _VERSION:
                return cls(
                    {
                        TopicPartition.parse(name): _partition(document)
                        for name, document in document["partitions"].items()
                    }
                )
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise ProtocolError(
                f"{where}: expected positions that pyspark-pulsar wrote, got {text[:200]!r} ({fault!r}); undo "
                f"the change of the program that wrote these positions, or drop the table and tier the topic again"
            ) from None
        raise ProtocolError(
            f"{where}: expected positions in format version {_VERSION}, got format version {version}; use the "
            f"version of pyspark-pulsar that wrote the positions"
        )


def _document(tiered: TieredPartition) -> dict[str, Any]:
    document: dict[str, Any] = {"end": str(tiered.end)}
    if tiered.next is not None:
        document["next"] = tiered.next
    if tiered.closed_at is not None:
        document["closed_at"], document["seen_at"] = tiered.closed_at, tiered.seen_at
    if tiered.created is not None:
        document["created"] = tiered.created
    if tiered.lost:
        document["lost"] = [[str(start), str(end)] for start, end in tiered.lost]
    return document


def _partition(document: Mapping[str, Any]) -> TieredPartition:
    lost = tuple((Position.parse(start), Position.parse(end)) for start, end in document.get("lost", ()))
    return TieredPartition(
        Position.parse(document["end"]),
        document.get("created"),
        document.get("next"),
        document.get("closed_at"),
        document.get("seen_at"),
        lost,
    )
