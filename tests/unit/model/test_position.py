"""Positions: order and text form."""

import itertools

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import EARLIEST, Position, after_entry


def test_order_is_ledger_then_entry_then_batch_index() -> None:
    in_order = [EARLIEST, Position(0, 0), Position(0, 0, 1), Position(0, 1), Position(1, 0), Position(10, 0)]
    assert all(first < second for first, second in itertools.pairwise(in_order))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("12:7", Position(12, 7)),
        ("12:7:30", Position(12, 7, 30)),
        ("earliest", EARLIEST),
        ("0:0:0", Position(0, 0)),
    ],
)
def test_parse(text: str, position: Position) -> None:
    assert Position.parse(text) == position
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize(
    "text",
    [
        *("", "12", "12:", "-1:0", "12:7:30:1", "a:b", "latest", "12:7:-1", "1.5:2", "12:7\n", "\u0661:0"),
        # More than Pulsar has bits for.
        *("12:7:3000000000", "12:10000000000000000000", "10000000000000000000:0"),
    ],
)
def test_parse_refuses(text: str) -> None:
    with pytest.raises(OptionError, match="is no position: expected"):
        Position.parse(text)


def test_the_position_after_an_entry() -> None:
    assert after_entry(12, 7) == Position(12, 8, 0)
    assert after_entry(-1, -1) == EARLIEST
    assert after_entry(12, -1) == EARLIEST
