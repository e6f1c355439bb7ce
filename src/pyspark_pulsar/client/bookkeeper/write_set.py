"""Which bookies hold which entries of a ledger. Pure.

The write set of an entry is the bookies of its ensemble that hold a replica: replica i of entry e lies on
`ensemble[(e + i) % len(ensemble)]`. Where the admin REST does not tell the ensemble, write sets are guessed from who
held a few entries in a row. A wrong guess costs time, not rows, since whoever reads asks the other bookies next.
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
    """The write sets of all entries from `first_entry` on; they repeat after `period` entries."""

    first_entry: int
    holders: tuple[tuple[str, ...], ...]
    """Entry e lies on `holders[e % len(holders)]`, to be asked in this order."""
    others: tuple[str, ...] = ()
    """Bookies that may hold an entry which none of the holders has."""

    @property
    def period(self) -> int:
        return len(self.holders)

    @property
    def everyone_holds_all(self) -> bool:
        """Whether runs of entries lie on one bookie, so that it can be asked for many at once."""
        return self.period == 1

    @property
    def group(self) -> int:
        """How many entries in a row lie together on some bookie, wherever they begin: the write quorum, mostly."""
        most = min(len(holders) for holders in self.holders)
        return next(
            size
            for size in range(most, 0, -1)
            if size == 1 or all(self.of_all(first, size) for first in range(self.period))
        )

    def of(self, entry: int) -> tuple[str, ...]:
        """Who is asked for this entry, in this order."""
        return tuple(dict.fromkeys(self.holders[entry % self.period] + self.others))

    def of_all(self, first: int, size: int) -> tuple[str, ...]:
        """Who holds each of `size` entries from `first` on."""
        held = [self.holders[entry % self.period] for entry in range(first, first + size)]
        return tuple(bookie for bookie in held[0] if all(bookie in holders for holders in held))


class WriteSets(Protocol):
    """Of one ledger, over all its ensembles."""

    @property
    def may_change(self) -> bool:
        """Whether they are a guess."""

    def at(self, entry: int) -> tuple[WriteSet, int]:
        """That of this entry and those behind it, up to the entry returned (exclusive). May ask bookies, but only
        at first and after `renew`."""

    def renew(self) -> None:
        """A bookie lacks an entry that it should hold: guess anew at the next one. Only while no answers are expected
        from any bookie."""


class KnownWriteSets:
    """Those that BookKeeper's ledger metadata tell."""

    may_change = False

    def __init__(self, metadata: LedgerMetadata) -> None:
        self._write_sets = [write_set_of(ensemble, metadata.write_quorum) for ensemble in metadata.ensembles]

    def at(self, entry: int) -> tuple[WriteSet, int]:
        number = bisect_right(self._write_sets, entry, key=lambda write_set: write_set.first_entry)
        stop = self._write_sets[number].first_entry if number < len(self._write_sets) else sys.maxsize
        return self._write_sets[number - 1], stop

    def renew(self) -> None:
        """They do not change."""


def write_set_of(ensemble: Ensemble, write_quorum: int) -> WriteSet:
    """Of an ensemble that is known."""
    bookies = ensemble.bookies
    size = len(bookies)
    if write_quorum >= size:
        return WriteSet(ensemble.first_entry, (bookies,))
    turns = tuple(tuple(bookies[(entry + i) % size] for i in range(write_quorum)) for entry in range(size))
    return WriteSet(ensemble.first_entry, turns)


def guess_write_set(first_entry: int, held: Sequence[Collection[str]], bookies: Sequence[str]) -> WriteSet:
    """`held[i]`: who holds entry `first_entry + i`, at least one entry. `bookies`: all that there are."""
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
