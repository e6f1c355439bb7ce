"""Conversion between Arrow schemas and Spark's schemas, by PySpark's functions, which do not need pandas."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from pyspark_pulsar.errors import SchemaError

# PySpark 4.1 labels timestamps UTC by itself, and has no parameter for the zone.
_UTC: Final = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def spark_schema(output: pa.Schema) -> StructType:
    """Return the Spark schema of record batches.

    A timestamp with a zone becomes TIMESTAMP, and a timestamp without a zone becomes TIMESTAMP_NTZ.

    Raises:
        SchemaError: If Spark would not convert its schema back to exactly `output`. Spark checks the first batch of a
            read against that conversion.

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
            f"as a fault of the package"
        )
    return struct


def arrow_schema(struct: StructType) -> pa.Schema:
    """Return the Arrow schema of a DataFrame's rows, without the field metadata that only Spark reads.

    Timestamps have the zone UTC.

    Raises:
        SchemaError: If Spark cannot exchange a type as Arrow.

    """
    try:
        schema = to_arrow_schema(struct, **_UTC)  # type: ignore[arg-type]
    except PySparkException as error:
        raise SchemaError(
            f"columns {struct.simpleString()}: expected types that Arrow has ({error}); "
            "cast or drop the column"
        ) from None
    return pa.schema([field.remove_metadata() for field in schema])


def struct_of_json(schema: Mapping[str, Any]) -> StructType:
    """Parse the JSON of a Spark schema. Raise SchemaError for types that PySpark does not know."""
    try:
        return StructType.fromJson(dict(schema))
    except (PySparkException, KeyError, TypeError, ValueError) as error:
        raise SchemaError(
            f"columns: expected a Spark schema as JSON, got one that PySpark cannot parse ({error!r}); use types "
            "that PySpark has"
        ) from None
