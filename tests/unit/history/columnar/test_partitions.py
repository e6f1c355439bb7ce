"""Tables of both formats that are partitioned by any column: each value is in the file of its key, and is read back."""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from fixtures.columnar import (
    COLUMNS,
    IDENTIFIER,
    add_ledger,
    definition,
    loaded,
    new_schema,
    positions_after,
    rows_of,
    written,
)
from fixtures.columnar_places import in_folder

from pyspark_pulsar.errors import OptionError, SchemaError
from pyspark_pulsar.history.columnar.iceberg.table import IcebergTable
from pyspark_pulsar.history.columnar.layout import PartitionField
from pyspark_pulsar.history.columnar.table import ColumnarTable, TableCatalog
from pyspark_pulsar.history.columnar.tiered_schema import parse_tiered_schema
from pyspark_pulsar.history.tiering.upkeep import compact

LEAST, LARGEST = -(2**63), 2**63 - 1
SENTINELS = [-719_162, 2_932_896]
"""0001-01-01 and 9999-12-31."""
DAY = 86_400_000_000
INSTANTS = [LEAST, SENTINELS[0] * DAY, -1, 0, 9_007_199_254_740_993, SENTINELS[1] * DAY + DAY - 1, LARGEST]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "d": (pa.date32(), [*SENTINELS, -1, 0]),
    "far": (pa.date32(), [-(2**31), 2**31 - 1, 0]),
    "t": (pa.time64("us"), [0, DAY - 1]),
    "ts": (pa.timestamp("us", "UTC"), INSTANTS),
    "ntz": (pa.timestamp("us"), INSTANTS),
    "iv": (pa.duration("us"), [LEAST, 0, LARGEST]),
    "flag": (pa.bool_(), [True, False]),
    "whole": (pa.int64(), [LEAST, LARGEST]),
    "tiny": (pa.int8(), [-128, 127]),
    "exact": (pa.decimal128(20, 2), [Decimal("-1.50"), Decimal(10**17)]),
    "raw": (pa.binary(), [b"", b"\xff" * 40]),
    "text": (pa.string(), ["a/b=c", "ä" * 400, "\U0010ffff" * 20]),
    "ts_day": (pa.string(), ["x"]),
    "publishTime_day": (pa.string(), ["x"]),
}
NOT_IN_DELTA = ("far", "ts", "ntz", "raw")
ALL = pa.schema([*COLUMNS, *((name, kind) for name, (kind, _) in VALUES.items())])
UNITS = ["hour(ts)", "day(ntz)", "month(ts)", "year(ntz)", "day(far)", "month(d)", "year(far)"]


def hostile_rows(ledger: int) -> pa.RecordBatch:
    """Each value of each column, and null."""
    count = 1 + max(len(values) for _, values in VALUES.values())
    plain = rows_of(ledger, count)
    columns = dict(zip(plain.schema.names, plain.columns, strict=True))
    for name, (kind, values) in VALUES.items():
        cells = list(itertools.islice(itertools.cycle([*values, None]), count))
        is_time = pa.types.is_temporal(kind)
        width = pa.int32() if pa.types.is_date(kind) else pa.int64()
        columns[name] = pa.array(cells, width).cast(kind) if is_time else pa.array(cells, kind)
    return pa.RecordBatch.from_arrays([columns[name] for name in ALL.names], schema=ALL)


