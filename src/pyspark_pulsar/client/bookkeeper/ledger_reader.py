"""A run of entries of one ledger, straight from the bookies that hold it. Executor only.

The caller iterates over a `LedgerReader` and gets every entry of an `EntryRange` once, in order. An entry that no
bookie gives ends the iteration: all entries before it are given first, then `LedgerUnavailable` is raised.

Two ways to ask
    BATCH_READ   Where every bookie of the ensemble holds all entries (write quorum equals ensemble size), one bookie
                 is asked for all that is ahead. It gives as many as it likes. The next BATCH_READ goes out as soon as
                 the answer is here, before it is decoded. There is never more than one on its way.
    READ_ENTRY   Elsewhere entries are striped over the bookies. Each entry is asked for by itself, of the bookies in
                 turn, many ahead. Small entries that lie together on one bookie are asked for as a group (a short
                 BATCH_READ), if the bookie knows BATCH_READ (BookKeeper 4.17 and later).

States of an entry                    | leaves it when                                    | and then is
    ahead      nobody was asked for   | it is asked for                                   | in flight
               it, or a BATCH_READ    | a BATCH_READ has given it                         | received
               that may not reach it  | a BATCH_READ says that the bookie lacks it        | in flight, elsewhere
    in flight  in one `InFlightRead`  | it comes and its digest fits                      | received
               to one bookie          | the bookie does not have it, or it is damaged     | in flight, elsewhere
                                      | the connection is lost, also after a silence      | in flight, elsewhere
                                      | the bookie has too many requests                  | paused
                                      | it was in a group, and the bookie knows no groups | in flight, by itself
                                      | the last bookie that may hold it was tried        | missing
    paused     in one `InFlightRead`  | the pause is over                                 | in flight, same bookie
               that waits             | all its pauses are longer than the timeout        | in flight, elsewhere
    received   in the kernel          | all entries before it are received                | given
    given      the caller has it      |                                                   |
    missing    it is the end          |                                                   |

"Elsewhere" is the next bookie of the entry's write set that was not tried for this entry; healthy ones come first. A
write set can be a guess (`discovery`). When a bookie lacks an entry that the guess says it holds, no more is asked
ahead until nothing is in flight; then the guess is made anew. A wrong guess costs time and no entry, since all bookies
stand behind the guessed ones.

Why each entry comes once and in order, or an error comes
    Once, in order: only `LedgerFrames` gives entries, and it gives the one at `next` and then counts up. An entry that
    arrives twice, or damaged, or from a connection that is closed, changes nothing there.
    No gap: each entry from `next` up to `ahead` (exclusive) is received, or in one read that is in flight or paused,
    or it is not before `end`. Whoever takes an entry out of a read puts it into another one, or lowers `end` to it.
    An end: a bookie that is silent is lost after the timeout, pauses of a read have a longest sum, and each failure
    adds a bookie to `tried`. So each entry is received or missing after finitely many answers.

What is bounded, since bookies are shared with those who write, and memory with the task
    READ_ENTRY    Asked for and not given: 1,024 entries or 16 MiB by the mean size of entries, never below 4 entries.
                  A bookie that has too many requests halves the 1,024. Nothing new is asked for while a read is paused.
    BATCH_READ    4 MiB each, and none while more than 24 MiB wait for the caller.
    received      Above 24 MiB only the bookie is listened to that has the entry which the caller waits for; TCP
                  holds the others back.

`ReadState` is what is known, `ReadRequests` asks, `ReadResponses` takes the answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.client.bookkeeper.connection.connections import BookieConnections
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.read_state import ReadState
from pyspark_pulsar.client.bookkeeper.requests import ReadRequests
from pyspark_pulsar.client.bookkeeper.responses import ReadResponses
from pyspark_pulsar.client.bookkeeper.write_set import WriteSets

_WAIT_SECONDS: Final = 1.0


class LedgerReader:
    """Iterate once. Raises `LedgerUnavailable` for an entry that no bookie gives."""

    def __init__(
        self, entry_range: EntryRange, write_sets: WriteSets, connections: BookieConnections
    ) -> None:
        """Asks nobody yet. Raises `LedgerUnavailable` for a kind of digest that cannot be checked here."""
        self._state = ReadState.of(entry_range)
        self._connections = connections
        self._requests = ReadRequests(self._state, write_sets, connections)
        self._responses = ReadResponses(
            self._state, self._requests, connections, write_sets_may_change=write_sets.may_change
        )

    def __iter__(self) -> Iterator[EntryBatch]:
        """Entries in order, each once; before an error, all that are in front of the one that is not to be had."""
        state = self._state
        while not state.is_complete:
            self._requests.send_ahead()
            entries = state.take()
            if entries is None and not state.is_complete:
                self._receive()
                entries = state.take()
            if entries is not None:
                yield entries
        if state.unavailable is not None:
            raise state.unavailable

    def _receive(self) -> None:
        """Wait for bookies, or until a pause is over."""
        now = time.monotonic()
        seconds = min((read.not_before - now for read in self._state.paused), default=_WAIT_SECONDS)
        for event in self._connections.wait(self._state.bookies_to_hear(), max(0.0, seconds)):
            self._responses.take(event)
