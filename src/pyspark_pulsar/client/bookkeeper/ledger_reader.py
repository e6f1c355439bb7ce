"""A reader for a range of entries of one ledger, directly from the bookies that store them. Executor only.

The caller iterates over a `LedgerReader`, and receives each entry of an `EntryRange` once, in order. If no bookie
returns an entry, the caller receives all earlier entries, and then `LedgerUnavailable` is raised.

Two kinds of requests:

    BATCH_READ   Used if every bookie of the ensemble stores all entries (write quorum equals ensemble size). One
                 request to one bookie is for all entries ahead. The bookie returns as many as it chooses. The next
                 BATCH_READ is sent when the answer arrives, before it is decoded. At most one is in flight.
    READ_ENTRY   Used if entries are striped over the bookies. There is one request for each entry, to the bookies in
                 turn, for many entries ahead. Small entries that are stored together on one bookie are requested as a
                 group (a short BATCH_READ), if the bookie supports BATCH_READ (BookKeeper 4.17 and later).

    State of an entry                     | event                                             | next state
    ahead      no request, or only a      | a request for the entry is sent                   | in flight
               BATCH_READ that may not    | a BATCH_READ returns the entry                    | received
               reach the entry            | a BATCH_READ reports that the bookie lacks it     | in flight, next bookie
    in flight  in one `InFlightRead`      | the entry arrives, and its digest matches         | received
               to one bookie              | the bookie lacks the entry, or it is damaged      | in flight, next bookie
                                          | the connection is lost, also after a timeout      | in flight, next bookie
                                          | the bookie has too many requests                  | paused
                                          | the bookie does not support groups                | in flight, alone
                                          | the last bookie that may store it was tried       | missing
    paused     in one `InFlightRead`      | the pause ends                                    | in flight, same bookie
               that waits                 | the pauses together exceed the timeout            | in flight, next bookie
    received   in the kernel              | all earlier entries are received                  | returned
    returned   the caller has it          |                                                   |
    missing    the end of the read        |                                                   |

The next bookie is one from the entry's write set that was not tried for this entry. Healthy bookies are first. A write
set may be a guess (`discovery`). If a bookie lacks an entry that it has according to the guess, the reader requests no
more entries ahead until nothing is in flight. Then it guesses again. A wrong guess costs time and loses no entry,
because all other bookies of the cluster follow the guessed ones.

Why each entry is returned once and in order, or an error is raised:

    Once, in order: Only `LedgerFrames` returns entries. It returns the entry at `next`, and then increments `next`. An
    entry that arrives twice, damaged, or on a closed connection changes nothing there.

    No gap: Each entry from `next` up to `ahead` (exclusive) is received, in exactly one read that is in flight or
    paused, or not before `end`. Code that removes an entry from a read adds the entry to another read, or lowers `end`
    to the entry.

    End: A silent bookie counts as lost after the timeout, the pauses of a read have a maximum sum, and each failure
    adds a bookie to `tried`. So each entry is received or missing after finitely many answers.

Limits, because bookies also serve writers, and a task has limited memory:

    READ_ENTRY    Requested and not returned: 1,024 entries, or 16 MiB by the mean entry size, but at least 4 entries.
                  A bookie that has too many requests halves the 1,024. While a read is paused, no new request is sent.
    BATCH_READ    4 MiB a request. No new request is sent while more than 24 MiB wait for the caller.
    received      Above 24 MiB, the reader receives only from the bookie with the next entry for the caller. TCP pauses
                  the other bookies.

`ReadState` contains the state, `ReadRequests` sends requests, `ReadResponses` processes answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.client.bookkeeper.connection.connections import BookieConnections
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.read_state import ReadState
from pyspark_pulsar.client.bookkeeper.requests import ReadRequests
from pyspark_pulsar.client.bookkeeper.responses import ReadResponses
from pyspark_pulsar.client.bookkeeper.write_set import WriteSets
from pyspark_pulsar.runtime import time

_WAIT_SECONDS: Final = 1.0


class LedgerReader:
    """An iterable over the entries of a range, for one iteration."""

    def __init__(
        self, entry_range: EntryRange, write_sets: WriteSets, connections: BookieConnections
    ) -> None:
        """Prepare to read, without sending a request.

        Args:
            entry_range: The entries to read.
            write_sets: The bookies that store them.
            connections: The connections to the bookies.

        Raises:
            LedgerUnavailable: The ledger's digest is of a kind that cannot be verified here.

        """
        self._state = ReadState.before_requests(entry_range)
        self._connections = connections
        self._requests = ReadRequests(self._state, write_sets, connections)
        self._responses = ReadResponses(
            self._state, self._requests, connections, write_sets_may_change=write_sets.may_change
        )

    def __iter__(self) -> Iterator[EntryBatch]:
        """Yield all entries once, in order.

        Raises:
            LedgerUnavailable: No bookie returns an entry. All earlier entries have been yielded.

        """
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
        """Wait for bookies, or until a pause ends."""
        now = time.monotonic()
        seconds = min((read.not_before - now for read in self._state.paused), default=_WAIT_SECONDS)
        for event in self._connections.wait(self._state.bookies_to_hear(), max(0.0, seconds)):
            self._responses.take(event)
