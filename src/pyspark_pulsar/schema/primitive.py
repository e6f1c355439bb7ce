"""Topics whose value is a primitive, which becomes the single column `value`.

For a reader, BYTES, NONE and a topic without a schema are the same: the column contains the payload unchanged. DATE,
TIME and TIMESTAMP are Java's old classes, which all store an instant in milliseconds. Their day and time of day are in
UTC. Spark has microseconds, so a read of INSTANT, LOCAL_TIME and LOCAL_DATE_TIME drops the digits below.
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
    """A primitive of the registry: the kernel's name, the Arrow type, and the schema name that Java registers."""

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
    # The types that a write registers precede the types with equal columns that a read supports (`primitive_for`).
    SchemaType.LOCAL_DATE: Primitive("local_date", pa.date32(), "LocalDate"),
    SchemaType.LOCAL_TIME: Primitive("local_time", pa.time64("ns"), "LocalTime"),
    SchemaType.INSTANT: Primitive("instant", pa.timestamp("us", tz="UTC"), "Instant"),
    SchemaType.LOCAL_DATE_TIME: Primitive("local_date_time", pa.timestamp("us"), "LocalDateTime"),
    SchemaType.DATE: Primitive("date", pa.date32(), "Date"),
    SchemaType.TIME: Primitive("time", pa.time64("ns"), "Time"),
    SchemaType.TIMESTAMP: Primitive("timestamp", pa.timestamp("us", tz="UTC"), "Timestamp"),
}

RECORD_TYPES: Final = {SchemaType.AVRO: "avro", SchemaType.JSON: "json"}
"""The kernel's names of the schema types whose value is a record with an Avro document."""


def primitive_of(info: SchemaInfo | None, *, topic: str) -> Primitive | None:
    """Return the primitive of a schema, or None if the schema is a record (AVRO, JSON).

    Raises:
        SchemaError: If this package cannot decode the type.

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
    """Return the first schema type in `PRIMITIVES` that stores values of an Arrow type unchanged, or None.

    A write registers this type.
    """
    for schema_type, primitive in PRIMITIVES.items():
        if primitive.arrow_type == arrow_type:
            return schema_type
    return None
