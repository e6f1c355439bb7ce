"""Engines that read this package's tables find all rows of any filter, whatever they skip by statistics.

Each result is compared with the same engine's result over the same rows without statistics. Engines do not
agree with each other on NaN, nor on -0.0.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake.transaction import AddAction
from fixtures.columnar import COLUMNS, IDENTIFIER, definition, loaded, positions_after, written
from fixtures.columnar_places import in_folder
from fixtures.odd_rows import SCHEMA, Filter, all_columns, numbers, odd_files, random_filter

FILES = 12
FILTERS = 12
DUCKDB_TIMES = ("cast('{}' as timestamptz)", "cast('{}' as timestamp)")
DATAFUSION_TIMES = (
    """arrow_cast('{}', 'Timestamp(Microsecond, Some("UTC"))')""",
    "arrow_cast('{}', 'Timestamp(Microsecond, None)')",
)
WITHOUT_BOUNDS = {"f", "g", "nest.f", "far", "s", "nest.s", "nothing"}
"""Columns that lack bounds in some files. The datasets of delta-rs 1.6 read such a bound as null, and lose rows."""
BY_DATASET = {"deltalake, dataset", "deltalake, table", "polars, scan_delta by pyarrow", "duckdb, dataset"}

Find = Callable[[Filter], list[int]]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, seed: int) -> dict[str, Any]:
    """A table of each format with the same rows, these rows, and a Delta table of them without statistics."""
    batches = odd_files(random.Random(seed), FILES)
    made: dict[str, Any] = {"rows": pa.Table.from_batches(batches)}
    for table_format in ("iceberg", "delta"):
        catalog = in_folder(table_format, tmp_path_factory.mktemp(table_format))
        catalog.create(IDENTIFIER, definition(columns=SCHEMA))
        for ledger, batch in enumerate(batches, 1):
            table = loaded(catalog)
            table.commit(written(table, batch), positions_after(ledger))
        made[table_format] = loaded(catalog)
    made["plain"] = plain_delta(tmp_path_factory.mktemp("plain"), made["rows"])
    return made


def plain_delta(folder: Path, rows: pa.Table) -> deltalake.DeltaTable:
    kept = rows.select([name for name in rows.column_names if name == "value" or name not in COLUMNS.names])
    table = deltalake.DeltaTable.create(str(folder), kept.schema)
    pq.write_table(kept, folder / "x.parquet", write_statistics=False)
    size = (folder / "x.parquet").stat().st_size
    action = AddAction("x.parquet", size, {}, 0, True, f'{{"numRecords":{kept.num_rows}}}')
    table.create_write_transaction([action], "append", table.schema())
    return deltalake.DeltaTable(str(folder))


def of_arrow(places: dict[str, Any]) -> Find:
    return lambda wanted: numbers(places["rows"].filter(wanted.arrow())["value"])


def of_polars(frame: pl.LazyFrame) -> Find:
    return lambda wanted: numbers(frame.filter(wanted.polars()).select("value").collect()["value"])


def of_duckdb(**given: Any) -> Find:
    def find(wanted: Filter) -> list[int]:
        with duckdb.connect() as connection:
            connection.execute("set timezone = 'UTC'")
            for name, rows in given.items():
                connection.register(name, rows)
            found = connection.execute(f"select value from t where {wanted.sql(DUCKDB_TIMES)}").fetchall()
        return numbers(value for (value,) in found)

    return find


def of_duckdb_table(source: str, rows: pa.Table | None = None) -> Find:
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    if rows is not None:
        connection.register("rows", rows)
    kind = "table" if rows is not None else "view"
    connection.execute(f"create {kind} t as select * from {source}")

    def find(wanted: Filter) -> list[int]:
        found = connection.execute(f"select value from t where {wanted.sql(DUCKDB_TIMES)}").fetchall()
        return numbers(value for (value,) in found)

    return find


def of_datafusion(delta: deltalake.DeltaTable) -> Find:
    def find(wanted: Filter) -> list[int]:
        query = f"select value from t where {wanted.sql(DATAFUSION_TIMES)}"
        return numbers(
            pa.table(deltalake.QueryBuilder().register("t", delta).execute(query).read_all())["value"]
        )

    return find


def engines(places: dict[str, Any]) -> dict[str, tuple[Find, Find]]:
    """Return an engine, by its name, over the table, and over the same rows without statistics."""
    rows, table = places["rows"], places["iceberg"]._table
    delta = deltalake.DeltaTable(places["delta"].name)
    dataset = delta.to_pyarrow_dataset()
    files = [file.url.removeprefix("file://") for file in places["delta"].files()]
    arrow = of_arrow(places)
    return {
        "pyiceberg": (lambda wanted: numbers(table.scan(row_filter=wanted.iceberg()).to_arrow()["value"]), arrow),
        "deltalake, dataset": (
            lambda wanted: numbers(dataset.to_table(filter=wanted.arrow(), columns=["value"])["value"]), arrow,
        ),
        "deltalake, table": (
            lambda wanted: numbers(delta.to_pyarrow_table(filters=wanted.arrow(), columns=["value"])["value"]), arrow,
        ),
        "deltalake, SQL": (of_datafusion(delta), of_datafusion(places["plain"])),
        "polars, scan_delta": (of_polars(pl.scan_delta(places["delta"].name)), of_polars(pl.from_arrow(rows).lazy())),
        "polars, scan_delta by pyarrow": (
            of_polars(pl.scan_delta(places["delta"].name, use_pyarrow=True)),
            of_polars(pl.scan_pyarrow_dataset(ds.dataset(rows))),
        ),
        "polars, scan_iceberg": (of_polars(pl.scan_iceberg(table)), of_polars(pl.from_arrow(rows).lazy())),
        "duckdb, files": (of_duckdb_table(f"read_parquet({files})"), of_duckdb_table("rows", rows)),
        "duckdb, dataset": (of_duckdb(t=dataset), of_duckdb(t=ds.dataset(rows))),
    }  # fmt: skip


ENGINES = [
    "pyiceberg", "deltalake, dataset", "deltalake, table", "deltalake, SQL", "polars, scan_delta",
    "polars, scan_delta by pyarrow", "polars, scan_iceberg", "duckdb, files", "duckdb, dataset",
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_random_filters_over_odd_values(engine: str, places: dict[str, Any], seed: int) -> None:
    ours, plain = engines(places)[engine]
    rng = random.Random(seed)
    columns = [name for name in all_columns() if engine not in BY_DATASET or name not in WITHOUT_BOUNDS]
    for _ in range(FILTERS):
        wanted = random_filter(rng, columns)
        if engine == "pyiceberg" and wanted.names_no_number:
            continue  # The engine has no literals of NaN, and assumes that a comparison with infinity is always true.
        if engine == "duckdb, files" and wanted.names_null:
            continue  # DuckDB 2.0 assumes that a row group with one value and nulls is all null, in any Parquet file.
        assert ours(wanted) == plain(wanted), wanted
