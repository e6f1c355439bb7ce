"""The choice of ledgers that a CALL of offload moves."""

from __future__ import annotations

import pytest

from pyspark_pulsar.catalog.procedures.broker_work import first_kept
from pyspark_pulsar.client.ledger import Ledger


def ledgers(*sizes: int, offloaded: int = 0) -> tuple[Ledger, ...]:
    """Return ledgers of these sizes; the last one is open."""
    return tuple(
        Ledger(
            10 + number,
            size,
            size,
            opened_ms=None,
            closed_ms=None if number == len(sizes) - 1 else 1,
            offload_id="x" if number < offloaded else None,
        )
        for number, size in enumerate(sizes)
    )


@pytest.mark.parametrize(
    ("known", "keep", "first"),
    [
        (ledgers(), 0, None),
        (ledgers(5), 0, None),
        (ledgers(5), 100, None),
        (ledgers(5, 5, 0), 0, 12),
        (ledgers(5, 5, 3), 0, 12),
        (ledgers(5, 5, 3), 8, 11),
        (ledgers(5, 5, 3), 7, 12),
        (ledgers(5, 5, 3), 13, None),
        (ledgers(5, 5, 3, offloaded=1), 8, None),
        (ledgers(5, 5, 3, offloaded=1), 0, 12),
        (ledgers(5, 5, 3, offloaded=2), 0, None),
    ],
)
def test_the_open_ledger_and_the_newest_bytes_stay(
    known: tuple[Ledger, ...], keep: int, first: int | None
) -> None:
    assert first_kept(known, keep) == first
