"""A reader for a range of entries of one ledger, directly from bookies. The reader runs on executors.

The caller iterates over a `LedgerReader`, and receives each entry of an `EntryRange` once, in order. If no bookie
returns an entry, the iteration yields all earlier entries, and then raises `LedgerUnavailable`.

The reader sends two kinds of requests:

    BATCH_READ   Used if every bookie of the ensemble stores all entries (write quorum equals ensemble size). One
                 request asks one bookie for all entries that are ahead, and the bookie chooses how many to return. The
                 next BATCH_READ is sent when the answer arrives, before the entries are decoded. At most one BATCH_READ
                 is in flight.
    READ_ENTRY   Used if entries are striped over the bookies, and for bookies that do not support BATCH_READ. Each
                 entry has its own request. Many requests are in flight at a time, spread over the bookies. If
                 consecutive small entries are on one bookie, and the bookie supports BATCH_READ (BookKeeper 4.17 and
                 later), one short BATCH_READ requests these entries as a group.

An entry of the range is in one of these states:

    State of an entry                     | event                                             | next state
    ahead      no request, or only a      | a request for the entry is sent                   | in flight
               BATCH_READ whose answer    | a BATCH_READ returns the entry                    | received
               can end before the entry   | a BATCH_READ reports that the entry is missing    | in flight, next bookie
    in flight  in one `InFlightRead`      | the entry arrives, and its digest matches         | received
               to one bookie              | the bookie lacks the entry, or sent damaged bytes | in flight, next bookie
                                          | the connection is lost, also after a timeout      | in flight, next bookie
                                          | the bookie has too many requests                  | paused
                                          | the bookie does not support groups                | in flight, alone
                                          | the last bookie was tried                         | missing
    paused     in one `InFlightRead`      | the pause ends                                    | in flight, same bookie
               that waits                 | the pauses together exceed the timeout            | in flight, next bookie
    received   in the kernel              | all earlier entries are received                  | returned
    returned   the caller has it          |                                                   |
    missing    the end of the read        |                                                   |

The next bookie is a bookie of the entry's write set that was not tried for the entry, healthy bookies first. A write
set can be a guess of the module `discovery`. A guess is wrong if a bookie lacks an entry that the guess assigns to the
bookie. After a wrong guess, the reader requests no entry in the state "ahead" until no entry is in flight. The reader
then guesses again. A wrong guess costs time but loses no entry, because the reader tries all other bookies of the
cluster after the guessed bookies.

These invariants ensure that the reader returns each entry once and in order, or raises an error:

    Once, in order: Only `LedgerFrames` returns entries. `LedgerFrames` returns the entry at `next`, and then increments
    `next`. `LedgerFrames` ignores an entry that arrives twice, damaged, or on a closed connection.

    No gap: Each entry from `next` up to `ahead` (exclusive) is received, or is in exactly one read that is in flight or
    paused, or is at or after `end`. Code that removes an entry from a read adds the entry to another read, or lowers
    `end` to the entry.

    Termination: The connection to a silent bookie counts as lost after the timeout. The pauses of a read have a maximum
    sum. Each failure adds a bookie to `tried`. Therefore each entry is received or missing after a finite number of
    answers.

Limits protect the writers that use the same bookies, and the memory of the task:

    READ_ENTRY    The reader requests at most 1,024 entries ahead of the caller, and at most 16 MiB by the mean entry
                  size. The limit is never less than 4 entries. If a bookie has too many requests, the reader halves the
                  limit of 1,024 entries. While a read is paused, the reader sends no requests for further entries.
    BATCH_READ    A request is for at most 4 MiB. While more than 24 MiB wait for the caller, no BATCH_READ is sent.
    received      While more than 24 MiB wait for the caller, the reader receives only from the bookie with the caller's
                  next entry. TCP pauses the other bookies.

`ReadState` contains the state of a read. `ReadRequests` sends requests, and `ReadResponses` processes answers.
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
    """The entries of a range, as an iterable that supports one iteration."""

    def __init__(
        self, entry_range: EntryRange, write_sets: WriteSets, connections: BookieConnections
    ) -> None:
        """Prepare to read, without sending a request.

        Args:
            entry_range: The entries to read.
            write_sets: The bookies that store each entry.
            connections: The connections to the bookies.

        Raises:
            LedgerUnavailable: This package cannot verify the ledger's digest type.

        """
        self._state = ReadState.before_requests(entry_range)
        self._connections = connections
        self._requests = ReadRequests(self._state, write_sets, connections)
        self._responses = ReadResponses(
            self._state, self._requests, connections, write_sets_may_change=write_sets.may_change
        )

    def __iter__(self) -> Iterator[EntryBatch]:
        """Yield each entry of the range once, in order.

        Raises:
            LedgerUnavailable: No bookie returns an entry. The iterator has yielded all entries before this entry.

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
        """Wait until the first event of a bookie, the end of a pause, or `_WAIT_SECONDS`. Process the events."""
        now = time.monotonic()
        seconds = min((read.not_before - now for read in self._state.paused), default=_WAIT_SECONDS)
        for event in self._connections.wait(self._state.bookies_to_hear(), max(0.0, seconds)):
            self._responses.take(event)
