"""How one payload lies in bytes, as the kernel is told: a message's value, or one side of a key-value pair."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class PayloadSchema:
    """Picklable; made on the driver for the executors.

    `value_type` is the kernel's name of the type: a primitive's, or the format of a record. For a record,
    `value_schema` holds its fields in the units of `document`, and `document` is what describes them, for Avro
    and JSON an Avro schema; both are None for a primitive.
    """

    value_type: str
    value_schema: pa.Schema | None = None
    document: str | None = None
