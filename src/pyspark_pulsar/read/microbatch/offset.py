"""Spark's streaming offset: JSON, versioned, one position per topic partition, readable by a person.

`{"version": 1, "positions": {"persistent://public/default/t-partition-0": "12:7:0"}}` says that the next
message to read is at 12:7:0. Two additions solve the trap that Spark asks for the initial offset twice and
keeps neither answer (only end offsets reach the checkpoint):
- the initial offset is a *symbol*, `{"version": 1, "start": "latest"}`;
- the end offset of the first micro-batch, and of any in which partitions appear, carries under `"from"` the
  positions at which those partitions really start. A partition with neither a former position nor an entry
  in `"from"` starts at earliest.

A query that begins at a time keeps it as `"publishedFrom"`: Unix milliseconds, or an object from topic or topic
partition to them. All its micro-batches leave out what was published before. One that ends at a time has it as
`"publishedBefore"`, exclusive. Such an offset is of version 2, so that a reader that would not leave it out refuses it.

Where scalable topics are read, `"drained"` names the segments that are read to their end and get no more messages, for
as long as the topic has them. Such an offset is of version 3, whether it has times or not.

`"passed"` says of topic partitions that nothing is left to read between the position and another one in a later ledger:
retention may remove the ledger of the position (`microbatch.ends.readable_ends`).

`"ended"` says that every partition has reached the end that the query was given, for `pyspark_pulsar.stop_at_end`.
It is another text in each run: Spark then commits one empty micro-batch, which tells listeners of a query that was
started again where it had ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark_pulsar.errors import OptionError, ProtocolError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.offset_bound import OffsetBound
from pyspark_pulsar.options.values.time_bound import TimeBound

VERSION = 1
VERSION_WITH_TIME = 2
VERSION_WITH_SEGMENTS = 3


@dataclass(frozen=True)
class StreamOffset:
    """Positions of all partitions, or the symbol of a query that has not started (`start`)."""

    positions: Mapping[TopicPartition, Position] = field(default_factory=dict)
    starts: Mapping[TopicPartition, Position] = field(default_factory=dict)
    start: OffsetBound | None = None
    published_from: TimeBound | None = None
    published_before: TimeBound | None = None
    drained: frozenset[TopicPartition] = frozenset()
    """Of `positions`, the segments of scalable topics that are read to an end that does not move."""
    passed: Mapping[TopicPartition, Position] = field(default_factory=dict)
    """Where the query stands in those of `positions` behind which nothing is in their ledgers."""
    ended: str | None = None
    """The run that has reached the ends of the query; None while it goes on."""

    def to_json(self) -> dict[str, Any]:
        """What Spark stores; keys sorted, so that equal offsets are equal texts."""
        document: dict[str, Any] = {"version": VERSION}
        bounds = {"publishedFrom": self.published_from, "publishedBefore": self.published_before}
        times = {key: _times(bound) for key, bound in bounds.items() if bound is not None}
        if times:
            document = {"version": VERSION_WITH_TIME} | times
        if self.start is not None:
            return document | {"start": self.start.text}
        if self.drained or any(partition.is_segment for partition in self.positions):
            document["version"] = VERSION_WITH_SEGMENTS
            document["drained"] = sorted(partition.name for partition in self.drained)
        document["positions"] = _texts(self.positions)
        if self.starts:
            document["from"] = _texts(self.starts)
        if self.passed:
            document["passed"] = _texts(self.passed)
        if self.ended is not None:
            document["ended"] = self.ended
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StreamOffset:
        """Raises `ProtocolError` for an offset that this version does not understand, `OptionError` for a start."""
        version = document.get("version")
        if version not in (VERSION, VERSION_WITH_TIME, VERSION_WITH_SEGMENTS):
            raise ProtocolError(
                f"checkpoint: expected an offset of version {VERSION} to {VERSION_WITH_SEGMENTS}, got {version!r}; it "
                f"was written by another source or a newer pyspark-pulsar: upgrade, or start with a new checkpoint"
            )
        from_text, before_text = (
            document.get(key) if version != VERSION else None for key in ("publishedFrom", "publishedBefore")
        )
        if version == VERSION_WITH_TIME and from_text is None and before_text is None:
            raise ProtocolError(
                f"checkpoint: expected a time in an offset of version {VERSION_WITH_TIME}, got {document!r}"
            )
        start, ended = document.get("start"), document.get("ended")
        return cls(
            {} if start is not None else _positions(document.get("positions")),
            {} if start is not None else _positions(document.get("from", {})),
            start=None if start is None else OffsetBound.parse("startingOffsets", str(start)),
            published_from=None if from_text is None else _time_bound(from_text),
            published_before=None if before_text is None else _time_bound(before_text),
            drained=_segments(document.get("drained", []))
            if version == VERSION_WITH_SEGMENTS
            else frozenset(),
            passed={} if start is not None else _positions(document.get("passed", {})),
            ended=None if ended is None else str(ended),
        )

    def start_of(self, partition: TopicPartition, former: StreamOffset) -> Position:
        """Where the micro-batch that ends here begins in `partition`; `former` is its start offset."""
        if partition in self.starts:
            return self.starts[partition]
        return former.positions.get(partition, EARLIEST)

    def starts_from(self, former: StreamOffset) -> dict[TopicPartition, Position]:
        """Return where the micro-batch from `former` up to here begins in each of `positions`."""
        return {partition: self.start_of(partition, former) for partition in self.positions}

    def window_of(self, partition: TopicPartition) -> TimeWindow:
        """The publish times that the query reads of `partition`."""
        first, last = self.published_from, self.published_before
        return TimeWindow(
            published_from=None if first is None else first.of(partition),
            published_before=None if last is None else last.of(partition),
        )

    def goes_no_further_than(self, former: StreamOffset) -> bool:
        """Whether a micro-batch from `former` up to here reads nothing, and need not be."""
        return former.start is None and self == replace(former, starts={})


def _texts(positions: Mapping[TopicPartition, Position]) -> dict[str, str]:
    return {partition.name: str(position) for partition, position in sorted(positions.items())}


def _positions(document: Any) -> dict[TopicPartition, Position]:
    try:
        return {TopicPartition.parse(name): Position.parse(text) for name, text in document.items()}
    except (AttributeError, TypeError, OptionError) as fault:
        raise ProtocolError(
            f"checkpoint: expected positions 'topic': 'ledger:entry:batchIndex', got {document!r} ({fault})"
        ) from None


def _segments(document: Any) -> frozenset[TopicPartition]:
    try:
        return frozenset(TopicPartition.parse(name) for name in document)
    except (AttributeError, TypeError, OptionError) as fault:
        raise ProtocolError(f"checkpoint: expected names of segments, got {document!r} ({fault})") from None


def _times(bound: TimeBound) -> int | dict[str, int] | None:
    return bound.all if bound.all is not None else {name.name: time for name, time in bound.by_name}


def _time_bound(document: Any) -> TimeBound:
    try:
        if isinstance(document, dict):
            pairs = ((TopicPartition.parse(name), int(time)) for name, time in document.items())
            return TimeBound(by_name=tuple(sorted(pairs)))
        return TimeBound(all=int(document))
    except (TypeError, ValueError) as fault:
        raise ProtocolError(
            f"checkpoint: expected a time in Unix milliseconds, or one for each topic, got {document!r} ({fault})"
        ) from None
