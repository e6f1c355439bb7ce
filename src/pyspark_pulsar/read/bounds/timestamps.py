"""Resolution of times in options to a window for each topic partition, and the ledgers inside a window. Driver only.

A window is exact, because messages are filtered by their publish time. A window excludes only whole ledgers, and never
cuts a ledger. The reason is that messages have times of producers' clocks, but ledgers have times of brokers' clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.time_bound import TimeBound

STARTING_TIMES: Final = "startingOffsetsByTimestamp"
ENDING_TIMES: Final = "endingOffsetsByTimestamp"
ENDING_EVENT_TIMES: Final = "endingOffsetsByEventTime"


def resolve_windows(
    options: ReadOptions, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, TimeWindow]:
    """Return the window of each topic partition.

    Raises `OptionError` if the JSON of an option does not fit `partitions`.
    """
    start, end, event_end = options.published_from, options.published_before, options.event_before
    check_names(STARTING_TIMES, start, partitions)
    check_names(ENDING_TIMES, end, partitions)
    check_names(ENDING_EVENT_TIMES, event_end, partitions)
    return {
        partition: TimeWindow(
            start.time_of(partition) if start else None,
            end.time_of(partition) if end else None,
            event_end.time_of(partition) if event_end else None,
        )
        for partition in partitions
    }


def check_names(key: str, bound: TimeBound | None, partitions: Sequence[TopicPartition]) -> None:
    """Raise `OptionError` for a time of a topic that the query does not read, and for a topic without a time."""
    if bound is None or bound.all is not None:
        return
    read = set(partitions) | {TopicPartition(partition.topic, -1) for partition in partitions}
    missing = [partition.name for partition in partitions if bound.time_of(partition) is None]
    unknown = [name.name for name, _ in bound.by_name if name not in read]
    if missing or unknown:
        raise OptionError(
            f"option {key!r}: expected a time for each topic or topic partition that the query reads, got "
            + ", and ".join(
                ([f"none for {', '.join(missing)}"] if missing else [])
                + ([f"one for {', '.join(unknown)}, which the query does not read"] if unknown else [])
            )
            + "; correct the times in the option"
        )


def span_of_window(
    ledgers: Iterable[Ledger], window: TimeWindow, slack_ms: int
) -> tuple[Position | None, Position | None]:
    """Return the positions between which the messages of a window can be.

    Args:
        ledgers: The topic partition's ledgers, in order.
        window: The window.
        slack_ms: Maximum time by which a message's publish time is outside of the time in which its ledger was open.
            `read.bounds.window_edges` checks this assumption.

    Returns:
        The first position and the exclusive end. None means the start or the end of the topic.

    """
    known = list(ledgers)
    start: Position | None = None
    end: Position | None = None
    if window.published_from is not None:
        for (_, following), closed in zip(pairwise(known), closed_at_latest(known), strict=False):
            if closed is None or closed + slack_ms >= window.published_from:
                break
            start = Position(following.id, 0)
    if window.published_before is not None:
        for ledger, opened in reversed(list(zip(known, opened_at_earliest(known), strict=True))):
            if opened is None or opened - slack_ms < window.published_before:
                break
            end = Position(ledger.id, 0)
    return start, end


def closed_at_latest(ledgers: Sequence[Ledger]) -> list[int | None]:
    """Return the time at which each ledger was certainly closed, or None if the time is unknown.

    The clocks of brokers differ, and some brokers report the present time instead of a time that was never stored. So
    only the order of the ledgers is reliable.
    """
    times: list[int | None] = []
    latest = 0
    for ledger in ledgers:
        latest = max(latest, ledger.closed_ms or 0)
        times.append(latest if ledger.closed_ms else None)
    return times


def opened_at_earliest(ledgers: Sequence[Ledger]) -> list[int | None]:
    """Return the earliest time at which each ledger may have been opened, or None if the time is unknown.

    The earliest time is the closing time of the previous ledger. But if a later ledger has an earlier closing time, the
    earliest time is the previous ledger's own earliest time.
    """
    closed = [ledger.closed_ms or None for ledger in ledgers]
    later = [*accumulate(reversed(closed[1:]), _earlier)][::-1]
    times: list[int | None] = [ledgers[0].opened_ms] if ledgers else []
    for time, after in zip(closed[:-1], later, strict=True):
        times.append(times[-1] if time is None or _earlier(time, after) != time else time)
    return times


def _earlier(one: int | None, other: int | None) -> int | None:
    """Return the earlier of two times. A time of None is ignored."""
    return min((time for time in (one, other) if time is not None), default=None)
