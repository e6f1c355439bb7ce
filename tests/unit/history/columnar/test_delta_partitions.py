"""Partition fields as columns of a Delta table, and folders of their keys."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from pyspark_pulsar.errors import OptionError, SchemaError
from pyspark_pulsar.history.columnar.delta import partitions
from pyspark_pulsar.history.columnar.layout import FileLayout, PartitionField
from pyspark_pulsar.history.columnar.storage import TableStorage

COLUMNS = pa.schema(
    [
        ("item", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("Amount", pa.decimal128(9, 2)),
        ("__publishTime", pa.timestamp("us", "UTC")),
    ]
)


def field(text: str) -> PartitionField:
    return PartitionField.parse(text)


@pytest.mark.parametrize(
    ("text", "value", "told"),
    [
        ("hour(t)", 24 * 20_484 + 8, "2026-01-31-08"),
        ("hour(t)", -1, "1969-12-31-23"),
        ("day(t)", 20_484, "2026-01-31"),
        ("month(t)", 12 * 56, "2026-01"),
        ("month(t)", -1, "1969-12"),
        ("year(t)", -969, "1001"),
        ("day(t)", 10**8, None),
        ("month(t)", 12 * 9000, None),
        ("year(t)", -1970, "0"),
        ("hour(t)", None, None),
        ("x", True, "true"),
        ("x", -7, "-7"),
        ("x", Decimal("1E+2"), "100"),
        ("x", dt.date(2026, 1, 31), "2026-01-31"),
        ("x", "ä/b", "ä/b"),
        ("x", None, None),
    ],
)
def test_values_as_people_read_them(text: str, value: Any, told: str | None) -> None:
    assert field(text).text(value) == told


def test_columns_of_a_table_of_its_files_and_of_its_topic() -> None:
    fields = (field("day(__publishTime)"), field("item"), field("year(day)"))
    columns = partitions.table_columns(COLUMNS, fields, "t")
    assert columns.names == [*COLUMNS.names, "publishTime_day", "day_year"]
    assert columns.field("publishTime_day").type == pa.date32()
    assert partitions.topic_columns(columns, fields) == COLUMNS
    assert partitions.file_columns(columns, fields).names == ["raw", "day", "Amount", "__publishTime"]
    names = ["publishTime_day", "item", "day_year"]
    assert partitions.from_json(partitions.to_json(fields), names, columns) == fields
    values = partitions.partition_values(fields, (20_484, "a b", None), "t")
    assert values == {"publishTime_day": "2026-01-31", "item": "a b", "day_year": None}
    assert partitions.constants(fields, {"publishTime_day": 1, "item": "a b"}) == (("item", "a b"),)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nothing", "expected a column of the table"),
        ("raw", "choose another column"),
        ("__publishTime", "choose hour, day, month or year of __publishTime"),
    ],
)
def test_columns_that_delta_does_not_partition_by(name: str, text: str) -> None:
    with pytest.raises(OptionError, match=text):
        partitions.check_partition_field(field(name), COLUMNS)


def test_two_columns_of_one_name() -> None:
    columns = pa.schema([*COLUMNS, ("PublishTime_Day", pa.int32())])
    with pytest.raises(SchemaError, match="'publishTime_day' twice"):
        partitions.table_columns(columns, (field("day(__publishTime)"),), "t")


def test_an_empty_text_is_not_null() -> None:
    with pytest.raises(SchemaError, match="got an empty one, which Delta cannot distinguish from null"):
        partitions.partition_values((field("item"),), ("",), "t")


def test_folders_are_named_as_by_hive() -> None:
    layout = FileLayout("s3://b/t/data", COLUMNS, (field("day(t)"), field("i t")), has_folders=True)
    assert layout.folder_of((20_484, "a/b c=ä%")) == (
        "s3://b/t/data/t_day=2026-01-31/i%20t=a%2Fb%20c%3D%C3%A4%25"
    )
    assert layout.folder_of((None, "x" * 300)) == "s3://b/t/data/t_day=__HIVE_DEFAULT_PARTITION__"
    assert FileLayout("s3://b/t/data", COLUMNS).folder_of((1,)) == "s3://b/t/data"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_a_folder_of_a_local_table_is_found(text: str) -> None:
    layout = FileLayout("file:///my%20folder", COLUMNS, (field("item"),), has_folders=True)
    remote = FileLayout("s3://b", COLUMNS, (field("item"),), has_folders=True)
    _, path = TableStorage().locate(layout.folder_of((text,)))
    assert path.removeprefix("/my folder/") == remote.folder_of((text,)).removeprefix("s3://b/")
    assert "/" not in path.removeprefix("/my folder/")
