"""The metadata columns of every topic, whose names begin with two underscores.

All metadata columns are nullable, because Spark treats each column of a data source as nullable. Timestamp columns
contain microseconds and have the time zone UTC, as Spark requires. Pulsar itself stores times in milliseconds.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_INSTANT: Final = pa.timestamp("us", tz="UTC")

MESSAGE_ID_TYPE: Final = pa.struct(
    [
        pa.field("ledger", pa.int64()),
        pa.field("entry", pa.int64()),
        pa.field("batchIndex", pa.int32()),
        pa.field("partition", pa.int32()),
    ]
)

STRING_MAP_TYPE: Final = pa.map_(
    pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string(), nullable=True)
)

DEFAULT_FIELDS: Final = (
    pa.field("__key", pa.binary()),
    pa.field("__topic", pa.string()),
    pa.field("__messageId", MESSAGE_ID_TYPE),
    pa.field("__publishTime", _INSTANT),
    pa.field("__eventTime", _INSTANT),
    pa.field("__messageProperties", STRING_MAP_TYPE),
)
"""The metadata columns that a read returns by default, in this order, after the value columns."""

ON_REQUEST_FIELDS: Final = (
    pa.field("__partition", pa.int32()),
    pa.field("__orderingKey", pa.binary()),
    pa.field("__producerName", pa.string()),
    pa.field("__sequenceId", pa.int64()),
    pa.field("__schemaVersion", pa.int64()),
    pa.field("__messageSize", pa.int32()),
    pa.field("__replicatedFrom", pa.string()),
    pa.field("__index", pa.int64()),
    pa.field("__brokerPublishTime", _INSTANT),
)
"""The metadata columns that a read does not return by default.

Option `columns` can name each of these columns. A read of topics with different schemas also adds `__schemaVersion`.
"""

FIELDS: Final = {field.name: field for field in DEFAULT_FIELDS + ON_REQUEST_FIELDS}
"""Metadata columns that a read can return, by name."""

WRITTEN: Final = (
    "__key",
    "__eventTime",
    "__messageProperties",
    "__orderingKey",
    "__partition",
    "__deliverAt",
    "__replicationClusters",
)
"""The metadata columns whose values a write sends with the message, or uses to choose how to send the message."""

WRITABLE: Final = FIELDS | {
    "__deliverAt": pa.field("__deliverAt", _INSTANT),
    "__replicationClusters": pa.field("__replicationClusters", pa.list_(pa.field("element", pa.string()))),
}
"""Metadata columns that a write accepts, by name.

`__deliverAt` and `__replicationClusters` exist only for writes, because Pulsar does not send their values to readers.
"""

SEQUENCE_ID: Final = "__sequenceId"
"""The column of sequence ids, which a write uses only if the user names the producer.

Without a producer name, the write ignores the column, and Pulsar assigns the sequence ids.
"""

TOMBSTONE: Final = "__tombstone"
"""An internal column that marks the rows for which the kernel writes null values. Users cannot set this column."""

ROUTING: Final = "__topic"
"""The column that names the topic of each row in a write without option `topic`."""

SET_BY_PULSAR: Final = tuple(name for name in FIELDS if name not in (*WRITTEN, ROUTING))
"""The columns that a write accepts and ignores, because Pulsar assigns their values.

A write can therefore accept the rows that a read returned.
"""
