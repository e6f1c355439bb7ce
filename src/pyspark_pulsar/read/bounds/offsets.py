"""Resolution of `startingOffsets` and `endingOffsets` to a position in each topic partition. Driver only.

A bound must fit the topics. An error is raised for a topic partition that only the JSON names, and for a topic
partition that only the query reads. No position is a silent default.
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
    """Return the position in each topic partition that the value of an option means.

    Args:
        key: The option's name, for errors.
        bound: The value of the option.
        partitions: The topic partitions that the query reads.
        ends: The present ends of these partitions, for `latest`.

    Raises:
        OptionError: The bound does not fit the partitions.

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
            f"option {key!r}: expected a position for each topic partition that the query reads, got "
            + ", and ".join(
                part
                for part in (
                    f"none for {', '.join(missing)}" if missing else "",
                    f"one for {', '.join(unknown)}, which the query does not read" if unknown else "",
                )
                if part
            )
            + "; correct the positions in the option"
        )
    return {partition: _position(offset, ends[partition]) for partition, offset in offsets.items()}


def _position(offset: Position | LogSide, end: Position) -> Position:
    if isinstance(offset, Position):
        return offset
    return end if offset is LogSide.LATEST else EARLIEST


def check_reachable(
    key: str, starts_or_ends: Mapping[TopicPartition, Position], reachable: Mapping[TopicPartition, Position]
) -> None:
    """Raise `OptionError` for positions after `reachable`, because a range to such a position would end early."""
    for partition, position in starts_or_ends.items():
        if position > reachable[partition]:
            raise OptionError(
                f"option {key!r}: expected a position of at most {reachable[partition]} for {partition}, because no "
                f"message is at or after this position, got {position}; correct the position"
            )
