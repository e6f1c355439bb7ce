"""The schemas and rows of a topic's system tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.names import parse_table
from pyspark_pulsar.catalog.partition_ends import query_ends
from pyspark_pulsar.client.admin.schemas import RegisteredSchema
from pyspark_pulsar.errors import CatalogUnsupported, PermissionDenied, SchemaError
from pyspark_pulsar.inspect.tables import SEGMENTS, moment, segments_table
from pyspark_pulsar.model.position import after_entry
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topics import partitions_of
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import split
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.types.type_text import type_text

_TIME: Final = pa.timestamp("us", "UTC")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    "segments": SEGMENTS.set(
        SEGMENTS.get_field_index("bookies"),
        pa.field("bookies", pa.list_(pa.field("element", pa.string()))),  # Spark's name for the items
    ),
    "offsets": pa.schema(
        {
            "partition": pa.int32(),
            "earliest": pa.string(),
            "latest": pa.string(),
            "entries": pa.int64(),
            "bytes": pa.int64(),
            "last_published": _TIME,
        }
    ),
    "subscriptions": pa.schema(
        {
            "subscription": pa.string(),
            "partition": pa.int32(),
            "type": pa.string(),
            "durable": pa.bool_(),
            "backlog": pa.int64(),
            "position": pa.string(),
            "unacknowledged": pa.int64(),
            "connected": pa.int32(),
            "last_consumed": _TIME,
            "rate": pa.float64(),
        }
    ),
    "schemas": pa.schema(
        {
            "version": pa.int64(),
            "type": pa.string(),
            "registered": _TIME,
            "columns": pa.string(),
            "document": pa.string(),
            "properties": pa.string(),
        }
    ),
    "tier": pa.schema(
        {
            "topic": pa.string(),
            "partition": pa.int32(),
            "table": pa.string(),
            "format": pa.string(),
            "end": pa.string(),
            "ledgers_behind": pa.int64(),
            "bytes_behind": pa.int64(),
            "seconds_behind": pa.float64(),
            "retention_used": pa.float64(),
            "lost": pa.list_(pa.field("element", pa.string())),
            "rows": pa.int64(),
            "files": pa.int64(),
            "bytes": pa.int64(),
            "small_files": pa.int64(),
            "fault": pa.string(),
        }
    ),
}
"""The schemas by the word of the system table. In the column `partition`, -1 means a topic without partitions."""

Row = dict[str, Any]


def rows(cluster: Cluster, namespace: Sequence[str], table: str) -> list[list[Any]]:
    """Return the rows of a system table, in the order of its schema.

    Returns:
        The rows. Times are texts in ISO 8601, in UTC with microseconds. All other values are JSON values.

    Raises:
        TopicNotFoundError: The topic does not exist.
        PermissionDenied: The role is not allowed to see the rows.
        OptionError: The system table needs `admin.url`, and `admin.url` is not set.
        CatalogUnsupported: `table` is not the name of a system table in `SCHEMAS`.

    """
    named = parse_table(namespace, table)
    if named.system is None or named.system not in _ROWS:
        raise CatalogUnsupported(
            f"table {table}: expected one of the system tables {', '.join('topic$' + word for word in SCHEMAS)}, got "
            f"another table; correct the name"
        )
    count = cluster.client.partition_count(named.topic)
    table_rows = _ROWS[named.system](cluster, named.topic, count)
    fields = SCHEMAS[named.system].names
    return [[_plain(row[name]) for name in fields] for row in table_rows]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        naive = value.astimezone(UTC).replace(tzinfo=None)
        return naive.isoformat(timespec="microseconds") + "Z"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _segments(cluster: Cluster, topic: TopicName, count: int) -> Iterable[Row]:  # noqa: ARG001
    from pyspark_pulsar.inspect.segments import survey

    options = replace(cluster.settings.connection, topic=str(topic))
    return list(segments_table(survey(options)).to_pylist())


def _offsets(cluster: Cluster, topic: TopicName, count: int) -> Iterable[Row]:
    return offsets_of(cluster, partitions_of(topic, count))


def offsets_of(cluster: Cluster, partitions: Sequence[TopicPartition]) -> Iterable[Row]:
    """Yield the rows of the system table `$offsets`. The role must have the right to consume.

    The values of `entries` and `bytes` are from the admin REST API. Both values are None without `admin.url`, or if the
    role is not allowed to use the admin REST API.
    """
    kept = _stored_sizes(cluster, partitions)
    for partition in partitions:
        ends = query_ends(cluster.client, partition)
        known = kept.get(partition, {})
        yield {
            "partition": partition.index,
            "earliest": str(ends.earliest),
            "latest": str(ends.latest),
            "entries": known.get("numberOfEntries"),
            "bytes": known.get("totalSize"),
            "last_published": moment(ends.last_published_ms),
        }


def _stored_sizes(
    cluster: Cluster, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, Mapping[str, Any]]:
    if not cluster.has_admin:
        return {}
    try:
        return _internal_stats(cluster, partitions)
    except PermissionDenied:
        return {}


def _subscriptions(cluster: Cluster, topic: TopicName, count: int) -> Iterable[Row]:
    partitions = partitions_of(topic, count)
    admin = cluster.admin
    answers = cluster.threads.map(lambda partition: admin.topics.stats(partition.as_topic, 0), partitions)
    cursors = _internal_stats(cluster, partitions)
    for partition, stats in zip(partitions, answers, strict=True):
        known = cursors[partition].get("cursors") or {}
        for name, subscription in sorted((stats.get("subscriptions") or {}).items()):
            yield _subscription(partition, name, subscription, known.get(name) or {})


def _subscription(
    partition: TopicPartition, name: str, subscription: Mapping[str, Any], cursor: Mapping[str, Any]
) -> Row:
    return {
        "subscription": name,
        "partition": partition.index,
        "type": subscription.get("type") or None,
        "durable": subscription.get("isDurable", subscription.get("durable")),
        "backlog": subscription.get("msgBacklog"),
        "position": _first_unacknowledged(cursor.get("markDeletePosition")),
        "unacknowledged": subscription.get("unackedMessages"),
        "connected": len(subscription.get("consumers") or ()),
        "last_consumed": moment(subscription.get("lastConsumedTimestamp") or None),
        "rate": subscription.get("msgRateOut"),
    }


def _first_unacknowledged(mark_delete: Any) -> str | None:
    """Return the position of the first message that is not acknowledged."""
    ledger, separator, entry = str(mark_delete or "").partition(":")
    try:
        number, last = int(ledger), int(entry)
    except ValueError:
        return None
    if last < 0:
        return f"{number}:0:0" if separator and number >= 0 else str(after_entry(-1, -1))
    return str(after_entry(number, last))


def _internal_stats(
    cluster: Cluster, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, Mapping[str, Any]]:
    admin = cluster.admin
    answers = cluster.threads.map(admin.topics.internal_stats, partitions)
    return dict(zip(partitions, answers, strict=True))


def _schemas(cluster: Cluster, topic: TopicName, count: int) -> Iterable[Row]:  # noqa: ARG001
    whole = topic.without_partition()
    return [_schema(registered, whole) for registered in cluster.admin.schemas.versions(whole)]


def _schema(registered: RegisteredSchema, topic: TopicName) -> Row:
    info = registered.info
    return {
        "version": info.version_count,
        "type": info.type.name,
        "registered": moment(registered.registered_ms or None),
        "columns": _columns(info, topic),
        "document": _document(info, topic),
        "properties": json.dumps(dict(info.properties), ensure_ascii=False),
    }


def _columns(info: SchemaInfo, topic: TopicName) -> str | None:
    """Return the columns in the syntax of CREATE TABLE; None if the schema cannot be read."""
    try:
        columns = resolve_read_schema(info, topic=str(topic)).value_columns
    except SchemaError:
        return None
    return ", ".join(f"{_quoted(column.name)} {type_text(column.type)}" for column in columns)


def _quoted(name: str) -> str:
    """Quote a name for SQL if necessary. This function exists because Spark's `toDDL` needs a session."""
    return name if _IDENTIFIER.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _document(info: SchemaInfo, topic: TopicName) -> str | None:
    """Return the document of a schema as text.

    The text for a KEY_VALUE schema is a JSON object with the documents of the key schema and the value schema.
    """
    try:
        if info.type is not SchemaType.KEY_VALUE:
            return info.text or None
        pair = split(info, topic=str(topic))
        return json.dumps({"key": pair.key.text, "value": pair.value.text}, ensure_ascii=False)
    except SchemaError:
        return None


def _tier(cluster: Cluster, topic: TopicName, count: int) -> Iterable[Row]:  # noqa: ARG001
    """Return the rows of the system table `$tier`. Raises `CatalogUnsupported` and the errors of `tier_status`."""
    from pyspark_pulsar.history.tiering.status import status_rows, tier_status

    return status_rows(tier_status(with_tables(cluster, topic), [topic]))


def with_tables(cluster: Cluster, topic: TopicName) -> ReadOptions:
    """Return the read options. Raises `CatalogUnsupported` if the options do not locate the tables of topics."""
    options = cluster.settings.connection
    if not options.names_tables:
        raise CatalogUnsupported(
            f"topic {topic}: expected the setting 'tierCatalog', which locates the tables of topics, got none; "
            f"set spark.sql.catalog.<name>.tierCatalog"
        )
    return options


_ROWS: Final[Mapping[str, Callable[[Cluster, TopicName, int], Iterable[Row]]]] = {
    "segments": _segments,
    "offsets": _offsets,
    "subscriptions": _subscriptions,
    "schemas": _schemas,
    "tier": _tier,
}
