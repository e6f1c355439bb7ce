"""Measuring: made-up entries decode to their rows, and every cost that needs no server is measured."""

from __future__ import annotations

import pytest

from pyspark_pulsar.tools.sizing import calibration
from pyspark_pulsar.tools.sizing.calibration import decode, least_cpu, measure_costs
from pyspark_pulsar.tools.sizing.costs import KINDS, PLANNING
from pyspark_pulsar.tools.sizing.entries import (
    encode_entries,
    encoder_of,
    made_up_bytes,
    made_up_rows,
    schema_of_rows,
)
from pyspark_pulsar.tools.sizing.workload import FORMATS


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("messages", [1, 7, 100])
def test_made_up_entries_hold_the_rows(kind: str, messages: int) -> None:
    rows = made_up_bytes(50, 24) if kind == "BYTES" else made_up_rows(50, 6, 12)
    info = schema_of_rows(kind, 6)
    entries = encode_entries(encoder_of(rows, info, messages), rows)
    assert len(entries) == -(-50 // messages)
    assert decode(entries, info) == 50


def test_every_cost_of_messages_and_one_of_planning_is_measured() -> None:
    measured = measure_costs(0.1)
    assert set(measured) == {key for key in KINDS if key.startswith(("decode.", "encode."))} | {PLANNING}
    assert all(value >= 0 for value in measured.values())
    assert all(measured[f"decode.{kind}.byte"] < 1e-6 for kind in FORMATS)
    assert measured[PLANNING] > 0


def test_each_cost_is_the_difference_of_two_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return a calibration from runs with known costs."""
    entry, message, column, byte = 3e-6, 2e-7, 5e-8, 4e-10

    def run(_: str, columns: int, text_bytes: int, messages: int, __: float) -> object:
        size = 10.0 + text_bytes * columns / 4
        cpu = entry / messages + message + columns * column + byte * size
        return calibration._MessageCost(cpu, size)

    monkeypatch.setattr(calibration, "_decode_cost", run)
    measured = calibration._decoding("AVRO", 1.0)
    for part, cost in (("entry", entry), ("message", message), ("column", column), ("byte", byte)):
        assert measured[f"decode.AVRO.{part}"] == pytest.approx(cost)


def test_the_least_of_at_least_three_runs_counts() -> None:
    calls: list[int] = []
    assert least_cpu(lambda: calls.append(sum(range(1000))), 0.0) >= 0
    assert len(calls) == 4
