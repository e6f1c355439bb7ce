"""Columns of files are found by ids and names, at a cost that grows with their number and not with its square."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from pyspark_pulsar.history.columnar.columns import projection
from pyspark_pulsar.history.columnar.columns.projection import (
    FIELD_ID,
    ColumnProjection,
    FieldIndex,
    field_id,
)


def field(name: str, number: int | None, kind: pa.DataType | None = None) -> pa.Field:
    return pa.field(name, kind or pa.int64(), metadata=None if number is None else {FIELD_ID: str(number)})


@pytest.mark.parametrize("is_nested", [False, True])
def test_each_field_is_looked_at_a_fixed_number_of_times(
    is_nested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {}
    for columns in (500, 5000):
        calls = 0

        def counted(one: pa.Field) -> int | None:
            nonlocal calls
            calls += 1
            return field_id(one)

        monkeypatch.setattr(projection, "field_id", counted)
        table = [field(f"c{number}", number) for number in range(columns)]
        target = pa.struct([pa.field(one.name, pa.string()) for one in table])
        if is_nested:
            outer = field("s", -1, pa.struct(table))
            ColumnProjection(pa.field("s", target), outer, FieldIndex([outer]))
        else:
            index = FieldIndex(table)
            assert [ColumnProjection(one, one, index).source for one in table] == [one.name for one in table]
        counts[columns] = calls
    assert counts[5000] <= 10 * counts[500] <= 10 * 3 * 501


def test_a_field_is_found_by_its_id_or_without_one_by_its_name(rng: random.Random) -> None:

    def some() -> pa.Field:
        return field(rng.choice("abcd"), rng.choice([None, 1, 2, 3]))

    def plain(table: pa.Field, file: list[pa.Field]) -> int | None:
        for position, one in enumerate(file):
            own, number = field_id(one), field_id(table)
            if (own == number) if own is not None and number is not None else one.name == table.name:
                return position
        return None

    for _ in range(500):
        table, file = some(), [some() for _ in range(rng.randrange(6))]
        found = FieldIndex(file).matching(table)
        assert (None if found is None else found[0]) == plain(table, file)