@pytest.fixture(params=["iceberg", "delta"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> TableCatalog:
    return in_folder(request.param, tmp_path)


def tier(table: ColumnarTable, ledger: int) -> None:
    table.commit(written(table, hostile_rows(ledger)), positions_after(ledger))


def cells(table: Any, name: str) -> list[Any]:
    """The values of a column as another engine reads them, in the order of positions; times as integers."""
    columns = ("__messageId", name)
    if table.format == "iceberg":
        rows = table._table.scan(selected_fields=columns).to_arrow()
    else:
        rows = pa.table(deltalake.DeltaTable(table.name).scan(columns=list(columns)).read_all())
    places = [(cell["ledger"], cell["entry"]) for cell in rows["__messageId"].to_pylist()]
    values = rows[name]
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    return [value for _, value in sorted(zip(places, values.to_pylist(), strict=True), key=itemgetter(0))]


def expected(name: str, *ledgers: int) -> list[Any]:
    values = [*VALUES[name][1], None]
    cycle = itertools.islice(itertools.cycle(values), hostile_rows(1).num_rows)
    return list(cycle) * len(ledgers)


@pytest.mark.parametrize("fields", [*UNITS, *VALUES, "day(ts),whole,text"])
def test_any_value_is_partitioned_and_read_back(fields: str, catalog: TableCatalog) -> None:
    """The partitions stay the same when the files are compacted, which writes the rows by their keys again."""
    column = PartitionField.parse(fields.split(",", maxsplit=1)[0])
    if catalog.format == "delta" and column.transform == "identity" and column.source in NOT_IN_DELTA:
        with pytest.raises((OptionError, SchemaError), match="expected"):
            tier(catalog.create(IDENTIFIER, definition(*fields.split(","), columns=ALL)), 1)
        return
    table = catalog.create(IDENTIFIER, definition(*fields.split(","), columns=ALL))
    tier(table, 1)
    tier(loaded(catalog), 2)
    assert cells(loaded(catalog), column.source) == expected(column.source, 1, 2)
    files, made = compact(loaded(catalog))
    assert files > made > 0
    assert cells(loaded(catalog), column.source) == expected(column.source, 1, 2)
    assert len({str(file.key) for file in loaded(catalog).files()}) > 1 or column.source.endswith("_day")


def test_a_column_that_the_topic_no_longer_has_is_null_in_the_key(catalog: TableCatalog) -> None:
    table = catalog.create(IDENTIFIER, replace(definition("text", columns=ALL), sort_columns=("whole",)))
    tier(table, 1)
    table = loaded(catalog)
    rows = hostile_rows(2).select([name for name in ALL.names if name not in ("text", "whole")])
    table.commit(written(table, rows), positions_after(2))
    assert cells(loaded(catalog), "text") == [*expected("text", 1), *[None] * rows.num_rows]


def test_a_field_with_the_name_of_a_column_gets_another(catalog: TableCatalog) -> None:
    table = catalog.create(IDENTIFIER, definition("day(ts)", "day(__publishTime)", columns=ALL))
    tier(table, 1)
    for name in ("ts_day", "publishTime_day"):
        assert cells(loaded(catalog), name) == expected(name, 1)
    if isinstance(table, IcebergTable):
        names = [field.name for field in table._table.spec().fields]
    else:
        names = deltalake.DeltaTable(table.name).metadata().partition_columns
    assert names == ["ts_day_2", "publishTime_day_2"]


def test_a_later_column_with_the_name_of_a_partition_field(catalog: TableCatalog) -> None:
    """The table keeps payloads: both formats have one namespace for columns and partition fields."""
    add_ledger(catalog.create(IDENTIFIER, definition()), 1)
    text = loaded(catalog).add_schema(new_schema(pa.schema([*COLUMNS, ("publishTime_day", pa.string())])))
    stored = parse_tiered_schema(text, "table")
    assert stored.keeps_all
    assert "publishTime_day" not in stored.stored.names
    add_ledger(loaded(catalog), 2)


@pytest.mark.parametrize(
    ("fields", "sort_columns"),
    [
        (("day(ts)", "day(ts)"), ()),
        (("hour(d)",), ()),
        (("day(t)",), ()),
        (("__messageId",), ()),
        (("nothing",), ()),
        ((), ("__messageId",)),
        ((), ("__messageProperties",)),
        ((), ("nothing",)),
    ],
)
def test_tables_that_cannot_be_made(
    fields: tuple[str, ...], sort_columns: tuple[str, ...], catalog: TableCatalog
) -> None:
    with pytest.raises(OptionError, match="expected"):
        catalog.create(IDENTIFIER, replace(definition(*fields, columns=ALL), sort_columns=sort_columns))
    assert catalog.load(IDENTIFIER) is None


def test_a_setting_that_pyiceberg_refuses_is_a_wrong_option(tmp_path: Path) -> None:
    catalog = in_folder("iceberg", tmp_path)
    with pytest.raises(OptionError, match="Cannot add time partition field"):
        catalog.create(IDENTIFIER, definition("day(ts)", "hour(ts)", columns=ALL))
    assert catalog.load(IDENTIFIER) is None
