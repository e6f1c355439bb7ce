"""Write sets: the bookies that store each entry of a ledger. This module does no input or output.

The write set of an entry contains the bookies that store a replica of the entry. Replica `i` of entry `e` is stored on
`ensemble[(e + i) % len(ensemble)]`. If the admin REST API does not return the ensembles, the reader guesses the
write sets. To guess, the reader requests a few consecutive entries from all bookies. A wrong guess costs time but loses
no rows, because the reader tries all other bookies after the guessed bookies.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark_pulsar.client.ledger import Ensemble, LedgerMetadata


@dataclass(frozen=True, slots=True)
class WriteSet:
    """The write sets of all entries from `first_entry` on, which repeat after `period` entries."""

    first_entry: int
    holders: tuple[tuple[str, ...], ...]
    """The bookies of entry `e` are `holders[e % len(holders)]`. A reader sends the first request to the first
    bookie."""
    others: tuple[str, ...] = ()
    """Further bookies to request an entry from if none of `holders` has the entry."""

    @property
    def period(self) -> int:
        return len(self.holders)

    @property
    def everyone_holds_all(self) -> bool:
        """Return whether each holder stores all entries. If so, one request can be for many consecutive entries."""
        return self.period == 1

    @property
    def group(self) -> int:
        """Return the largest size such that any `size` consecutive entries have a common bookie.

        The size is at least 1, and is usually the write quorum.
        """
        most = min(len(holders) for holders in self.holders)
        return next(
            size
            for size in range(most, 0, -1)
            if size == 1 or all(self.common_bookies(first, size) for first in range(self.period))
        )

    def bookies_for(self, entry: int) -> tuple[str, ...]:
        """Return the bookies to request the entry from, in the order of the requests."""
        return tuple(dict.fromkeys(self.holders[entry % self.period] + self.others))

    def common_bookies(self, first: int, size: int) -> tuple[str, ...]:
        """Return the bookies that store each of `size` entries from `first` on."""
        held = [self.holders[entry % self.period] for entry in range(first, first + size)]
        return tuple(bookie for bookie in held[0] if all(bookie in holders for holders in held))


class WriteSets(Protocol):
    """The write sets of one ledger, for all ensembles of the ledger."""

    @property
    def may_change(self) -> bool:
        """Return whether the write sets are a guess."""

    def at(self, entry: int) -> tuple[WriteSet, int]:
        """Return the write set of the entry, and the first later entry to which this write set does not apply.

        The first call, and the first call after `renew`, can send requests to bookies.
        """

    def renew(self) -> None:
        """Discard a wrong guess: a bookie lacks an entry that the guess assigns to the bookie.

        Call `renew` only while no request to any bookie is in flight.
        """


class KnownWriteSets:
    """Write sets from BookKeeper's ledger metadata, which are exact."""

    may_change = False

    def __init__(self, metadata: LedgerMetadata) -> None:
        self._write_sets = [write_set_of(ensemble, metadata.write_quorum) for ensemble in metadata.ensembles]

    def at(self, entry: int) -> tuple[WriteSet, int]:
        number = bisect_right(self._write_sets, entry, key=lambda write_set: write_set.first_entry)
        stop = self._write_sets[number].first_entry if number < len(self._write_sets) else sys.maxsize
        return self._write_sets[number - 1], stop

    def renew(self) -> None:
        """Do nothing, because exact write sets do not change."""


def write_set_of(ensemble: Ensemble, write_quorum: int) -> WriteSet:
    """Return the write sets of a known ensemble."""
    bookies = ensemble.bookies
    size = len(bookies)
    if write_quorum >= size:
        return WriteSet(ensemble.first_entry, (bookies,))
    turns = tuple(tuple(bookies[(entry + i) % size] for i in range(write_quorum)) for entry in range(size))
    return WriteSet(ensemble.first_entry, turns)


def guess_write_set(first_entry: int, held: Sequence[Collection[str]], bookies: Sequence[str]) -> WriteSet:
    """Guess the write sets of a ledger from the holders of a few consecutive entries.

    Args:
        first_entry: The first of the consecutive entries.
        held: The bookies that have the entry `first_entry`, then the bookies of the next entry, and so on. The sequence
            must not be empty.
        bookies: The ids of all bookies of the cluster.

    """
    seen = [frozenset(holders) for holders in held]
    period = next(
        size
        for size in range(1, len(seen) + 1)
        if all(one == other for one, other in zip(seen, seen[size:], strict=False))
    )
    preferred: Counter[str] = Counter()
    order_by_turn = []
    for turn in range(period):
        held_by = seen[(turn - first_entry) % period]
        order = sorted(held_by, key=lambda bookie: (preferred[bookie], bookies.index(bookie)))
        preferred.update(order[:1])
        order_by_turn.append(tuple(order))
    return WriteSet(first_entry, tuple(order_by_turn), tuple(bookies))
