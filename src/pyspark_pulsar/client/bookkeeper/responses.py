"""Processing of bookies' answers and lost connections. The module `ledger_reader` describes the states of entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pyspark_pulsar._kernel import KernelError
from pyspark_pulsar.client.bookkeeper.bookie_health import BOOKIE_HEALTH
from pyspark_pulsar.client.bookkeeper.connection import response_status
from pyspark_pulsar.client.bookkeeper.connection.connections import Arrival, BookieConnections, ConnectionLost
from pyspark_pulsar.client.bookkeeper.in_flight_read import InFlightRead
from pyspark_pulsar.client.bookkeeper.read_state import ReadState
from pyspark_pulsar.client.bookkeeper.requests import ReadRequests

_NOT_UNDERSTOOD: Final = (response_status.BAD_REQUEST, response_status.BAD_VERSION)


class ReadResponses:
    """A processor of the events from `BookieConnections.wait`. The processor requests missing entries again."""

    def __init__(
        self,
        state: ReadState,
        requests: ReadRequests,
        connections: BookieConnections,
        *,
        write_sets_may_change: bool,
    ) -> None:
        self._state = state
        self._requests = requests
        self._connections = connections
        self._write_sets_may_change = write_sets_may_change

    def take(self, event: Arrival | ConnectionLost) -> None:
        """Process an answer or the loss of a connection."""
        if isinstance(event, ConnectionLost):
            self._handle_loss(event)
        else:
            self._handle_arrival(event)

    def _handle_arrival(self, arrival: Arrival) -> None:
        frames = self._state.frames
        groups = frames.groups
        try:
            answers = frames.feed(arrival.connection_id, arrival.data)
        except KernelError as error:
            self._connections.drop(arrival.bookie)
            reason = f"is not a bookie: {error.message}"
            self._handle_loss(ConnectionLost(arrival.bookie, arrival.connection_id, reason))
            return
        address = self._connections.addresses[arrival.bookie]
        if BOOKIE_HEALTH.is_quarantined(address):
            BOOKIE_HEALTH.has_answered(address)
        if frames.groups > groups:
            BOOKIE_HEALTH.answers_batches(address)
        for batch, entry, code, count in answers:
            if batch is None:
                self._handle_refused_entry(arrival.bookie, entry, code)
            else:
                self._handle_batch_answer(batch, entry, code, count)
        self._state.drop_answered(arrival.bookie)

    def _handle_refused_entry(self, bookie: str, entry: int, code: int) -> None:
        """Process the refusal of one entry, after a request for this entry or for its group."""
        read = self._state.pop_read(bookie, entry)
        if read is None:
            return
        single = replace(read, entries=range(entry, entry + 1), size=1)
        if code == response_status.OK:
            self._requests.send(single)
        elif read.size > 1 and code in _NOT_UNDERSTOOD:
            BOOKIE_HEALTH.refuses_batches(self._connections.addresses[bookie])
            self._requests.send(single)
        else:
            self._handle_missing(single, code)

    def _handle_batch_answer(self, batch: int, entry: int, code: int, count: int) -> None:
        """Process the answer to a BATCH_READ.

        Args:
            batch: The request id.
            entry: The first entry in the answer.
            code: The status of the entry after the last returned entry. If the code is not OK, this entry is missing.
            count: The number of returned entries.

        """
        read = self._state.pop_batch_read(batch)
        if read is None:
            return
        address = self._connections.addresses[read.bookie]
        if code in _NOT_UNDERSTOOD:
            BOOKIE_HEALTH.refuses_batches(address)
            return
        BOOKIE_HEALTH.answers_batches(address)
        if entry != read.entries.start:
            code, count = response_status.DAMAGED, 0
        missing = read.entries.start + count
        self._state.ahead = missing
        if code != response_status.OK:
            self._requests.next_turn()
            # Request the missing entry alone. The next BATCH_READ begins after the missing entry.
            self._state.ahead += 1
            self._handle_missing(InFlightRead(range(missing, missing + 1), read.bookie), code)

    def _handle_missing(self, read: InFlightRead, code: int) -> None:
        if code == response_status.TOO_MANY_REQUESTS and self._requests.pause(read):
            return
        if code in (response_status.NO_ENTRY, response_status.NO_LEDGER):
            self._state.is_misled = self._write_sets_may_change
        self._requests.send_to_next_bookie(read, response_status.describe(code))

    def _handle_loss(self, lost: ConnectionLost) -> None:
        self._state.frames.forget(lost.connection_id)
        address = self._connections.addresses[lost.bookie]
        reads = self._state.pop_reads_of(lost.bookie)
        refused_batch = lost.hung_up and any(read.is_batched for read in reads)
        if refused_batch and not BOOKIE_HEALTH.has_answered_batches(address):
            # BookKeeper before 4.17 closes the connection after a BATCH_READ, without refusing any entry. Therefore
            # each entry of a group is requested again alone. Entries of a BATCH_READ without groups are still ahead.
            BOOKIE_HEALTH.refuses_batches(address)
            for single in (single for read in reads if read.batch is None for single in read.split_groups()):
                self._requests.send(single)
            return
        BOOKIE_HEALTH.quarantine(address)
        for read in reads:
            if read.batch is None:
                self._requests.send_to_next_bookie(read, lost.reason)
            else:
                self._state.ahead += 1
                first = range(read.entries.start, read.entries.start + 1)
                self._requests.send_to_next_bookie(InFlightRead(first, read.bookie), lost.reason)
