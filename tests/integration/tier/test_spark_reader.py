"""Spark's own Parquet reader finds all rows of any filter in this package's files, whatever it skips by statistics."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.columnar import IDENTIFIER, definition, loaded, positions_after, written
from fixtures.columnar_places import in_folder
from fixtures.odd_rows import SCHEMA, Filter, all_columns, odd_files, random_filter
from pyspark.sql import Column, DataFrame, SparkSession, functions

FILES = 8
FILTERS = 60


def literal(value: Any, kind: pa.DataType) -> Column:
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(sep=" ")
        return (
            functions.lit(f"{text}Z").cast("timestamp")
            if kind.tz
            else functions.lit(text).cast("timestamp_ntz")
        )
    if isinstance(value, dt.date):
        return functions.lit(str(value)).cast("date")
    if isinstance(value, Decimal):
        return functions.lit(f"{value:f}").cast("decimal(38,3)")
    return functions.lit(value).cast("float") if kind == pa.float32() else functions.lit(value)


def condition(wanted: Filter) -> Column:
    column = functions.col(wanted.column)
    if wanted.value is None:
        one = column.isNull() if wanted.operator == "is null" else column.isNotNull()
    else:
        value = literal(wanted.value, wanted.kind)
        one = {
            "==": column.__eq__, "<": column.__lt__, "<=": column.__le__, ">": column.__gt__, ">=": column.__ge__,
        }[wanted.operator](value)  # fmt: skip
    if wanted.joined is None:
        return one
    other = condition(wanted.joined[1])
    return one & other if wanted.joined[0] == "and" else one | other


def found(frame: DataFrame, filters: list[Filter]) -> list[list[int]]:
    """Return for each filter the rows that it finds, in one query."""
    parts = [
        frame.where(condition(wanted)).select(functions.lit(number).alias("filter"), "value")
        for number, wanted in enumerate(filters)
    ]
    rows = reduce(DataFrame.unionAll, parts).collect()
    return [sorted(row["value"] for row in rows if row["filter"] == number) for number in range(len(filters))]


@pytest.mark.parametrize("table_format", ["iceberg", "delta"])
def test_random_filters_over_odd_values(
    table_format: str, spark: SparkSession, tmp_path: Path, rng: random.Random
) -> None:
    catalog = in_folder(table_format, tmp_path)
    catalog.create(IDENTIFIER, definition(columns=SCHEMA))
    batches = odd_files(rng, FILES)
    for ledger, batch in enumerate(batches, 1):
        table = loaded(catalog)
        table.commit(written(table, batch), positions_after(ledger))
    plain = tmp_path / "plain.parquet"
    pq.write_table(pa.Table.from_batches(batches), plain, write_statistics=False)
    files = [file.url for file in loaded(catalog).files()]
    assert len(files) == FILES
    filters = [random_filter(rng, all_columns()) for _ in range(FILTERS)]
    ours, theirs = (
        found(spark.read.option("basePath", str(tmp_path)).parquet(*places).select(*SCHEMA.names), filters)
        for places in (files, [str(plain)])
    )
    for wanted, rows, expected in zip(filters, ours, theirs, strict=True):
        assert rows == expected, wanted
    assert any(theirs)
