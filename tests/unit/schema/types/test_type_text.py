"""Types in messages are named as Spark's users name them."""

import pyarrow as pa
import pytest
from pyspark.sql.types import StructField, StructType
from unit.docs.noted_schemas import spark_type
from unit.docs.test_schema_table import SAMPLES
from unit.docs.type_notation import noted

from pyspark_pulsar.schema.types.spark import arrow_schema
from pyspark_pulsar.schema.types.type_text import type_text


@pytest.mark.parametrize("text", sorted({*SAMPLES} - {"interval year to month"}))
def test_a_type_is_named_as_in_spark(text: str) -> None:
    frame = arrow_schema(StructType([StructField("field", spark_type(noted(text)))]))
    assert type_text(frame.field("field").type) == text


def test_types_of_documents_have_their_name_too() -> None:
    assert type_text(pa.timestamp("ns", tz="UTC")) == "timestamp"
    assert type_text(pa.timestamp("ms")) == "timestamp_ntz"
    assert type_text(pa.time32("ms")) == "time"
    assert type_text(pa.binary(4)) == "binary(4)"
