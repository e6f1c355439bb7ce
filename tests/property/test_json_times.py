"""Dates and times in JSON in every form; Python's own arithmetic is the reference."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from typing import Any

from hypothesis import given, strategies as st
from unit.codec.raw_payloads import decoded, entries, record, written

UNITS = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)

INSTANTS = st.datetimes(timezones=st.just(dt.UTC))
LOCAL_TIMES = st.datetimes()
NANOS = st.integers(0, 999)


def logical(name: str) -> dict[str, Any]:
    kind = "int" if name in ("date", "time-millis") else "long"
    return {"type": kind, "logicalType": name}


def read(name: str, text: str) -> Any:
    (row,) = decoded("JSON", record(("v", logical(name))), entries(f'{{"v": {text}}}'.encode()))
    return row["v"]


def java_decimal(seconds: int, nanos: int) -> str:
    """Seconds, a point, and the nanoseconds that count forwards from them, as Jackson writes an `Instant`."""
    sign = "-" if seconds < 0 else ""
    return f"{sign}{abs(seconds)}.{nanos:09}"


@given(INSTANTS, NANOS, st.sampled_from(sorted(UNITS)))
def test_seconds_with_a_point(value: dt.datetime, nanos: int, unit: str) -> None:
    micros = (value - EPOCH) // MICROSECOND
    text = java_decimal(micros // 10**6, micros % 10**6 * 1000 + nanos)
    assert read(f"timestamp-{unit}", text) == value


@given(st.integers(-(10**20), 10**20), st.integers(-30, 5))
def test_a_number_with_an_exponent_is_exact(mantissa: int, exponent: int) -> None:
    seconds = Fraction(mantissa) * Fraction(10) ** exponent
    whole = int(seconds)
    if abs(whole) > 60_000_000_000:
        return
    nanos = int(abs(seconds - whole) * 10**9)
    # The fraction counts forwards where there are whole seconds before it.
    total = whole * 10**9 + (nanos if whole or mantissa > 0 else -nanos)
    assert read("timestamp-micros", f"{mantissa}e{exponent}") == EPOCH + (total // 1000) * MICROSECOND


@given(INSTANTS, st.sampled_from(sorted(UNITS)))
def test_whole_numbers_count_the_unit(value: dt.datetime, unit: str) -> None:
    number = (value - EPOCH) // MICROSECOND * UNITS[unit] // 10**6
    if not -(2**63) <= number < 2**63:
        return
    expected = EPOCH + number * 10**6 // UNITS[unit] * MICROSECOND
    assert read(f"timestamp-{unit}", str(number)) == expected


@given(st.datetimes(dt.datetime(2, 1, 1), dt.datetime(9998, 1, 1)), st.integers(-18 * 60, 18 * 60))  # noqa: DTZ001
def test_texts_with_an_offset(value: dt.datetime, minutes: int) -> None:
    there = value.replace(tzinfo=dt.timezone(dt.timedelta(minutes=minutes)))
    assert read("timestamp-millis", json.dumps(there.isoformat())) == there


@given(LOCAL_TIMES, NANOS)
def test_parts_of_local_times(value: dt.datetime, nanos: int) -> None:
    date, time = [value.year, value.month, value.day], [value.hour, value.minute]
    if value.second or value.microsecond or nanos:
        time.append(value.second)
    if value.microsecond or nanos:
        time.append(value.microsecond * 1000 + nanos)
    assert read("local-timestamp-millis", json.dumps(date + time)) == value
    assert read("time-millis", json.dumps(time)) == value.time()
    assert read("date", json.dumps(date)) == value.date()
    assert read("local-timestamp-millis", json.dumps(value.isoformat())) == value
    assert read("time-millis", json.dumps(value.time().isoformat())) == value.time()
    assert read("date", json.dumps(value.date().isoformat())) == value.date()


@given(LOCAL_TIMES, st.sampled_from(sorted(UNITS)))
def test_what_is_written_is_iso_and_reads_back(value: dt.datetime, unit: str) -> None:
    row = {
        "at": value.replace(tzinfo=dt.UTC),
        "there": value,
        "clock": value.time(),
        "day": value.date(),
    }
    document = record(
        ("at", logical(f"timestamp-{unit}")),
        ("there", logical(f"local-timestamp-{unit}")),
        ("clock", logical("time-millis")),
        ("day", logical("date")),
    )
    found, (payload,) = written("JSON", document, [row])
    texts = json.loads(payload)
    assert dt.datetime.fromisoformat(texts["at"]) == row["at"]
    assert dt.datetime.fromisoformat(texts["there"]) == row["there"]
    assert dt.time.fromisoformat(texts["clock"]) == row["clock"]
    assert dt.date.fromisoformat(texts["day"]) == row["day"]
    assert decoded("JSON", document, found) == [row]
