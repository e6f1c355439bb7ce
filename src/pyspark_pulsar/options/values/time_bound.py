"""A time at which a query begins or ends: one for all topic partitions, or one for each topic or partition.

`startingTimestamp` and its like give the first, as a number or ISO 8601; `startingOffsetsByTimestamp` and its like the
second, as JSON from topic or topic partition to such a time. Checkpoints hold such bounds too (`StreamOffset`). Which
topic partitions there are is not known here; `read.bounds.timestamps` makes a `TimeWindow` for each.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.parsers import instant, text as not_empty
from pyspark_pulsar.options.values.json_object import json_object


@dataclass(frozen=True, slots=True)
class TimeBound:
    """Unix milliseconds, inclusive as a start and exclusive as an end. Either `all` or `by_name` is set."""

    all: int | None = None
    by_name: tuple[tuple[TopicPartition, int], ...] = ()
    """Sorted. A topic stands there as a `TopicPartition` whose index is -1."""

    @classmethod
    def parse(cls, key: str, text: str) -> TimeBound:
        """JSON from topic or topic partition to a time. `key` names the option in errors. Raises `OptionError`."""
        expected = (
            "JSON from topic or topic partition to a time such as "
            '{"persistent://public/default/t": "2026-01-31T08:00:00Z"}'
        )
        document = json_object(key, text, expected)
        times = {TopicPartition.parse(name): _time(key, name, value) for name, value in document.items()}
        return cls(by_name=tuple(sorted(times.items())))

    def of(self, partition: TopicPartition) -> int | None:
        """A partition's own time wins over that of its topic. None: the bound says nothing of it."""
        times = dict(self.by_name)
        return times.get(partition, times.get(TopicPartition(partition.topic, -1), self.all))


def times_by_topic(key: str) -> Callable[[str], TimeBound]:
    """The parser of the option `key`."""
    return lambda value: TimeBound.parse(key, not_empty(value))


def one_bound(time: int | None, by_topic: TimeBound | None) -> TimeBound | None:
    """Of two options that exclude each other; None where neither is given."""
    return by_topic if time is None else TimeBound(all=time)


def _time(key: str, name: str, value: object) -> int:
    """Unix milliseconds as a number or a text, or ISO 8601."""
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            return instant(str(value))
        except ValueError as fault:
            raise OptionError(f"option {key!r} says {value!r} for topic {name!r}: expected {fault}") from None
    raise OptionError(f"option {key!r} says {json.dumps(value)} for topic {name!r}: expected a time")
