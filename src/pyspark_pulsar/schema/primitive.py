"""Topics whose value is one primitive: a single column `value`.

BYTES, NONE and a topic without any schema are the same to a reader: the payload as it is. DATE, TIME and
TIMESTAMP are Java's old classes, which are all instants in milliseconds: the day and the time of day are those in
UTC. Spark holds microseconds; INSTANT, LOCAL_TIME and LOCAL_DATE_TIME lose the digits below them when read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

VALUE_COLUMN: Final = "value"


@dataclass(frozen=True)
class Primitive:
    """A registry primitive: the kernel's name of it, its Arrow type, and the name Java registers."""

    value_type: str
    arrow_type: pa.DataType
    schema_name: str


PRIMITIVES: Final = {
    SchemaType.BYTES: Primitive("bytes", pa.binary(), "Bytes"),
    SchemaType.STRING: Primitive("string", pa.string(), "String"),
    SchemaType.BOOLEAN: Primitive("boolean", pa.bool_(), "Boolean"),
    SchemaType.INT8: Primitive("int8", pa.int8(), "INT8"),
    SchemaType.INT16: Primitive("int16", pa.int16(), "INT16"),
    SchemaType.INT32: Primitive("int32", pa.int32(), "INT32"),
    SchemaType.INT64: Primitive("int64", pa.int64(), "INT64"),
    SchemaType.FLOAT: Primitive("float", pa.float32(), "Float"),
    SchemaType.DOUBLE: Primitive("double", pa.float64(), "Double"),
    # What Spark's types are written as comes before what they can only be read from (see `primitive_for`).
    SchemaType.LOCAL_DATE: Primitive("local_date", pa.date32(), "LocalDate"),
    SchemaType.LOCAL_TIME: Primitive("local_time", pa.time64("ns"), "LocalTime"),
    SchemaType.INSTANT: Primitive("instant", pa.timestamp("us", tz="UTC"), "Instant"),
    SchemaType.LOCAL_DATE_TIME: Primitive("local_date_time", pa.timestamp("us"), "LocalDateTime"),
    SchemaType.DATE: Primitive("date", pa.date32(), "Date"),
    SchemaType.TIME: Primitive("time", pa.time64("ns"), "Time"),
    SchemaType.TIMESTAMP: Primitive("timestamp", pa.timestamp("us", tz="UTC"), "Timestamp"),
}

RECORD_TYPES: Final = {SchemaType.AVRO: "avro", SchemaType.JSON: "json"}
"""Schema types whose value is a record described by an Avro document, and the kernel's name of them."""


def primitive_of(info: SchemaInfo | None, *, topic: str) -> Primitive | None:
    """The primitive that `info` stands for; None when it is a record (AVRO, JSON).

    Raises SchemaError for the types that this package does not decode.
    """
    if info is None or info.type is SchemaType.NONE:
        return PRIMITIVES[SchemaType.BYTES]
    if info.type in RECORD_TYPES:
        return None
    if info.type not in PRIMITIVES:
        supported = ", ".join(kind.name for kind in (*RECORD_TYPES, *PRIMITIVES))
        raise SchemaError(
            f"topic {topic}: expected a schema of type {supported} or none, got {info.type.name}; "
            "use a topic whose schema has one of these types"
        )
    return PRIMITIVES[info.type]


def primitive_for(arrow_type: pa.DataType) -> SchemaType | None:
    """The schema type that a write registers for values of `arrow_type`, which it holds unchanged; None when
    there is none. Of several it is the first in `PRIMITIVES`."""
    for schema_type, primitive in PRIMITIVES.items():
        if primitive.arrow_type == arrow_type:
            return schema_type
    return None
