"""The changelog of a table for SQL's `CHANGES`: the changelog's columns and the read options of the data source."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.names import parse_table
from pyspark_pulsar.catalog.properties.table_properties import has_separated_keys, key_column
from pyspark_pulsar.catalog.tables import own_properties, read_schema
from pyspark_pulsar.codec.changes import COLUMNS
from pyspark_pulsar.errors import CatalogUnsupported, OptionError, PermissionDenied
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.types.spark import spark_schema

_KEY_OF_PAIRS: Final = "key"
_NET: Final = "netChanges"


def load_changelog(
    cluster: Cluster,
    namespace: Sequence[str],
    table: str,
    bounds: Mapping[str, Any],
    deduplication: str,
    *,
    updates: bool,
) -> dict[str, Any]:
    """Return the schema, the read options and the key column of a table's changelog.

    Args:
        cluster: The cluster of the catalog.
        namespace: The parts of the namespace.
        table: The table's name.
        bounds: The range of the changes. `kind` is `version` (`start` and `end` are texts), `timestamp` (`start` and
            `end` are Unix microseconds) or `none`. `start_inclusive` and `end_inclusive` are booleans.
        deduplication: The value of Spark's option `deduplicationMode`.
        updates: The value of Spark's option `computeUpdates`.

    Raises:
        CatalogUnsupported: The messages do not contain the requested information, or the table is a system table.
        TopicNotFoundError: The topic does not exist.

    """
    named = parse_table(namespace, table)
    if named.system is not None:
        raise CatalogUnsupported(
            f"CHANGES of {named.name}: expected the table of a topic, got a system table; name the topic"
        )
    topic = named.topic
    resolved = read_schema(cluster, topic)
    separated = has_separated_keys(resolved.info, topic)
    key = _KEY_OF_PAIRS if separated else _key(cluster, topic)
    if key is not None and (updates or deduplication == _NET):
        requested = "computeUpdates" if updates else f"deduplicationMode={_NET}"
        raise CatalogUnsupported(
            f"CHANGES of {topic}: expected neither computeUpdates nor deduplicationMode={_NET}, got {requested}. A "
            "message contains a row's present values, not its earlier values; remove the option, or keep the last "
            "change of each key by a window over _commit_version"
        )
    columns = pa.schema([*resolved.value_columns, *COLUMNS])
    return {
        "schema": spark_schema(columns).jsonValue(),
        "read_options": {
            **cluster.settings.read_options(topic),
            "changes": json.dumps({"key": key, "separated": separated}),
            **_bounds(topic, bounds),
        },
        "key": key,
    }


def _key(cluster: Cluster, topic: TopicName) -> str | None:
    """Return the value column that is the key; None if the table has no key column.

    Raises:
        PermissionDenied: The role is not allowed to read the key column. Without the key column, the changes would be
            wrong.
        OptionError: `admin.url` is not set.

    """
    if not cluster.has_admin:
        raise OptionError(
            f"CHANGES of {topic}: expected the setting 'admin.url', which is needed to find the table's key column, "
            "got none; set admin.url"
        )
    try:
        return key_column(own_properties(cluster.brief_admin, topic))
    except PermissionDenied as fault:
        raise PermissionDenied(f"CHANGES of {topic}: the table's key column is unknown: {fault}") from None


def _bounds(topic: TopicName, bounds: Mapping[str, Any]) -> dict[str, str]:
    start, end = bounds.get("start"), bounds.get("end")
    if bounds["kind"] == "timestamp":
        options = {} if start is None else {"startingTimestamp": str(_start_ms(start, bounds))}
        return options if end is None else {**options, "endingTimestamp": str(_end_ms(end, bounds))}
    options = {} if start is None else {"startingOffsets": _offsets(topic, start)}
    if start is not None and not bounds["start_inclusive"] and start != "earliest":
        raise CatalogUnsupported(
            f"CHANGES of {topic}: expected FROM VERSION without EXCLUSIVE, got EXCLUSIVE. A position already refers "
            "to the next message; remove EXCLUSIVE"
        )
    if end is None or end == "latest":
        return options
    if bounds["end_inclusive"]:
        raise CatalogUnsupported(
            f"CHANGES of {topic}: expected TO VERSION ... EXCLUSIVE, got an inclusive version. A position refers to "
            "the next message, so the changes end before this message; add EXCLUSIVE"
        )
    return {**options, "endingOffsets": _offsets(topic, end)}


def _offsets(topic: TopicName, version: str) -> str:
    """Convert a version to the value of `startingOffsets` or `endingOffsets`.

    A position becomes JSON that sets the position for `topic`, which must have no partitions. Other texts stay
    unchanged.
    """
    try:
        position = Position.parse(version)
    except OptionError:
        return version
    return version if position.is_earliest else json.dumps({str(topic): str(position)})


def _start_ms(microseconds: int, bounds: Mapping[str, Any]) -> int:
    """Return the inclusive start time in Unix milliseconds: the first whole millisecond in the range."""
    if bounds["start_inclusive"]:
        return -(-microseconds // 1000)
    return microseconds // 1000 + 1


def _end_ms(microseconds: int, bounds: Mapping[str, Any]) -> int:
    """Return the exclusive end time in Unix milliseconds: the first whole millisecond after the range."""
    return microseconds // 1000 + 1 if bounds["end_inclusive"] else -(-microseconds // 1000)
