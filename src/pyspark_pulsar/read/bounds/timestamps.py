"""From the options about times to a window for each topic partition, and what of its ledgers lies inside.

Driver only. A window is exact, since messages are filtered by their publish time; ledgers are only left out, never
cut, by it: a message's publish time comes from its producer's clock, a ledger's times from the broker's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.parsers import instant
from pyspark_pulsar.position import Position
from pyspark_pulsar.topic import TopicPartition

BY_EVENT_TIME: Final = "endingOffsetsByEventTime"


@dataclass(frozen=True, slots=True)
class Window:
    """Publish times in Unix milliseconds: `from_ms` inclusive, `before_ms` exclusive; None is no bound."""

    from_ms: int | None = None
    before_ms: int | None = None
    event_before_ms: int | None = None
    """Of these, messages whose event time is before this (Unix milliseconds), and those without one."""

    @property
    def is_empty(self) -> bool:
        return self.from_ms is not None and self.before_ms is not None and self.from_ms >= self.before_ms

    @property
    def bounds_publish_times(self) -> bool:
        """Whether ledgers can lie outside; of event times they know nothing."""
        return self.from_ms is not None or self.before_ms is not None


WHOLE = Window()


@dataclass(frozen=True, slots=True)
class TimeBound:
    """One of the two times of a query: the same for all topic partitions, or by name of topic or partition."""

    all: int | None = None
    by_name: tuple[tuple[TopicPartition, int], ...] = ()

    def of(self, partition: TopicPartition) -> int | None:
        """A partition's own time wins over that of its topic."""
        named = dict(self.by_name)
        return named.get(partition, named.get(TopicPartition(partition.topic, -1), self.all))


def starting_time(options: ReadOptions) -> TimeBound | None:
    """None where the query does not begin at a time. Raises `OptionError`."""
    key = "startingOffsetsByTimestamp"
    return _bound(key, options.starting_timestamp, options.starting_offsets_by_timestamp)


def ending_time(options: ReadOptions) -> TimeBound | None:
    """None where the query does not end at a time. Raises `OptionError`."""
    return _bound("endingOffsetsByTimestamp", options.ending_timestamp, options.ending_offsets_by_timestamp)


def ending_event_time(options: ReadOptions) -> TimeBound | None:
    """None where no event time ends the query. Raises `OptionError`."""
    return _bound(BY_EVENT_TIME, options.ending_event_time, options.ending_offsets_by_event_time)


def check_times(options: ReadOptions) -> None:
    """Check the times before anything is connected. Raises `OptionError`."""
    ending_event_time(options)
    starting, ending = starting_time(options), ending_time(options)
    first = starting.all if starting else None
    last = ending.all if ending else None
    if first is not None and last is not None and first > last:
        raise OptionError(
            f"options 'startingTimestamp' and 'endingTimestamp': expected a start that is not behind the end, got "
            f"{first} and {last} (Unix milliseconds)"
        )


def resolve_windows(
    options: ReadOptions, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, Window]:
    """The window of each topic partition. Raises `OptionError` for JSON that does not name all of them, or others."""
    starting, ending = starting_time(options), ending_time(options)
    wanted = list(partitions)
    check_names("startingOffsetsByTimestamp", starting, wanted)
    check_names("endingOffsetsByTimestamp", ending, wanted)
    events = ending_event_time(options)
    check_names(BY_EVENT_TIME, events, wanted)
    return {
        partition: Window(
            starting.of(partition) if starting else None,
            ending.of(partition) if ending else None,
            events.of(partition) if events else None,
        )
        for partition in wanted
    }


def check_names(key: str, bound: TimeBound | None, partitions: list[TopicPartition]) -> None:
    """Refuse times for what the query does not read, and the lack of one for what it reads. Raises `OptionError`."""
    if bound is None or bound.all is not None:
        return
    read = set(partitions) | {TopicPartition(partition.topic, -1) for partition in partitions}
    missing = [partition.name for partition in partitions if bound.of(partition) is None]
    unknown = [name.name for name, _ in bound.by_name if name not in read]
    if missing or unknown:
        raise OptionError(
            f"option {key!r}: expected a time for each topic or topic partition that the query reads, got "
            + "; ".join(
                ([f"none for {', '.join(missing)}"] if missing else [])
                + ([f"one for {', '.join(unknown)}, which it does not read"] if unknown else [])
            )
        )


def span_of_window(
    ledgers: Iterable[Ledger], window: Window, slack_ms: int
) -> tuple[Position | None, Position | None]:
    """Where the messages of a window can lie: from the first position (None: the topic's first message) to the
    second, exclusive (None: the topic's end).

    `slack_ms`: how far a message's publish time may lie outside the time in which its ledger was open; `read.borders`
    asks whether it does.
    """
    known = list(ledgers)
    start: Position | None = None
    end: Position | None = None
    if window.from_ms is not None:
        for (_, following), closed in zip(pairwise(known), closed_at_latest(known), strict=False):
            if closed is None or closed + slack_ms >= window.from_ms:
                break
            start = Position(following.id, 0)
    if window.before_ms is not None:
        for ledger, opened in reversed(list(zip(known, opened_at_earliest(known), strict=True))):
            if opened is None or opened - slack_ms < window.before_ms:
                break
            end = Position(ledger.id, 0)
    return start, end


def closed_at_latest(ledgers: Sequence[Ledger]) -> list[int | None]:
    """When each ledger was surely closed; None where that is not known. Brokers' clocks differ, and of a ledger whose
    time is not written down some brokers say "now" whenever they are asked: only ledgers in order tell something."""
    found: list[int | None] = []
    latest = 0
    for ledger in ledgers:
        latest = max(latest, ledger.closed_ms or 0)
        found.append(latest if ledger.closed_ms else None)
    return found


def opened_at_earliest(ledgers: Sequence[Ledger]) -> list[int | None]:
    """From when each ledger may have been open: since one before it was closed, by a time that no ledger behind it
    contradicts. None where that is not known."""
    closed = [ledger.closed_ms or None for ledger in ledgers]
    later = [*accumulate(reversed(closed[1:]), _earlier)][::-1]
    found: list[int | None] = [ledgers[0].opened_ms] if ledgers else []
    for time, after in zip(closed[:-1], later, strict=True):
        found.append(found[-1] if time is None or _earlier(time, after) != time else time)
    return found


def _earlier(one: int | None, other: int | None) -> int | None:
    """None says nothing."""
    return min((time for time in (one, other) if time is not None), default=None)


def _bound(key: str, for_all: int | None, text: str | None) -> TimeBound | None:
    if for_all is not None:
        return TimeBound(all=for_all)
    return None if text is None else TimeBound(by_name=tuple(sorted(_parse_json(key, text).items())))


def _parse_json(key: str, text: str) -> Mapping[TopicPartition, int]:
    expected = (
        f"option {key!r}: expected JSON from topic or topic partition to a time such as "
        f'{{"persistent://public/default/t": "2026-01-31T08:00:00Z"}}'
    )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise OptionError(f"{expected}; got {text!r} ({fault})") from None
    if not isinstance(document, dict):
        raise OptionError(f"{expected}; got {text!r}")
    return {TopicPartition.parse(name): _time(key, name, value) for name, value in document.items()}


def _time(key: str, name: str, value: object) -> int:
    """Unix milliseconds as a number or a text, or ISO 8601."""
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            return instant(str(value))
        except ValueError as fault:
            raise OptionError(f"option {key!r}, topic {name!r}: expected {fault}, got {value!r}") from None
    raise OptionError(f"option {key!r}, topic {name!r}: expected a time, got {json.dumps(value)}")
