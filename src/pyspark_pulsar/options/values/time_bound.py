"""Times at which a query begins or ends, for all topic partitions or for each topic or partition.

Options such as `startingTimestamp` set one time, as a number or in ISO 8601. Options such as
`startingOffsetsByTimestamp` set several times, as JSON from topic or topic partition to time. Checkpoints
(`StreamOffset`) also contain time bounds. The parser does not know which topic partitions exist;
`read.bounds.timestamps` makes a `TimeWindow` for each topic partition.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError, TopicNameError
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.parsers import instant
from pyspark_pulsar.options.values.json_object import json_object

_EXPECTED: Final = (
    "JSON from topic or topic partition to a time such as "
    '{"persistent://public/default/t": "2026-01-31T08:00:00Z"}'
)
_TIME: Final = "Unix milliseconds, or ISO 8601 with a zone such as 2026-01-31T08:00:00Z"


@dataclass(frozen=True, slots=True)
class TimeBound:
    """A time bound in Unix milliseconds, inclusive as a start and exclusive as an end.

    Attributes:
        all: The time of all topic partitions; None if `by_name` is set.
        by_name: Times of topics and partitions, sorted. A topic is a `TopicPartition` with the index -1.

    """

    all: int | None = None
    by_name: tuple[tuple[TopicPartition, int], ...] = ()

    @classmethod
    def parse(cls, key: str, text: str) -> TimeBound:
        """Parse JSON from topic or topic partition to a time.

        Args:
            key: The option's name, for errors.
            text: The text of the option.

        Raises:
            OptionError: If the text has another form.

        """
        document = json_object(key, text, _EXPECTED)
        times = {_partition(key, name): _time(key, name, value) for name, value in document.items()}
        return cls(by_name=tuple(sorted(times.items())))

    def time_of(self, partition: TopicPartition) -> int | None:
        """Return the time of a topic partition, or None if the bound has no time for the topic partition.

        The time of the partition has precedence over the time of its topic. If `by_name` contains neither, `all`
        applies.
        """
        times = dict(self.by_name)
        return times.get(partition, times.get(TopicPartition(partition.topic, -1), self.all))


def times_by_topic(key: str) -> Callable[[str], TimeBound]:
    """Return the parser of the option `key`."""

    def parse(value: str) -> TimeBound:
        if not value.strip():
            raise ValueError(_EXPECTED)
        return TimeBound.parse(key, value.strip())

    return parse


def one_bound(time: int | None, by_topic: TimeBound | None) -> TimeBound | None:
    """Return the time bound of two options that exclude each other, or None if neither option is set."""
    return by_topic if time is None else TimeBound(all=time)


def _partition(key: str, name: str) -> TopicPartition:
    try:
        return TopicPartition.parse(name)
    except TopicNameError as fault:
        raise OptionError(f"option {key!r}: {fault}") from None


def _time(key: str, name: str, value: object) -> int:
    """Return a time in Unix milliseconds.

    The value is a number of Unix milliseconds, or a text with such a number or a time in ISO 8601.
    """
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            return instant(str(value))
        except ValueError as fault:
            raise OptionError(f"option {key!r} sets {value!r} for topic {name!r}: expected {fault}") from None
    raise OptionError(f"option {key!r} sets {json.dumps(value)} for topic {name!r}: expected a time: {_TIME}")
