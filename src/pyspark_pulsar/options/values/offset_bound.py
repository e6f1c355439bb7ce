"""What `startingOffsets` and `endingOffsets` say: a symbol, or JSON from topic partition to position.

The form of the text is Kafka's for Spark, with positions of Pulsar: `earliest`, `latest`, or
`{"persistent://public/default/t-partition-0": "12:7:0", "*": "earliest"}`. Which topic partitions there are is not
known here; `read.bounds.offsets` finds the position in each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.parsers import text as not_empty
from pyspark_pulsar.options.values.json_object import json_object

OTHERS: Final = "*"
"""In the JSON: all topic partitions that it does not name."""


class LogSide(Enum):
    """One of the two sides of a topic partition's log."""

    EARLIEST = "earliest"
    """Before the first message, whatever retention has left."""
    LATEST = "latest"
    """Behind the last message that there is when the bound is resolved."""


_SYMBOLS: Final = tuple(LogSide)


@dataclass(frozen=True, slots=True)
class OffsetBound:
    """The start (inclusive) or the end (exclusive) of a query in each topic partition."""

    text: str
    """As it was given: the offset of a query that has not started says it again."""
    others: LogSide | None = None
    """Of all topic partitions that are not named; None where all must be."""
    named: tuple[tuple[TopicPartition, Position | LogSide], ...] = ()

    @classmethod
    def parse(cls, key: str, text: str, symbols: tuple[LogSide, ...] = _SYMBOLS) -> OffsetBound:
        """`key` names the option in errors; `symbols` may stand alone, without JSON. Raises `OptionError`."""
        for side in symbols:
            if text.lower() == side.value:
                return cls(text, others=side)
        document = _positions_by_name(key, text, symbols)
        others = _side_of_others(key, document.pop(OTHERS)) if OTHERS in document else None
        named: dict[TopicPartition, Position | LogSide] = {}
        for name, value in document.items():
            try:
                named[TopicPartition.parse(name)] = (
                    LogSide.LATEST if value == LogSide.LATEST.value else Position.parse(value)
                )
            except OptionError as fault:
                raise OptionError(f"option {key!r}, topic {name!r}: {fault}") from None
        return cls(text, others, tuple(named.items()))


FROM_EARLIEST: Final = OffsetBound(LogSide.EARLIEST.value, LogSide.EARLIEST)
FROM_LATEST: Final = OffsetBound(LogSide.LATEST.value, LogSide.LATEST)


def offset_bound(key: str, *symbols: LogSide) -> Callable[[str], OffsetBound]:
    """The parser of the option `key`."""
    return lambda value: OffsetBound.parse(key, not_empty(value), symbols)


def _positions_by_name(key: str, text: str, symbols: tuple[LogSide, ...]) -> dict[str, Any]:
    """Its values are texts."""
    expected = (
        f"{_listed(symbols)}, or JSON from topic partition to position such as "
        f'{{"persistent://public/default/t-partition-0": "12:7:0"}}'
    )
    document = json_object(key, text, expected)
    if not all(isinstance(value, str) for value in document.values()):
        raise OptionError(f"option {key!r} is {text!r}: expected {expected}")
    return document


def _side_of_others(key: str, text: str) -> LogSide:
    for side in LogSide:
        if text == side.value:
            return side
    raise OptionError(
        f"option {key!r} says {text!r} for {OTHERS!r}, all topic partitions that are not named: expected "
        f"{_listed(_SYMBOLS)}; name each that begins or ends elsewhere"
    )


def _listed(symbols: tuple[LogSide, ...]) -> str:
    return " or ".join(side.value for side in symbols)
