"""The columns that every topic has besides its value; their names begin with two underscores.

All are nullable, as Spark sees every column of a data source. Timestamps are instants in microseconds,
labelled UTC as Spark demands; Pulsar itself keeps milliseconds.
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
"""What a read adds when nothing is said, in this order, after the value columns."""

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
"""What a read adds only when option `columns` names it."""

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
"""The columns that a write stores with the message, or sends it by."""

WRITABLE: Final = FIELDS | {
    "__deliverAt": pa.field("__deliverAt", _INSTANT),
    "__replicationClusters": pa.field("__replicationClusters", pa.list_(pa.field("element", pa.string()))),
}
"""All metadata columns that a write takes, by name. Readers are not told when a message was to be delivered, and where
to."""

SEQUENCE_ID: Final = "__sequenceId"
"""Stored with the message by a write whose producer has a name of the user's; else set by Pulsar."""

TOMBSTONE: Final = "__tombstone"
"""Says in what the kernel is given whether a row is written as a null value; no column of a user."""

ROUTING: Final = "__topic"
"""Names the topic of a row, where no option does."""

SET_BY_PULSAR: Final = tuple(name for name in FIELDS if name not in (*WRITTEN, ROUTING))
"""Accepted by a write and not stored, since Pulsar assigns them: what was read can be written back."""
