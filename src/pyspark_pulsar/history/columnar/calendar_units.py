"""Conversion of dates and times to integers, and to hours, days, months and years since 1970. Pure.

Arrow's own functions for parts of a date are exact only for the years -32767 to 32767. Arrow's integer division rounds
toward zero. This module needs numbers that are rounded down, and corrects the result of the division.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

_HOUR: Final = 3_600_000_000
_DAY: Final = 24 * _HOUR
"""The length of a day in microseconds; `_HOUR` is the length of an hour in microseconds."""
_COUNT: Final = pa.int32()
"""The type of hours, days, months and years in Iceberg."""
_LARGEST: Final = 2**31 - 1
_FIRST_YEAR: Final = 1970
_ERA_DAYS: Final = 146_097
"""The number of days in 400 years of the Gregorian calendar."""
_DAYS_BEFORE_1970: Final = 719_468
"""The number of days from March 1 of the year 0 to January 1, 1970."""


def whole_values(values: pa.Array) -> pa.Array:
    """Convert dates, times and intervals to the integers that Arrow and Iceberg store. Other values stay unchanged."""
    if types.is_date(values.type):
        return values.cast(_COUNT)
    if types.is_timestamp(values.type):
        return values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    if types.is_time(values.type):
        return values.cast(pa.time64("us")).cast(pa.int64())
    if types.is_duration(values.type):
        return values.cast(pa.duration("us")).cast(pa.int64())
    return values


def units(values: pa.Array, unit: str) -> pa.Array:
    """Return the number of whole hours, days, months or years from 1970 (UTC) to each value, as 32-bit integers.

    Times before 1970 are rounded down. A number that exceeds 32 bits becomes the largest or the smallest 32-bit
    integer. An example is the hours until the year 247,000. A later time never has a smaller number than an earlier
    time. So filters by time still select the right files.
    """
    if types.is_date(values.type):
        days = values.cast(_COUNT).cast(pa.int64())
    else:
        microseconds = whole_values(values)
        if unit == "hour":
            return _clip_counts(_floor(microseconds, _HOUR))
        days = _floor(microseconds, _DAY)
    if unit == "day":
        return _clip_counts(days)
    months = _months(days)
    return _clip_counts(months if unit == "month" else _floor(months, 12))


def _floor(values: pa.Array, step: int) -> pa.Array:
    """Divide each value by `step`, and round down."""
    quotients = pc.divide(values, step)
    is_past = pc.greater(pc.multiply(quotients, step), values)
    return pc.subtract(quotients, is_past.cast(pa.int64()))


def _months(days: pa.Array) -> pa.Array:
    """Convert days since 1970 to whole months since January 1970, in the Gregorian calendar.

    In this calculation, each year begins in March. The leap day is then the last day of its year.
    """
    since = pc.add(days, _DAYS_BEFORE_1970)
    eras = _floor(since, _ERA_DAYS)
    day = pc.subtract(since, pc.multiply(eras, _ERA_DAYS))
    leaps = pc.subtract(pc.add(pc.divide(day, _ERA_DAYS - 1), pc.divide(day, 1460)), pc.divide(day, 36_524))
    year = pc.divide(pc.subtract(day, leaps), 365)
    before = pc.subtract(pc.add(pc.multiply(year, 365), pc.divide(year, 4)), pc.divide(year, 100))
    month = pc.divide(pc.add(pc.multiply(pc.subtract(day, before), 5), 2), 153)
    years = pc.add(pc.multiply(eras, 400), year)
    return pc.add(pc.add(pc.multiply(years, 12), month), 2 - 12 * _FIRST_YEAR)


def _clip_counts(counts: pa.Array) -> pa.Array:
    least, largest = pa.scalar(-_LARGEST - 1, pa.int64()), pa.scalar(_LARGEST, pa.int64())
    capped = pc.min_element_wise(counts, largest, skip_nulls=False)
    return pc.max_element_wise(capped, least, skip_nulls=False).cast(_COUNT)
