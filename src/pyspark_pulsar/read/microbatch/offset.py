"""Spark's streaming offset: versioned JSON that people can read, with one position per topic partition.

`{"version": 1, "positions": {"persistent://public/default/t-partition-0": "12:7:0"}}` means that the next message to
read is at `12:7:0`. Spark requests the initial offset twice and stores neither answer, because only end offsets are
stored in the checkpoint. So the source does two things:
- The initial offset is a *symbol*, `{"version": 1, "start": "latest"}`.
- The end offset of the first micro-batch has a key `"from"` with the actual start of each partition. If new partitions
  appear in a micro-batch, its end offset has this key, too. If a partition has neither an earlier position nor an entry
  in `"from"`, the query reads it from `earliest`.

If a query begins at a time, each offset contains the time as `"publishedFrom"`. The value is Unix milliseconds, or an
object with the time of each topic or topic partition. All micro-batches of the query leave out earlier messages. If a
query ends at a time, each offset contains the time as `"publishedBefore"` (exclusive). An offset with a time has
version 2, so that an older version of this package refuses it instead of ignoring the times.

For scalable topics, `"drained"` contains the segments that are completely read and receive no more messages. A segment
remains in this list while the topic contains the segment. An offset with segments has version 3, with or without times.

`"passed"` maps topic partitions to a position in a later ledger. No message is between the partition's position and the
later position, so retention may remove the ledger of the partition's position (`microbatch.ends.readable_ends`).

`"ended"` states that every partition has reached the end in the options. `pyspark_pulsar.stop_at_end` reads this key.
Its value differs in each run. So Spark commits one empty micro-batch when a query is started again at its end, and this
micro-batch informs Spark's query listeners.
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
    """The positions of all partitions, or the symbol (`start`) of a query that has not started."""

    positions: Mapping[TopicPartition, Position] = field(default_factory=dict)
    starts: Mapping[TopicPartition, Position] = field(default_factory=dict)
    start: OffsetBound | None = None
    published_from: TimeBound | None = None
    published_before: TimeBound | None = None
    drained: frozenset[TopicPartition] = frozenset()
    """Segments of scalable topics in `positions` that are read up to an end that does not move."""
    passed: Mapping[TopicPartition, Position] = field(default_factory=dict)
    """The positions at which the query reads on, for `positions` that no message follows in their ledgers.

    These positions are in later ledgers."""
    ended: str | None = None
    """The id of the run that has reached all ends of the query; None while the query continues."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that Spark stores. The keys of the JSON are sorted, so equal offsets have equal texts."""
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
        """Parse an offset that Spark has stored.

        Raises:
            ProtocolError: This version of the package does not understand the offset.
            OptionError: The start is not a valid value of `startingOffsets`.

        """
        version = document.get("version")
        if version not in (VERSION, VERSION_WITH_TIME, VERSION_WITH_SEGMENTS):
            raise ProtocolError(
                f"checkpoint: expected an offset of version {VERSION} to {VERSION_WITH_SEGMENTS}, got version "
                f"{version!r} of another source or of a newer pyspark-pulsar; upgrade, or start with a new checkpoint"
            )
        from_text, before_text = (
            document.get(key) if version != VERSION else None for key in ("publishedFrom", "publishedBefore")
        )
        if version == VERSION_WITH_TIME and from_text is None and before_text is None:
            raise ProtocolError(
                f"checkpoint: expected a time in an offset of version {VERSION_WITH_TIME}, got {document!r}; "
                f"start with a new checkpoint"
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
        """Return the start, in `partition`, of the micro-batch from the offset `former` to this offset."""
        if partition in self.starts:
            return self.starts[partition]
        return former.positions.get(partition, EARLIEST)

    def starts_from(self, former: StreamOffset) -> dict[TopicPartition, Position]:
        """Return the start, in each partition, of the micro-batch from the offset `former` to this offset."""
        return {partition: self.start_of(partition, former) for partition in self.positions}

    def window_of(self, partition: TopicPartition) -> TimeWindow:
        """Return the window of publish times of the messages that the query reads in `partition`."""
        first, last = self.published_from, self.published_before
        return TimeWindow(
            published_from=None if first is None else first.time_of(partition),
            published_before=None if last is None else last.time_of(partition),
        )

    def goes_no_further_than(self, former: StreamOffset) -> bool:
        """Return whether a micro-batch from `former` to this offset would read nothing and is not needed."""
        return former.start is None and self == replace(former, starts={})


def _texts(positions: Mapping[TopicPartition, Position]) -> dict[str, str]:
    return {partition.name: str(position) for partition, position in sorted(positions.items())}


def _positions(document: Any) -> dict[TopicPartition, Position]:
    try:
        return {TopicPartition.parse(name): Position.parse(text) for name, text in document.items()}
    except (AttributeError, TypeError, OptionError) as fault:
        raise ProtocolError(
            f"checkpoint: expected positions 'topic': 'ledger:entry:batchIndex', got {document!r} ({fault}); "
            f"start with a new checkpoint"
        ) from None


def _segments(document: Any) -> frozenset[TopicPartition]:
    try:
        return frozenset(TopicPartition.parse(name) for name in document)
    except (AttributeError, TypeError, OptionError) as fault:
        raise ProtocolError(
            f"checkpoint: expected names of segments, got {document!r} ({fault}); start with a new checkpoint"
        ) from None


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
            f"checkpoint: expected a time in Unix milliseconds, or one for each topic, got {document!r} ({fault}); "
            f"start with a new checkpoint"
        ) from None
