"""Ledgers of a topic partition as retention and time leave them, and ranges over them."""

from __future__ import annotations

from hypothesis import strategies as st

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import EARLIEST, Position


@st.composite
def topic_ledgers(draw: st.DrawFn) -> tuple[Ledger, ...]:
    """Ids with gaps, empty ledgers, offloaded ones, the last one open or not."""
    ids = sorted(draw(st.sets(st.integers(3, 40), min_size=1, max_size=6)))
    ledgers: list[Ledger] = []
    clock = 1_000
    for number in ids:
        is_open = number == ids[-1] and draw(st.booleans())
        entries = draw(st.integers(0, 12))
        opened = ledgers[-1].closed_ms if ledgers else None
        clock += draw(st.integers(0, 1_000))
        ledgers.append(
            Ledger(
                number,
                entries,
                entries * draw(st.integers(1, 100)),
                opened_ms=opened,
                closed_ms=None if is_open else clock,
                offload_id="an-id" if draw(st.booleans()) and not is_open else None,
            )
        )
    return tuple(ledgers)


def positions(ledgers: tuple[Ledger, ...]) -> st.SearchStrategy[Position]:
    """Draw positions in the ledgers, before, after and between them."""
    most = max(ledger.id for ledger in ledgers) + 2
    inside = st.builds(Position, st.integers(0, most), st.integers(0, 14), st.sampled_from([0, 0, 1, 5]))
    exact = st.sampled_from(ledgers).flatmap(
        lambda ledger: st.builds(Position, st.just(ledger.id), st.integers(0, ledger.entries))
    )
    return st.one_of(st.just(EARLIEST), inside, exact)
