"""Tests of write sets, from ledger metadata and from guesses."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, strategies as st

from pyspark_pulsar.client.bookkeeper.write_set import KnownWriteSets, guess_write_set, write_set_of
from pyspark_pulsar.client.ledger import Ensemble, LedgerMetadata

BOOKIES = tuple("abcdefg")


def test_striping_as_bookkeeper_does_it() -> None:
    write_set = write_set_of(Ensemble(0, ("a", "b", "c")), 2)
    assert [write_set.bookies_for(entry) for entry in range(4)] == [
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("a", "b"),
    ]
    assert not write_set.everyone_holds_all
    assert write_set_of(Ensemble(0, ("a", "b")), 2).everyone_holds_all
    assert write_set_of(Ensemble(0, ("a",)), 1).bookies_for(7) == ("a",)


@given(ensemble=st.integers(1, 7), copies=st.integers(1, 7), first=st.integers(0, 50))
def test_one_bookie_holds_as_many_consecutive_entries_as_there_are_copies(
    ensemble: int, copies: int, first: int
) -> None:
    write_set = write_set_of(Ensemble(0, BOOKIES[:ensemble]), copies)
    assert write_set.group == min(ensemble, copies)
    together = write_set.common_bookies(first, write_set.group)
    assert together
    assert all(set(together) <= set(write_set.bookies_for(first + place)) for place in range(write_set.group))
    if copies < ensemble:
        assert write_set.common_bookies(first, copies) == (BOOKIES[(first + copies - 1) % ensemble],)


def test_a_mostly_unknown_write_set_may_have_no_groups() -> None:
    write_set = guess_write_set(0, [{"a", "b"}, {"b", "c"}, {"d", "e"}], BOOKIES)
    assert (write_set.group, write_set.common_bookies(0, 2), write_set.common_bookies(1, 2)) == (
        1,
        ("b",),
        (),
    )


def test_each_entry_belongs_to_the_last_ensemble_that_began() -> None:
    ensembles = (Ensemble(0, ("a", "b")), Ensemble(10, ("a", "c")), Ensemble(12, ("c", "d")))
    write_sets = KnownWriteSets(LedgerMetadata(2, "CRC32C", ensembles))
    found = {entry: write_sets.at(entry) for entry in (0, 9, 10, 11, 12, 1000)}
    assert {entry: (write_set.bookies_for(entry), stop) for entry, (write_set, stop) in found.items()} == {
        0: (("a", "b"), 10),
        9: (("a", "b"), 10),
        10: (("a", "c"), 12),
        11: (("a", "c"), 12),
        12: (("c", "d"), sys.maxsize),
        1000: (("c", "d"), sys.maxsize),
    }


@given(
    size=st.integers(1, 5),
    copies=st.integers(1, 5),
    first=st.integers(0, 50),
    ensemble=st.permutations(BOOKIES),
)
def test_a_guess_from_all_holders_is_right(size: int, copies: int, first: int, ensemble: list[str]) -> None:
    truth = write_set_of(Ensemble(0, tuple(ensemble[:size])), min(copies, size))
    held = [truth.bookies_for(entry) for entry in range(first, first + 2 * len(BOOKIES))]
    guess = guess_write_set(first, held, BOOKIES)
    assert guess.period == truth.period
    for entry in range(first, first + 100):
        assert set(guess.bookies_for(entry)[: len(truth.bookies_for(entry))]) == set(truth.bookies_for(entry))
        assert set(guess.bookies_for(entry)) == set(BOOKIES)


@given(
    size=st.integers(1, 5),
    copies=st.integers(1, 5),
    first=st.integers(0, 50),
    probes=st.integers(1, 14),
    missing=st.sets(st.sampled_from(BOOKIES), max_size=2),
)
def test_every_bookie_is_tried_in_the_end_whatever_was_guessed(
    size: int, copies: int, first: int, probes: int, missing: set[str]
) -> None:
    truth = write_set_of(Ensemble(0, BOOKIES[:size]), min(copies, size))
    held = [set(truth.bookies_for(entry)) - missing for entry in range(first, first + probes)]
    if not all(held):
        return
    guess = guess_write_set(first, held, BOOKIES)
    for number, holders in enumerate(held):
        assert set(guess.bookies_for(first + number)[: len(holders)]) == holders
    for entry in range(first, first + 30):
        assert sorted(guess.bookies_for(entry)) == sorted(BOOKIES)


@pytest.mark.parametrize("first", range(6))
def test_a_guess_spreads_the_load(first: int) -> None:
    truth = write_set_of(Ensemble(0, ("a", "b", "c")), 2)
    guess = guess_write_set(first, [truth.bookies_for(entry) for entry in range(first, first + 6)], BOOKIES)
    assert {guess.bookies_for(entry)[0] for entry in range(3)} == {"a", "b", "c"}
