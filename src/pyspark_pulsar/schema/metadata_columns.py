"""The metadata columns of every topic. Their names begin with two underscores.

All are nullable, because Spark treats each column of a data source as nullable. Timestamps are instants in microseconds
with the zone UTC, as Spark requires. Pulsar itself stores milliseconds.
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
"""The columns that a read adds by default after the value columns, in this order."""

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
"""The columns that a read adds only if option `columns` names them."""

FIELDS: Final = {field.name: field for field in DEFAULT_FIELDS + ON_REQUEST_FIELDS}
"""All metadata columns by name."""

WRITTEN: Final = (
    "__key",
    "__eventTime",
    "__messageProperties",
    "__orderingKey",
    "__partition",
    "__deliverAt",
    "__replicationClusters",
)
"""The columns that a write stores with the message, or that determine how it sends the message."""

WRITABLE: Final = FIELDS | {
    "__deliverAt": pa.field("__deliverAt", _INSTANT),
    "__replicationClusters": pa.field("__replicationClusters", pa.list_(pa.field("element", pa.string()))),
}
"""All metadata columns that a write accepts, by name.

The delivery time and the replication clusters are for writes only, because Pulsar does not report them to readers.
"""

SEQUENCE_ID: Final = "__sequenceId"
"""A column that a write stores only if the user named the producer. Otherwise Pulsar assigns the value."""

TOMBSTONE: Final = "__tombstone"
"""An internal column for the kernel, which marks the rows to write as null values. Users cannot set it."""

ROUTING: Final = "__topic"
"""The column with the topic of a row, for a write without option `topic`."""

SET_BY_PULSAR: Final = tuple(name for name in FIELDS if name not in (*WRITTEN, ROUTING))
"""The columns that a write accepts and ignores, because Pulsar assigns them. So rows of a read can be written."""
