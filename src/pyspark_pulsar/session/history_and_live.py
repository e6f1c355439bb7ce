"""The past as a batch and what follows as a stream, of the same topics, with one boundary between them.

The boundary is a position in each topic partition, behind the last message that consumers may see when it is fixed. The
batch ends there (exclusive), and the stream begins there (inclusive). Both get it as JSON in their options, so no row
is in both and none in neither, however often and whenever they run.

Runs in the user's program, which must reach Pulsar; with Spark Connect that is the client's.
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
_OF_STREAMS: Final = frozenset({"subscription_name", "replicate_subscription_state"})
_TOPICS: Final = frozenset({"topic", "topics", "topics_pattern"})


class HistoryAndLive(NamedTuple):
    """What `history_and_live` gives."""

    history: DataFrame
    """A batch: all rows before the boundary."""
    live: DataFrame
    """A stream: all rows from the boundary on."""
    offsets: str
    """The boundary: JSON, as `startingOffsets` and `endingOffsets` take it."""


def history_and_live(spark: SparkSession, table: str | None = None, **options: Any) -> HistoryAndLive:
    """What topics hold now as a batch, and all that follows as a stream. No row is in both, and none in neither.

    `options` are those of `spark.read` and `readStream`, for both parts. `startingOffsets`, `startingTimestamp` and the
    like say where history begins, `subscriptionName` is for the stream, and an end cannot be given. With `table`, a
    table of a Pulsar catalog, the topic and the connection are the catalog's; a Spark Connect server keeps credentials
    to itself, so give those as options there.

    The boundary is fixed in this call, behind the last message of each topic partition that consumers may see; what an
    open transaction has written comes behind it. Topics and partitions that appear later are in the stream, from their
    first message. A checkpoint of the stream wins over the boundary when a query starts again.

    Raises `PulsarError`.
    """
    texts = option_texts(options)
    fields = {key: _field(key) for key in texts}
    _refuse(texts, fields, table)
    connection = {} if table is None else table_options(spark, table)
    ranges = ranges_now(parse_options(ReadOptions, connection | _without(texts, fields, _OF_STREAMS)))
    boundary = _json({request.partition: request.end for request in ranges})
    history = _without(texts, fields, _OF_STREAMS) | {"endingOffsets": boundary}
    if not _TIMES.intersection(fields.values()) and not all(request.start.is_earliest for request in ranges):
        # Fixed here too: a subscription goes on, and partitions that appear have no place in JSON of the user's.
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
                f"option {key!r}: expected no end, as history ends and live begins at their boundary, which is now, "
                f"got {texts[key]!r}; leave it out"
            )
        if name == "starting_offsets" and texts[key].strip().lower() == LogSide.LATEST.value:
            raise OptionError(
                f"option {key!r}: expected where history begins, got {texts[key]!r}, which leaves none; use "
                f"spark.readStream alone"
            )
        if table is not None and name in _TOPICS:
            raise OptionError(
                f"option {key!r}: expected none beside a table, which names its topic, got {texts[key]!r}; leave one "
                f"of them out"
            )


def _field(key: str) -> str | None:
    """Of `ReadOptions`; None for an unknown key, which is refused where options are parsed."""
    for name, option in option_fields(ReadOptions).items():
        if key.lower() in (known.lower() for known in (option.key, *option.aliases)):
            return name
    return None


def _without(
    texts: Mapping[str, str], fields: Mapping[str, str | None], names: AbstractSet[str]
) -> dict[str, str]:
    return {key: text for key, text in texts.items() if fields.get(key) not in names}


def _json(positions: Mapping[TopicPartition, Position]) -> str:
    """As a start all others begin at their first message; as an end nothing of them is read."""
    named = {partition.name: str(position) for partition, position in sorted(positions.items())}
    return json.dumps(named | {OTHERS: LogSide.EARLIEST.value})
