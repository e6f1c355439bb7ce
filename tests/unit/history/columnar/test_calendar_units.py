"""Hours, days, months and years of dates and times, beside Python's own calendar."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from hypothesis import given, strategies as st

from pyspark_pulsar.history.columnar.calendar_units import units

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - times without zone
LEAST, LARGEST = -(2**63), 2**63 - 1


def microseconds(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64()).cast(pa.timestamp("us", "UTC"))


@given(st.lists(st.datetimes(), min_size=1, max_size=50))
def test_each_time_is_in_the_hour_day_month_and_year_that_its_calendar_says(
    moments: list[dt.datetime],
) -> None:
    months = [(moment.year - 1970) * 12 + moment.month - 1 for moment in moments]
    for values in (pa.array(moments, pa.timestamp("us")), pa.array([moment.date() for moment in moments])):
        assert units(values, "day").to_pylist() == [(moment - EPOCH).days for moment in moments]
        assert units(values, "month").to_pylist() == months
        assert units(values, "year").to_pylist() == [moment.year - 1970 for moment in moments]
    hours = [(moment - EPOCH) // dt.timedelta(hours=1) for moment in moments]
    assert units(pa.array(moments, pa.timestamp("us")), "hour").to_pylist() == hours


def test_times_at_the_limits_of_64_bits() -> None:
    values = microseconds(LEAST, -1, 0, None, 2**53 + 1, LARGEST)
    assert units(values, "hour").to_pylist() == [-(2**31), -1, 0, None, 2_501_999, 2**31 - 1]
    assert units(values, "day").to_pylist() == [-106_751_992, -1, 0, None, 104_249, 106_751_991]
    assert units(values, "month").to_pylist() == [-3_507_325, -1, 0, None, 3_425, 3_507_324]
    assert units(values, "year").to_pylist() == [-292_278, -1, 0, None, 285, 292_277]


def test_dates_at_the_limits_of_32_bits() -> None:
    values = pa.array([-(2**31), None, 2**31 - 1], pa.int32()).cast(pa.date32())
    assert units(values, "day").to_pylist() == [-(2**31), None, 2**31 - 1]
    assert units(values, "year").to_pylist() == [-5_879_611, None, 5_879_610]
