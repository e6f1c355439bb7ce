"""Statistics of files: no value is outside them, and engines read them."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake.transaction import AddAction
from hypothesis import given, strategies as st

from pyspark_pulsar.history.columnar.delta.statistics import file_statistics
from pyspark_pulsar.history.columnar.writing.footer import fractions_of

UTC = dt.UTC
LAST = "\U0010ffff"
LOCAL = dt.datetime(2026, 1, 31, 8, tzinfo=UTC).replace(tzinfo=None)


def stored(table: pa.Table, path: Path, rows: int = 2) -> dict[str, Any]:
    """Return the statistics of a file whose row groups have this number of rows; fractions are texts."""
    pq.write_table(table, path, row_group_size=rows)
    told: dict[str, Any] = json.loads(
        file_statistics(pq.read_metadata(path), fractions_of(table)), parse_float=str
    )
    return told


@pytest.mark.parametrize(
    ("kind", "values", "least", "largest"),
    [
        (pa.int8(), [3, -2, None], -2, 3),
        (pa.int64(), [1 << 62, -2], -2, 1 << 62),
        (pa.decimal128(38, 3), [Decimal("-12345678901234567890123456789012345.123"), Decimal(1)],
         "-12345678901234567890123456789012345.123", "1.000"),
        (pa.string(), ["b", "a" * 33, "ä\n"], "a" * 32, "ä\n"),
        (pa.string(), ["a" * 33], "a" * 32, "a" * 31 + "b"),
        (pa.string(), ["a" + LAST * 40, ""], "", "b"),
        (pa.string(), ["\ud7ff" + LAST * 31 + "x", "a"], "a", "\ue000"),
        (pa.string(), [LAST * 33, "a"], None, None),
        (pa.string(), ["a" * 5000, "b"], None, None),
        (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)], "0001-01-01", "9999-12-31"),
        (pa.timestamp("us", "UTC"), [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)],
         "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"),
        (pa.timestamp("us"), [LOCAL.replace(microsecond=1)],
         "2026-01-31T08:00:00.000", "2026-01-31T08:00:00.001"),
        (pa.timestamp("us"), [LOCAL.replace(year=9999, month=12, day=31, hour=23, minute=59, second=59,
         microsecond=999_999)], "9999-12-31T23:59:59.999", "9999-12-31T23:59:59.999999"),
        (pa.float64(), [1.5, None, -2.0], "-2.0", "1.5"),
        (pa.float64(), [0.0], "-0.0", "0.0"),
        (pa.float64(), [-0.0], "-0.0", "0.0"),
        (pa.float64(), [1.5, float("nan"), -2.0], None, None),
        (pa.float64(), [1.5, float("inf")], None, None),
        (pa.float32(), [float("-inf")], None, None),
        (pa.bool_(), [True, False], False, True),
        (pa.binary(), [b"a"], None, None),
        (pa.int32(), [None, None], None, None),
    ],
)  # fmt: skip
def test_bounds(kind: pa.DataType, values: list[Any], least: Any, largest: Any, tmp_path: Path) -> None:
    told = stored(pa.table({"x": pa.array(values, kind)}), tmp_path / "x.parquet", len(values))
    assert told["numRecords"] == len(values)
    assert told["minValues"].get("x") == least
    assert told["maxValues"].get("x") == largest
    assert told["nullCount"] == {"x": values.count(None)}


def test_years_that_dates_do_not_have_have_no_bounds(tmp_path: Path) -> None:
    far = pa.array([-(10**18), 10**18]).cast(pa.timestamp("us", "UTC"))
    days = pa.array([-(10**8), 10**8], pa.int32()).cast(pa.date32())
    told = stored(pa.table({"far": far, "days": days}), tmp_path / "x.parquet")
    assert told["minValues"] == told["maxValues"] == {}
    assert told["nullCount"] == {"far": 0, "days": 0}


def test_members_of_structs_have_bounds_and_those_of_lists_and_maps_have_none(tmp_path: Path) -> None:
    table = pa.table(
        {
            "list": pa.array([[{"a": 1, "b": 2}]], pa.list_(pa.struct([("a", pa.int32()), ("b", pa.int32())]))),
            "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
            "dot.dot": pa.array([{"x": {"y.z": 7}, "w": None}], pa.struct([
                ("x", pa.struct([("y.z", pa.int32())])), ("w", pa.string()),
            ])),
        }
    )  # fmt: skip
    told = stored(table, tmp_path / "x.parquet")
    assert told["minValues"] == told["maxValues"] == {"dot.dot": {"x": {"y.z": 7}}}
    assert told["nullCount"] == {"dot.dot": {"x": {"y.z": 0}, "w": 1}}


def test_with_many_columns_the_position_columns_keep_their_statistics(tmp_path: Path) -> None:
    columns = {f"v{number}": [number] for number in range(400)}
    identity = pa.array(
        [{"ledger": 3, "entry": 4}], pa.struct([("ledger", pa.int64()), ("entry", pa.int64())])
    )
    told = stored(pa.table({**columns, "__messageId": identity}), tmp_path / "x.parquet")
    assert told["minValues"]["__messageId"] == {"ledger": 3, "entry": 4}
    assert len(told["minValues"]) == 257


numbers = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9)
texts = st.lists(st.none() | st.text(max_size=70), min_size=1, max_size=9)
moments = st.lists(st.none() | st.datetimes(), min_size=1, max_size=9)


@given(numbers=numbers, texts=texts, moments=moments)
def test_no_value_is_outside_the_statistics(
    numbers: list[int | None],
    texts: list[str | None],
    moments: list[dt.datetime | None],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("statistics") / "x.parquet"
    kinds = {"numbers": pa.int64(), "texts": pa.string(), "moments": pa.timestamp("us")}
    for name, values in (("numbers", numbers), ("texts", texts), ("moments", moments)):
        told = stored(pa.table({name: pa.array(values, kinds[name])}), path)
        least, largest = told["minValues"].get(name), told["maxValues"].get(name)
        present = [value for value in values if value is not None]
        if name == "texts":
            present = [value.encode() for value in present]
            least, largest = (None if text is None else text.encode() for text in (least, largest))
        elif name == "moments":
            least, largest = (
                None if text is None else dt.datetime.fromisoformat(text) for text in (least, largest)
            )
        assert all(least is None or least <= value for value in present)
        assert all(largest is None or value <= largest for value in present)


def test_delta_rs_reads_them(tmp_path: Path) -> None:
    table = pa.table(
        {
            "number": pa.array([1, None], pa.int64()),
            "exact": pa.array([Decimal("1.50"), None], pa.decimal128(30, 2)),
            "text": ["ä" * 40, "b"],
            "moment": pa.array([dt.datetime(2026, 1, 31, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
            "local": pa.array([LOCAL, None], pa.timestamp("us")),
            "day": pa.array([dt.date(2026, 1, 31), None]),
            "inner": pa.array([{"x": 1.5}, None], pa.struct([("x", pa.float64())])),
        }
    )
    delta = deltalake.DeltaTable.create(str(tmp_path), table.schema)
    pq.write_table(table, tmp_path / "x.parquet")
    footer = pq.read_metadata(tmp_path / "x.parquet")
    action = AddAction("x.parquet", 1000, {}, 0, True, file_statistics(footer, fractions_of(table)))
    delta.create_write_transaction([action], "append", delta.schema())
    (told,) = pa.table(deltalake.DeltaTable(str(tmp_path)).get_add_actions()).to_pylist()
    assert told["num_records"] == 2
    assert told["min"] == {
        "number": 1, "exact": Decimal("1.50"), "text": "b", "moment": dt.datetime(2026, 1, 31, tzinfo=UTC),
        "local": LOCAL, "day": dt.date(2026, 1, 31), "inner": {"x": 1.5},
    }  # fmt: skip
    assert told["max"] == {**told["min"], "text": "ä" * 31 + "å"}
    assert told["null_count"] == {**dict.fromkeys(table.column_names, 1), "text": 0, "inner": {"x": 1}}
