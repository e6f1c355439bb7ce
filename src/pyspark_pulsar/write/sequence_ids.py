"""Rows that carry their own sequence ids, under a producer's name that the user gives: so that a broker's deduplication
drops what an earlier attempt, job or query has written under that name.

A broker keeps the highest id of each name in each topic partition, and drops what is not above it. That loses nothing
only where one producer sends all rows of the name in the order of their ids, so one Spark task writes them all: two
tasks would send in an order that changes from attempt to attempt, and the broker would drop rows that it never had.
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
    """Raises `OptionError` for a named producer of rows without ids, `SchemaError` for ids of another type."""
    if options.producer_name is None:
        return
    if SEQUENCE_ID not in columns.names:
        raise OptionError(
            f"column {SEQUENCE_ID} is missing: expected it beside option '{_OPTION}', as it names the sequence id of "
            f"each row, got columns {', '.join(columns.names)}; add it, or leave the option out"
        )
    id_type = columns.field(SEQUENCE_ID).type
    if not types.is_integer(id_type):
        raise SchemaError(
            f"column {SEQUENCE_ID} is {type_text(id_type)}: expected a whole number; cast it to bigint"
        )


def with_sequence_ids(schema: WriteSchema) -> WriteSchema:
    """Of rows whose ids are stored with them."""
    return replace(schema, input_schema=schema.input_schema.append(FIELDS[SEQUENCE_ID]))


def refuse_rows(batches: Iterable[pa.RecordBatch], partition: int) -> None:
    """For a task of another Spark partition than the first: take its rows, of which there must be none. Raises
    `SendError`."""
    for batch in batches:
        if batch.num_rows:
            raise SendError(
                f"option '{_OPTION}': expected all rows in one task, the first, got rows in Spark partition "
                f"{partition}; with several tasks the order of sequence ids is left to chance, and a broker drops "
                f"those that come behind a higher one. Write with .coalesce(1), sorted by {SEQUENCE_ID}, or leave the "
                f"option out"
            )
