"""Sending rows that contain their sequence ids, by a producer whose name the options set.

The broker's deduplication then drops rows that an earlier attempt, job or query has written with the same producer
name. For each producer name and topic partition, a broker stores the highest sequence id. The broker drops rows whose
ids are not above this id. Rows may be lost unless one producer sends all rows of a producer name, in the order of their
ids. So one Spark task writes all rows. With two tasks, the order would be random, and the broker would drop rows that
it has never stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import OptionError, SchemaError, SendError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.schema.metadata_columns import FIELDS, SEQUENCE_ID
from pyspark_pulsar.schema.types.type_text import type_text
from pyspark_pulsar.schema.write.write_schema import WriteSchema

_OPTION: Final = "pulsar.producer.producerName"


def check_sequence_ids(options: WriteOptions, columns: pa.Schema) -> None:
    """Check the columns of a write with a named producer.

    Raises:
        OptionError: There is no column with the sequence ids.
        SchemaError: The type of the sequence ids is not an integer type.

    """
    if options.producer_name is None:
        return
    if SEQUENCE_ID not in columns.names:
        raise OptionError(
            f"column {SEQUENCE_ID} is missing: expected the column with option '{_OPTION}', because the column "
            f"contains the sequence id of each row, got columns {', '.join(columns.names)}; add the column, or remove "
            f"the option"
        )
    id_type = columns.field(SEQUENCE_ID).type
    if not types.is_integer(id_type):
        raise SchemaError(
            f"column {SEQUENCE_ID} is {type_text(id_type)}: expected a whole number; cast it to bigint"
        )


def with_sequence_ids(schema: WriteSchema) -> WriteSchema:
    """Return the schema for rows with an additional column of sequence ids."""
    return replace(schema, input_schema=schema.input_schema.append(FIELDS[SEQUENCE_ID]))


def refuse_rows(batches: Iterable[pa.RecordBatch], partition: int) -> None:
    """Check that the task of the Spark partition `partition`, which is not the first task, has no rows.

    Raises:
        SendError: The task has rows.

    """
    for batch in batches:
        if batch.num_rows:
            raise SendError(
                f"option '{_OPTION}': expected all rows in the first task (Spark partition 0), got rows in Spark "
                f"partition {partition}. With several tasks the order of sequence ids is random, and a broker drops "
                f"rows that follow a higher id; write with .coalesce(1), sorted by {SEQUENCE_ID}, or remove the option"
            )
