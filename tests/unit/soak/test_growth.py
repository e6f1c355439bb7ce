"""Comparisons of the objects in a session, which find growth of each kind, and nothing else."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from soak.growth_soaking import Resources, growth

WARM = Resources(heap_mib=100, direct_mib=20, arrow_mib=0, threads=60, files=300, sockets=40, children=3)


def test_what_stays_as_it_was_or_shrinks_is_no_growth() -> None:
    assert growth(WARM, WARM) == []
    assert growth(WARM, replace(WARM, heap_mib=60, threads=50)) == []
    assert growth(WARM, replace(WARM, threads=WARM.threads + 3)) == []


@pytest.mark.parametrize("name", [each.name for each in fields(Resources)])
def test_each_kind_of_growth_is_named(name: str) -> None:
    grown = replace(WARM, **{name: getattr(WARM, name) + 50})
    assert [line.split(":")[0] for line in growth(WARM, grown)] == [name]
