"""`CHANGES` of a table: what Spark is told of its changelog, and the options that read it."""

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
    """`bounds`: `start` and `end` of `kind` version (texts), timestamp (Unix microseconds) or none, each inclusive or
    not. Raises `CatalogUnsupported` for what a topic does not tell, `TopicNotFoundError`."""
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
        asked = "computeUpdates" if updates else f"deduplicationMode={_NET}"
        raise CatalogUnsupported(
            f"CHANGES of {topic}: expected none of computeUpdates and deduplicationMode={_NET}, got {asked}; a message "
            "says what a row is now, not what it was before, or whether it was there: keep the last change of each "
            "key by a window over _commit_version, or leave it out"
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
    """The column of the value that is the key, if the table has one. Raises `PermissionDenied` where that is not known:
    changes of another kind would come in silence."""
    if not cluster.has_admin:
        raise OptionError(
            f"CHANGES of {topic}: expected the setting 'admin.url', over which the table's key column is asked for, "
            "got none; give it"
        )
    try:
        return key_column(own_properties(cluster.brief_admin, topic))
    except PermissionDenied as fault:
        raise PermissionDenied(f"CHANGES of {topic}: the table's key column is not known: {fault}") from None


def _bounds(topic: TopicName, bounds: Mapping[str, Any]) -> dict[str, str]:
    start, end = bounds.get("start"), bounds.get("end")
    if bounds["kind"] == "timestamp":
        options = {} if start is None else {"startingTimestamp": str(_start_ms(start, bounds))}
        return options if end is None else {**options, "endingTimestamp": str(_end_ms(end, bounds))}
    options = {} if start is None else {"startingOffsets": _offsets(topic, start)}
    if start is not None and not bounds["start_inclusive"] and start != "earliest":
        raise CatalogUnsupported(
            f"CHANGES of {topic}: expected a version to begin with, got one EXCLUSIVE; a position is the next message: "
            "leave the word out"
        )
    if end is None or end == "latest":
        return options
    if bounds["end_inclusive"]:
        raise CatalogUnsupported(
            f"CHANGES of {topic}: expected TO VERSION ... EXCLUSIVE, got an inclusive one; a position is the next "
            "message, before which the changes end"
        )
    return {**options, "endingOffsets": _offsets(topic, end)}


def _offsets(topic: TopicName, version: str) -> str:
    """As the options take it; of a topic without partitions `_commit_version` alone."""
    try:
        position = Position.parse(version)
    except OptionError:
        return version
    return version if position.is_earliest else json.dumps({str(topic): str(position)})


def _start_ms(microseconds: int, bounds: Mapping[str, Any]) -> int:
    """Publish times are whole milliseconds."""
    if bounds["start_inclusive"]:
        return -(-microseconds // 1000)
    return microseconds // 1000 + 1


def _end_ms(microseconds: int, bounds: Mapping[str, Any]) -> int:
    """Exclusive."""
    return microseconds // 1000 + 1 if bounds["end_inclusive"] else -(-microseconds // 1000)
