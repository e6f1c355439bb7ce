"""Spark's streaming offset: JSON, versioned, one position per topic partition, readable by a person.

`{"version": 1, "positions": {"persistent://public/default/t-partition-0": "12:7:0"}}` says that the next
message to read is at 12:7:0. Two additions solve the trap that Spark asks for the initial offset twice and
keeps neither answer (only end offsets reach the checkpoint):
- the initial offset is a *symbol*, `{"version": 1, "start": "latest"}`;
- the end offset of the first micro-batch, and of any in which partitions appear, carries under `"from"` the
  positions at which those partitions really start. A partition with neither a former position nor an entry
  in `"from"` starts at earliest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark_pulsar.errors import OptionError, ProtocolError
from pyspark_pulsar.message_id import EARLIEST, Position
from pyspark_pulsar.topic import TopicPartition

VERSION = 1


@dataclass(frozen=True)
class StreamOffset:
    """Positions of all partitions, or the symbol of a query that has not started (`start`)."""

    positions: Mapping[TopicPartition, Position] = field(default_factory=dict)
    starts: Mapping[TopicPartition, Position] = field(default_factory=dict)
    start: str | None = None

    def to_json(self) -> dict[str, Any]:
        """What Spark stores; keys sorted, so that equal offsets are equal texts."""
        if self.start is not None:
            return {"version": VERSION, "start": self.start}
        document: dict[str, Any] = {"version": VERSION, "positions": _texts(self.positions)}
        if self.starts:
            document["from"] = _texts(self.starts)
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StreamOffset:
        """Raises `ProtocolError` for an offset that this version does not understand."""
        version = document.get("version")
        if version != VERSION:
            raise ProtocolError(
                f"checkpoint: expected an offset of version {VERSION}, got {version!r}; it was written by another "
                f"source or a newer pyspark-pulsar: upgrade, or start with a new checkpoint"
            )
        if "start" in document:
            return cls(start=str(document["start"]))
        return cls(_positions(document.get("positions")), _positions(document.get("from", {})))

    def start_of(self, partition: TopicPartition, former: StreamOffset) -> Position:
        """Where the micro-batch that ends here begins in `partition`; `former` is its start offset."""
        if partition in self.starts:
            return self.starts[partition]
        return former.positions.get(partition, EARLIEST)


def _texts(positions: Mapping[TopicPartition, Position]) -> dict[str, str]:
    return {partition.name: str(position) for partition, position in sorted(positions.items())}


def _positions(document: Any) -> dict[TopicPartition, Position]:
    try:
        return {TopicPartition.parse(name): Position.parse(text) for name, text in document.items()}
    except (AttributeError, TypeError, OptionError) as fault:
        raise ProtocolError(
            f"checkpoint: expected positions 'topic': 'ledger:entry:batchIndex', got {document!r} ({fault})"
        ) from None
