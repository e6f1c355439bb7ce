"""Dates, times and numbers in JSON in the forms of Pulsar's Java client: the value of each text, and texts
without one.

The values beside the texts are those read by the client's mapper (4.0.8, Jackson 2.17), unless a comment
names another source.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from unit.codec.raw_payloads import decoded, entries, record, written

from pyspark_pulsar.errors import DecodeError, SchemaError

UTC = dt.UTC
INSTANT = dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
HALF = dt.timedelta(milliseconds=500)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
LOCAL = dt.datetime(2024, 5, 6, 7, 8, 9)  # noqa: DTZ001 - a local time

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
NANOS = {"type": "long", "logicalType": "timestamp-nanos"}
THERE = {"type": "long", "logicalType": "local-timestamp-millis"}
CLOCK = {"type": "int", "logicalType": "time-millis"}
DAY = {"type": "int", "logicalType": "date"}


def java_class(name: str) -> dict[str, Any]:
    """A class that the Java client describes as a record without fields."""
    namespace, _, short = name.rpartition(".")
    return {"type": "record", "name": short, "namespace": namespace, "fields": []}


def java_type(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "java-class": name}


ZONED = java_class("java.time.ZonedDateTime")
DATE = java_class("java.util.Date")
ANY = java_class("java.util.Optional")
CHAR = java_type("int", "java.lang.Character")
DECIMAL = java_type("string", "java.math.BigDecimal")
INTEGER = java_type("string", "java.math.BigInteger")

READ: list[tuple[Any, str, Any]] = [
    (MICROS, "1714979289.000000000", INSTANT),
    (MICROS, "1714979289.500000999", INSTANT + HALF),
    (MICROS, "1714979289000000", INSTANT),
    (MICROS, "1.714979289E9", INSTANT),
    (MICROS, "0.0", EPOCH),
    (MICROS, "5E-9", EPOCH),
    (MICROS, "-1.500000000", EPOCH - HALF),
    (MICROS, "-1.999999999", EPOCH - dt.timedelta(microseconds=1)),
    (MICROS, "-0.5", EPOCH - HALF),
    (MICROS, "-5.500000000", EPOCH - dt.timedelta(seconds=4.5)),
    (MICROS, '"1714979289.5"', INSTANT + HALF),
    (MICROS, '"2024-05-06T07:08:09Z"', INSTANT),
    (MICROS, '"2024-05-06T09:08:09.5+02:00"', INSTANT + HALF),
    (MILLIS, "1714979289500", INSTANT + HALF),
    (MILLIS, "1714979289.500000", INSTANT + HALF),
    (MILLIS, "1714979289.000001000", INSTANT + dt.timedelta(microseconds=1)),
    (NANOS, "1714979289500000999", INSTANT + HALF),
    (NANOS, "-1", EPOCH - dt.timedelta(microseconds=1)),
    # A whole number is seconds for the classes that the schema has no unit for.
    (ZONED, "1714979289", INSTANT),
    (ZONED, "1714979289.500000000", INSTANT + HALF),
    (THERE, "[2024,5,6,7,8,9]", LOCAL),
    (THERE, "[2024,5,6,7,8]", LOCAL.replace(second=0)),
    (THERE, "[2024,5,6,7,8,9,500000999]", LOCAL + HALF),
    (THERE, '"2024-05-06T07:08:09"', LOCAL),
    (THERE, '"2024-05-06T07:08:09Z"', LOCAL),
    (THERE, "1714979289500", LOCAL + HALF),  # Java has no value for a number.
    (CLOCK, "[7,8]", dt.time(7, 8)),
    (CLOCK, "[7,8,9,1000]", dt.time(7, 8, 9, 1)),
    (CLOCK, '"07:08:09.000001"', dt.time(7, 8, 9, 1)),
    (CLOCK, "25689000", dt.time(7, 8, 9)),  # Java has no value for a number.
    (DAY, "[2024,5,6]", dt.date(2024, 5, 6)),
    (DAY, "19849", dt.date(2024, 5, 6)),
    (DAY, '"2024-05-06"', dt.date(2024, 5, 6)),
    (DAY, '"2024-05-06T23:59:59Z"', dt.date(2024, 5, 6)),
    (DATE, "1714979289500", INSTANT + HALF),
    (CHAR, '"x"', 120),
    (CHAR, '"5"', 53),
    (CHAR, "120", 120),
    (CHAR, r'"\uD83D"', 0xD83D),
    (DECIMAL, "12.50", "12.50"),
    (DECIMAL, "1E+3", "1E+3"),
    (DECIMAL, '"12.5"', "12.5"),
    (INTEGER, "-123456789012345678901234567890123456789012", "-123456789012345678901234567890123456789012"),
    (INTEGER, "1e3", "1e3"),
    (ANY, '"x"', '"x"'),
    (ANY, "[2024, 5]", "[2024, 5]"),
    (java_class("java.util.OptionalInt"), "5", 5),
    (java_class("java.time.YearMonth"), "[2024,5]", [2024, 5]),
    ({"type": "array", "items": CHAR, "java-class": "[C"}, '"xy"', "xy"),
]  # fmt: skip

NO_VALUE: list[tuple[Any, str]] = [
    # A whole number in quotes is seconds to Java and the unit of the schema to others.
    (MICROS, '"1714979289"'),
    (MICROS, '"2024-05-06T07:08:09"'),
    (MICROS, '"2024-02-30T00:00:00Z"'),
    (MICROS, "[2024,5,6]"),
    (MICROS, "1e400"),
    (MICROS, "9223372036854.775808"),
    (MILLIS, "9223372036854775807"),
    (MICROS, "true"),
    (THERE, "1714979289.5"),
    (THERE, "[2024,5,6]"),
    (THERE, "[2024,5,6,7,8,9,1000000000]"),
    (THERE, '"2024-05-06T07:08:09+02:00"'),
    (CLOCK, "[7]"),
    (CLOCK, "[24,0]"),
    (CLOCK, "86400000"),
    (CLOCK, "-1"),
    (CLOCK, '"24:00"'),
    (DAY, "[2024,2,30]"),
    (DAY, "[2024,5,6,0]"),
    (DAY, '["2024","5","6"]'),
    (DAY, "19849.5"),
    (DATE, "1714979289.5"),
    (CHAR, '"xy"'),
    (CHAR, '""'),
    (CHAR, "65536"),
    (CHAR, '"😀"'),
    (DECIMAL, '"AQ=="'),
    (INTEGER, "5.5"),
]


def read(kind: Any, text: str) -> Any:
    (row,) = decoded("JSON", record(("v", ["null", kind])), entries(f'{{"v": {text}}}'.encode()))
    return row["v"]


@pytest.mark.parametrize(("kind", "text", "value"), READ, ids=str)
def test_read(kind: Any, text: str, value: Any) -> None:
    assert read(kind, text) == value


@pytest.mark.parametrize(("kind", "text"), NO_VALUE, ids=str)
def test_an_invalid_value_is_a_bad_row(kind: Any, text: str) -> None:
    with pytest.raises(DecodeError, match="in field v, at byte"):
        read(kind, text)


WRITTEN: list[tuple[Any, Any, str]] = [
    (MICROS, INSTANT, '"2024-05-06T07:08:09Z"'),
    (MILLIS, INSTANT + dt.timedelta(microseconds=1), '"2024-05-06T07:08:09.000001Z"'),
    (MICROS, EPOCH - HALF, '"1969-12-31T23:59:59.500000Z"'),
    (ZONED, INSTANT, '"2024-05-06T07:08:09Z"'),
    (THERE, LOCAL, '"2024-05-06T07:08:09"'),
    (CLOCK, dt.time(7, 8, 9, 1), '"07:08:09.000001"'),
    (DAY, dt.date(1, 1, 1), '"0001-01-01"'),
    # Java reads a date before 1582 by the Julian calendar.
    (DATE, dt.datetime(1, 1, 1, tzinfo=UTC), "-62135596800000"),
    (CHAR, 120, '"x"'),
    (CHAR, 34, r'"\""'),
    (CHAR, 0xD83D, r'"\ud83d"'),
    (DECIMAL, "1E+3", "1E+3"),
    (DECIMAL, "+5", '"+5"'),
    (INTEGER, "-5", "-5"),
    (ANY, '{"a": [1]}', '{"a": [1]}'),
    (java_class("java.time.YearMonth"), [2024, 5], "[2024,5]"),
]


@pytest.mark.parametrize(("kind", "value", "text"), WRITTEN, ids=str)
def test_written(kind: Any, value: Any, text: str) -> None:
    document = record(("v", ["null", kind]))
    found, payloads = written("JSON", document, [{"v": value}])
    assert payloads == [f'{{"v":{text}}}'.encode()]
    assert decoded("JSON", document, found) == [{"v": value}]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (CHAR, 65536, "expected a UTF-16 code unit of 0 to 65535, got 65536"),
        (CHAR, -1, "expected a UTF-16 code unit"),
        (DECIMAL, "x", "expected a number as text"),
        (INTEGER, "5.5", "expected a whole number as text"),
        (ANY, "x", "expected JSON, got"),
        (ANY, "1 2", "expected JSON, got"),
    ],
    ids=str,
)
def test_a_row_that_java_could_not_read_is_refused(kind: Any, value: Any, expected: str) -> None:
    with pytest.raises(SchemaError, match=expected):
        written("JSON", record(("v", ["null", kind])), [{"v": value}])


def test_a_default_counts_the_unit_of_the_document() -> None:
    document = record(("v", MILLIS, 1714979289500), ("days", {"type": "array", "items": DAY}, [19849]))
    assert decoded("JSON", document, entries(b"{}")) == [{"v": INSTANT + HALF, "days": [dt.date(2024, 5, 6)]}]
