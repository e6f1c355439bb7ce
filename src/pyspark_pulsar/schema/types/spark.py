"""Conversion between Arrow schemas and Spark schemas, by functions of PySpark that do not need pandas."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from pyspark_pulsar.errors import SchemaError

# The function of PySpark 4.1 always uses the time zone UTC for timestamps, and has no parameter for the time zone.
_UTC: Final = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def spark_schema(output: pa.Schema) -> StructType:
    """Return the Spark schema of record batches with an Arrow schema.

    A timestamp with a zone becomes TIMESTAMP, and a timestamp without a zone becomes TIMESTAMP_NTZ.

    Raises:
        SchemaError: If PySpark does not convert the Spark schema back to exactly `output`. Spark compares the first
            batch of a read with this conversion.

    """
    try:
        struct = from_arrow_schema(output, prefer_timestamp_ntz=True)
        expected = arrow_schema(struct)
    except PySparkException as error:
        raise SchemaError(
            f"Arrow schema {output}: expected types that Spark has ({error}); drop the column"
        ) from None
    if not expected.equals(output, check_metadata=True):
        raise SchemaError(
            f"Arrow schema: expected {expected}, as Spark exchanges {struct.simpleString()}, got {output}; report this "
            f"as a bug"
        )
    return struct


def arrow_schema(struct: StructType) -> pa.Schema:
    """Return the Arrow schema of a DataFrame's rows, without the field metadata that only Spark reads.

    Spark's TIMESTAMP becomes a timestamp with the time zone UTC.

    Raises:
        SchemaError: If Spark cannot exchange a type as Arrow.

    """
    try:
        schema = to_arrow_schema(struct, **_UTC)  # type: ignore[arg-type]
    except PySparkException as error:
        raise SchemaError(
            f"columns {struct.simpleString()}: expected types that Arrow supports ({error}); "
            "cast or drop the column"
        ) from None
    return pa.schema([field.remove_metadata() for field in schema])


def struct_of_json(schema: Mapping[str, Any]) -> StructType:
    """Return the Spark schema that a JSON object describes. Raise SchemaError if PySpark cannot parse the object."""
    try:
        return StructType.fromJson(dict(schema))
    except (PySparkException, KeyError, TypeError, ValueError) as error:
        raise SchemaError(
            f"columns: expected a Spark schema as JSON, got a schema that PySpark cannot parse ({error!r}); use types "
            "that PySpark has"
        ) from None
