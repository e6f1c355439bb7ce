"""The values of `startingOffsets` and `endingOffsets`: a symbol, or JSON from topic partition to position.

The text has the form of Spark's Kafka source, with positions of Pulsar: `earliest`, `latest`, or
`{"persistent://public/default/t-partition-0": "12:7:0", "*": "earliest"}`. The parser does not know which topic
partitions exist; `read.bounds.offsets` later resolves the position in each topic partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.json_object import json_object

OTHERS: Final = "*"
"""The key in the JSON for all topic partitions without a key of their own."""


class LogSide(Enum):
    """The beginning or the end of a topic partition's log."""

    EARLIEST = "earliest"
    """The position before the first retained message."""
    LATEST = "latest"
    """The position after the last message at the time when the bound is resolved."""


_SYMBOLS: Final = tuple(LogSide)


@dataclass(frozen=True, slots=True)
class OffsetBound:
    """The start (inclusive) or the end (exclusive) of a query in each topic partition.

    Attributes:
        text: The text of the option. The offset of a query that has not started contains this text.
        others: The bound of all topic partitions that `named` lacks; None if `named` must contain all topic partitions.
        named: The bounds of single topic partitions.

    """

    text: str
    others: LogSide | None = None
    named: tuple[tuple[TopicPartition, Position | LogSide], ...] = ()

    @classmethod
    def parse(cls, key: str, text: str, symbols: tuple[LogSide, ...] = _SYMBOLS) -> OffsetBound:
        """Parse the text of an option.

        Args:
            key: The option's name, for errors.
            text: The text of the option.
            symbols: The symbols that are accepted without JSON.

        Raises:
            OptionError: If the text has another form, or names a topic or position that is malformed.

        """
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
    """Return the parser of the option `key`."""

    def parse(value: str) -> OffsetBound:
        if not value.strip():
            raise ValueError(_expected(symbols))
        return OffsetBound.parse(key, value.strip(), symbols)

    return parse


def _expected(symbols: tuple[LogSide, ...]) -> str:
    return (
        f"{_listed(symbols)}, or JSON from topic partition to position such as "
        f'{{"persistent://public/default/t-partition-0": "12:7:0"}}'
    )


def _positions_by_name(key: str, text: str, symbols: tuple[LogSide, ...]) -> dict[str, Any]:
    """Return the JSON object, whose values are texts."""
    expected = _expected(symbols)
    document = json_object(key, text, expected)
    if not all(isinstance(value, str) for value in document.values()):
        raise OptionError(f"option {key!r} is {text!r}: expected {expected}")
    return document


def _side_of_others(key: str, text: str) -> LogSide:
    for side in LogSide:
        if text == side.value:
            return side
    raise OptionError(
        f"option {key!r} sets {text!r} for {OTHERS!r}, all topic partitions without a key of their own: expected "
        f"{_listed(_SYMBOLS)}; add a key for each topic partition with another position"
    )


def _listed(symbols: tuple[LogSide, ...]) -> str:
    return " or ".join(side.value for side in symbols)
