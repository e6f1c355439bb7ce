"""Unions of generated branches and values are read back, in Avro and in JSON; invalid Avro is an error."""

import base64
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from property.arrow_strategies import TEXT, comparable
from unit.codec.raw_payloads import decoded, entries, record, written

from pyspark_pulsar.errors import DecodeError

# An Avro type, and strategies of its values; every name is used once.
BRANCHES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("string", st.one_of(TEXT, st.sampled_from(["NaN", "Infinity", "CLUBS", "eA==", "5", ""]))),
    ("bytes", st.binary(max_size=5)),
    ({"type": "fixed", "name": "F", "size": 2}, st.binary(min_size=2, max_size=2)),
    (
        {"type": "enum", "name": "n.Suit", "symbols": ["HEARTS", "CLUBS"]},
        st.sampled_from(["HEARTS", "CLUBS"]),
    ),
    (
        {"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2},
        st.integers(-(10**9) + 1, 10**9 - 1).map(lambda digits: Decimal(digits).scaleb(-2)),
    ),
    ({"type": "array", "items": ["null", "int"]}, st.lists(st.none() | st.integers(0, 9), max_size=3)),
    (
        {"type": "map", "values": "int"},
        st.dictionaries(
            TEXT | st.sampled_from(["int", "n.Suit", "Suit", "x"]), st.integers(0, 9), max_size=2
        ),
    ),
    (record(("x", "int"), name="n.One"), st.fixed_dictionaries({"x": st.integers(0, 9)})),
    (record(("int", "int"), name="Odd"), st.fixed_dictionaries({"int": st.integers(0, 9)})),
    (
        record(("x", ["null", "int"]), ("y", "string"), name="Two"),
        st.fixed_dictionaries({"x": st.none() | st.integers(0, 9), "y": TEXT}),
    ),
]


@st.composite
def unions(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Branches with null in any place or none, and rows: the index of the member and its value, or None."""
    chosen = draw(st.lists(st.sampled_from(range(len(BRANCHES))), min_size=2, max_size=5, unique=True))
    branches = [BRANCHES[index][0] for index in chosen]
    row = st.integers(0, len(chosen) - 1).flatmap(
        lambda member: st.tuples(st.just(member), BRANCHES[chosen[member]][1])
    )
    if draw(st.booleans()):
        branches.insert(draw(st.integers(0, len(branches))), "null")
        return branches, draw(st.lists(row | st.none(), min_size=1, max_size=5))
    return branches, draw(st.lists(row, min_size=1, max_size=5))


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
@settings(print_blob=True, deadline=None, max_examples=200)
@given(unions())
@example((["float", "string"], [(1, "NaN"), (0, 1.5)]))
@example((["double", "bytes"], [(1, b"NaN"), (1, base64.b64decode("Infinity"))]))
def test_round_trip(kind: str, union: tuple[list[Any], list[Any]]) -> None:
    branches, rows = union
    document = record(("u", branches), ("behind", "int"), name="R")
    count = len(branches) - branches.count("null")

    def row_of_members(row: Any, *, as_pairs: bool) -> Any:
        if row is None:
            return None
        index, value = row
        is_map = [each for each in branches if each != "null"][index] == {"type": "map", "values": "int"}
        value = list(value.items()) if is_map and as_pairs else value
        return {f"member{i}": value if i == index else None for i in range(count)}

    given_rows = [{"u": row_of_members(row, as_pairs=True), "behind": 7} for row in rows]
    found, _ = written(kind, document, given_rows)
    expected = [{"u": row_of_members(row, as_pairs=False), "behind": 7} for row in rows]
    assert comparable(decoded(kind, document, found)) == comparable(expected)


EVERYTHING = record(
    *((f"f{index}", kind) for index, (kind, _) in enumerate(BRANCHES)), ("u", ["null", "n.One", "F"])
)
FEWER = record(
    ("f13", record(("other", "int", 3), ("int", "long"), name="Odd")),
    ("u", ["null", record(("x", "double"), name="One")]),
)


@pytest.mark.parametrize("reader", [EVERYTHING, FEWER], ids=["same", "fewer"])
@settings(print_blob=True, deadline=None, max_examples=300)
@given(st.binary(max_size=60))
def test_any_bytes_are_rows_or_an_error(reader: dict[str, Any], payload: bytes) -> None:
    try:
        rows = decoded("AVRO", reader, entries(payload), EVERYTHING)
    except DecodeError as error:
        assert "entry 0, batch index 0" in str(error)  # noqa: PT017 - either outcome is right
    else:
        assert len(rows) == 1
