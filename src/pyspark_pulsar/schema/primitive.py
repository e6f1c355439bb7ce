"""Primitive schema types, whose values become the single column `value`.

If the schema type is BYTES or NONE, or if the topic has no schema, the column contains the payload unchanged. DATE,
TIME and TIMESTAMP are the types of Java's old date classes, which store an instant in milliseconds. A read of DATE or
TIME returns the day or the time of day of the instant in UTC. A read of INSTANT, LOCAL_TIME or LOCAL_DATE_TIME drops
the digits below a microsecond, because Spark's times have microseconds.
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
    """A primitive schema type: its name in the kernel, its Arrow type, and the schema name in Java's client."""

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
    # `primitive_for` returns the first match, so a type that a write registers precedes other types with the same
    # column type.
    SchemaType.LOCAL_DATE: Primitive("local_date", pa.date32(), "LocalDate"),
    SchemaType.LOCAL_TIME: Primitive("local_time", pa.time64("ns"), "LocalTime"),
    SchemaType.INSTANT: Primitive("instant", pa.timestamp("us", tz="UTC"), "Instant"),
    SchemaType.LOCAL_DATE_TIME: Primitive("local_date_time", pa.timestamp("us"), "LocalDateTime"),
    SchemaType.DATE: Primitive("date", pa.date32(), "Date"),
    SchemaType.TIME: Primitive("time", pa.time64("ns"), "Time"),
    SchemaType.TIMESTAMP: Primitive("timestamp", pa.timestamp("us", tz="UTC"), "Timestamp"),
}

RECORD_TYPES: Final = {SchemaType.AVRO: "avro", SchemaType.JSON: "json"}
"""The kernel's names for the schema types whose values are records that an Avro document describes."""


def primitive_of(info: SchemaInfo | None, *, topic: str) -> Primitive | None:
    """Return the primitive of a schema, or None if the schema has the record type AVRO or JSON.

    Raises:
        SchemaError: If the type is neither a primitive nor a record type.

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
    """Return the schema type that a write registers for values of an Arrow type, or None if no primitive fits.

    The result is the first type in `PRIMITIVES` that stores the values unchanged.
    """
    for schema_type, primitive in PRIMITIVES.items():
        if primitive.arrow_type == arrow_type:
            return schema_type
    return None
