"""The history of topics as a batch, and the live messages of the topics as a stream.

One boundary is between the batch and the stream. In each topic partition, the boundary is the position after the last
message that consumers can see at the time of the call. The batch ends before the boundary (exclusive), and the stream
begins at the boundary (inclusive). The options of the batch and of the stream contain the boundary as JSON. So each row
is either in the batch or in the stream, no matter when and how often the two run.

This module runs in the user's program, which must reach Pulsar. With Spark Connect, the user's program is the client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.inspect.tables import option_texts
from pyspark_pulsar.options import ReadOptions, option_fields, parse_options
from pyspark_pulsar.options.values.offset_bound import OTHERS, LogSide
from pyspark_pulsar.read.batch.batch_plan import ranges_now
from pyspark_pulsar.session.catalog_table import table_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pyspark_pulsar.model.position import Position
    from pyspark_pulsar.model.topic import TopicPartition

_ENDS: Final = frozenset(
    {
        "ending_offsets",
        "ending_timestamp",
        "ending_offsets_by_timestamp",
        "ending_event_time",
        "ending_offsets_by_event_time",
    }
)
_TIMES: Final = frozenset({"starting_timestamp", "starting_offsets_by_timestamp"})
_STARTS: Final = _TIMES | {"starting_offsets", "starting_subscription"}
_STREAM_OPTIONS: Final = frozenset({"subscription_name", "replicate_subscription_state"})
_TOPICS: Final = frozenset({"topic", "topics", "topics_pattern"})


class HistoryAndLive(NamedTuple):
    """The result of `history_and_live`."""

    history: DataFrame
    """A batch of all rows before the boundary."""
    live: DataFrame
    """A stream of all rows at or after the boundary."""
    offsets: str
    """The boundary as JSON, a value for `startingOffsets` and `endingOffsets`."""


def history_and_live(spark: SparkSession, table: str | None = None, **options: Any) -> HistoryAndLive:
    """Return the messages that topics have now as a batch, and all later messages as a stream.

    Each row is either in the batch or in the stream. This call fixes the boundary between the batch and the stream. In
    each topic partition, the boundary is after the last message that consumers may see. Rows of an open transaction are
    after the boundary. The stream contains all messages of topics and partitions that are created later. When a query
    restarts, the stream's checkpoint has priority over the boundary.

    Args:
        spark: The session.
        table: A table of a Pulsar catalog, which sets the topic and the connection. A Spark Connect server does not
            send credentials, so pass them as options there.
        **options: Options of `spark.read` and `readStream`, for both parts. `startingOffsets`, `startingTimestamp` and
            similar options set the start of the history. `subscriptionName` applies only to the stream. Options that
            set an end are not allowed.

    Raises:
        PulsarError: An option is invalid, or Pulsar cannot be reached.

    """
    texts = option_texts(options)
    fields = {key: _field(key) for key in texts}
    _refuse(texts, fields, table)
    connection = {} if table is None else table_options(spark, table)
    ranges = ranges_now(parse_options(ReadOptions, connection | _without(texts, fields, _STREAM_OPTIONS)))
    boundary = _json({request.partition: request.end for request in ranges})
    history = _without(texts, fields, _STREAM_OPTIONS) | {"endingOffsets": boundary}
    if not _TIMES.intersection(fields.values()) and not all(request.start.is_earliest for request in ranges):
        # Fix the start too, because a subscription's position changes, and the user's JSON lacks partitions that appear
        # later.
        starts = _json({request.partition: request.start for request in ranges})
        history = _without(history, fields, _STARTS) | {"startingOffsets": starts}
    live = _without(texts, fields, _STARTS) | {"startingOffsets": boundary}
    reader, stream = spark.read.options(**history), spark.readStream.options(**live)
    if table is None:
        return HistoryAndLive(reader.format("pulsar").load(), stream.format("pulsar").load(), boundary)
    return HistoryAndLive(reader.table(table), stream.table(table), boundary)


def _refuse(texts: Mapping[str, str], fields: Mapping[str, str | None], table: str | None) -> None:
    for key, name in fields.items():
        if name in _ENDS:
            raise OptionError(
                f"option {key!r}: expected no end, got {texts[key]!r}; remove the option, because history ends "
                f"and live begins now"
            )
        if name == "starting_offsets" and texts[key].strip().lower() == LogSide.LATEST.value:
            raise OptionError(
                f"option {key!r}: expected the start of the history, got {texts[key]!r}, which leaves no history; use "
                f"spark.readStream alone"
            )
        if table is not None and name in _TOPICS:
            raise OptionError(
                f"option {key!r}: expected no topic in addition to the table, got {texts[key]!r}; remove the option, "
                f"because the table determines the topic"
            )


def _field(key: str) -> str | None:
    """Return the name of an option's field in `ReadOptions`, or None if the key is unknown.

    Parsing rejects unknown keys later.
    """
    for name, option in option_fields(ReadOptions).items():
        if key.lower() in (known.lower() for known in (option.key, *option.aliases)):
            return name
    return None


def _without(
    texts: Mapping[str, str], fields: Mapping[str, str | None], names: AbstractSet[str]
) -> dict[str, str]:
    return {key: text for key, text in texts.items() if fields.get(key) not in names}


def _json(positions: Mapping[TopicPartition, Position]) -> str:
    """Return positions as JSON, with `earliest` for all other partitions.

    A start of `earliest` reads all messages of a partition, and an end of `earliest` reads no message.
    """
    named = {partition.name: str(position) for partition, position in sorted(positions.items())}
    return json.dumps(named | {OTHERS: LogSide.EARLIEST.value})
