"""Topic partitions that a stream has read and that are deleted by now. Driver only."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.position import Position
from pyspark_pulsar.topic import TopicPartition

_log: Final = logging.getLogger(__name__)

MeasureRequest = Callable[[set[TopicPartition]], set[TopicPartition]]


def without_departed(
    former: Mapping[TopicPartition, Position],
    ends: Mapping[TopicPartition, Position],
    departed: MeasureRequest,
    *,
    fail: bool,
) -> dict[TopicPartition, Position]:
    """`former` without what is gone: a topic of that name that is made later is a new one.

    `departed` says which of the topic partitions that have no end are really gone; the others stay where they are.
    Raises `DataLossError`; with `fail` false it is logged.
    """
    missing = set(former) - set(ends)
    gone = departed(missing) if missing else set()
    for partition in sorted(gone):
        text = (
            f"{partition}: the query has read up to {former[partition]}, and the topic was deleted since; what it held "
            f"behind that is lost"
        )
        if fail:
            raise DataLossError(
                f"{text}. Start with a new checkpoint, or set failOnDataLoss=false to go on without the topic"
            )
        _log.warning("%s. failOnDataLoss=false: the query goes on without it.", text)
    return {partition: position for partition, position in former.items() if partition not in gone}
