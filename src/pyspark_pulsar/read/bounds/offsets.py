"""From the bounds that `startingOffsets` and `endingOffsets` set to a position in each topic partition. Driver only.

A bound must fit the topics: a topic partition that the JSON names but the query does not read, or the other way round,
is an error, never a silent default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.offset_bound import LogSide, OffsetBound


def resolve_bound(
    key: str,
    bound: OffsetBound,
    partitions: Sequence[TopicPartition],
    ends: Mapping[TopicPartition, Position],
) -> dict[TopicPartition, Position]:
    """The position in each partition that a bound means; `ends` are the present ends for `latest`.

    `key` names the option in errors. Raises `OptionError`.
    """
    offsets: dict[TopicPartition, Position | LogSide] = {}
    if bound.others is not None:
        offsets.update(dict.fromkeys(partitions, bound.others))
    offsets.update(bound.named)
    read = set(partitions)
    missing = sorted(partition.name for partition in partitions if partition not in offsets)
    unknown = sorted(partition.name for partition in offsets if partition not in read)
    if missing or unknown:
        raise OptionError(
            f"option {key!r} does not fit the topic partitions that the query reads: expected a position for each, got "
            + "; ".join(
                part
                for part in (
                    f"none for {', '.join(missing)}" if missing else "",
                    f"one for {', '.join(unknown)}, which it does not read" if unknown else "",
                )
                if part
            )
        )
    return {partition: _position(offset, ends[partition]) for partition, offset in offsets.items()}


def _position(offset: Position | LogSide, end: Position) -> Position:
    if isinstance(offset, Position):
        return offset
    return end if offset is LogSide.LATEST else EARLIEST


def check_reachable(
    key: str, starts_or_ends: Mapping[TopicPartition, Position], reachable: Mapping[TopicPartition, Position]
) -> None:
    """Refuse positions behind the last message, which is before `reachable`: such a range would end early. Raises
    `OptionError`."""
    for partition, position in starts_or_ends.items():
        if position > reachable[partition]:
            raise OptionError(
                f"option {key!r} says {position} for {partition}, which is behind its last message: expected at most "
                f"{reachable[partition]}"
            )
