"""The bridge between Arrow schemas and Spark's, by PySpark's own conversion (which needs no pandas)."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from pyspark_pulsar.errors import SchemaError

# PySpark 4.1 labels timestamps UTC by itself, and takes no zone.
_UTC: Final = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def spark_schema(output: pa.Schema) -> StructType:
    """The Spark schema of record batches of schema `output`.

    A timestamp with a zone is TIMESTAMP, one without is TIMESTAMP_NTZ. Raises SchemaError unless Spark
    would expect exactly `output` back, which is what it checks the first batch of a read against.
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
            f"Arrow schema {output} is not the one in which Spark exchanges {struct.simpleString()}: expected "
            f"{expected}; please report this"
        )
    return struct


def arrow_schema(struct: StructType) -> pa.Schema:
    """The Arrow schema of a DataFrame's rows, timestamps labelled UTC, without the field
    metadata that only Spark reads. Raises SchemaError for types that Spark cannot exchange as Arrow."""
    try:
        schema = to_arrow_schema(struct, **_UTC)  # type: ignore[arg-type]
    except PySparkException as error:
        raise SchemaError(
            f"columns {struct.simpleString()}: expected types that Arrow has ({error}); "
            "cast or drop the column"
        ) from None
    return pa.schema([field.remove_metadata() for field in schema])


def struct_of_json(schema: Mapping[str, Any]) -> StructType:
    """A Spark schema from its JSON. Raises SchemaError for types that PySpark does not know."""
    try:
        return StructType.fromJson(dict(schema))
    except (PySparkException, KeyError, TypeError, ValueError) as error:
        raise SchemaError(
            f"columns: expected a Spark schema as JSON, got one that is not understood ({error!r}); use types that "
            "PySpark has"
        ) from None
