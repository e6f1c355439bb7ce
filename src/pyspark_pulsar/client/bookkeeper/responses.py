"""What the answers of bookies, and the ends of their connections, mean for a read. The theory is in `reader`."""

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
    """Takes what `BookieConnections.wait` gives, and sends again what was not given."""

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
        if isinstance(event, ConnectionLost):
            self._lost(event)
        else:
            self._received(event)

    def _received(self, arrival: Arrival) -> None:
        frames = self._state.frames
        groups = frames.groups
        try:
            answers = frames.feed(arrival.connection_id, arrival.data)
        except KernelError as error:
            self._connections.drop(arrival.bookie)
            reason = f"is no bookie: {error.message}"
            self._lost(ConnectionLost(arrival.bookie, arrival.connection_id, reason))
            return
        address = self._connections.addresses[arrival.bookie]
        if BOOKIE_HEALTH.is_quarantined(address):
            BOOKIE_HEALTH.has_answered(address)
        if frames.groups > groups:
            BOOKIE_HEALTH.answers_batches(address)
        for batch, entry, code, count in answers:
            if batch is None:
                self._entry_refused(arrival.bookie, entry, code)
            else:
                self._batch_read_answered(batch, entry, code, count)
        self._state.drop_answered(arrival.bookie)

    def _entry_refused(self, bookie: str, entry: int, code: int) -> None:
        """An entry that was asked for, by itself or in a group, and did not come."""
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
            self._not_given(single, code)

    def _batch_read_answered(self, batch: int, entry: int, code: int, count: int) -> None:
        """`count` entries from `entry` on have come, and the one behind them not, if `code` is not OK."""
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
            # It is read by itself, from another bookie.
            self._state.ahead += 1
            self._not_given(InFlightRead(range(missing, missing + 1), read.bookie), code)

    def _not_given(self, read: InFlightRead, code: int) -> None:
        if code == response_status.TOO_MANY_REQUESTS and self._requests.pause(read):
            return
        if code in (response_status.NO_ENTRY, response_status.NO_LEDGER):
            self._state.is_misled = self._write_sets_may_change
        self._requests.send_to_next_bookie(read, response_status.describe(code))

    def _lost(self, lost: ConnectionLost) -> None:
        self._state.frames.forget(lost.connection_id)
        address = self._connections.addresses[lost.bookie]
        reads = self._state.pop_reads_of(lost.bookie)
        refused_batch = lost.hung_up and any(read.is_batched for read in reads)
        if refused_batch and not BOOKIE_HEALTH.has_answered_batches(address):
            # So BookKeeper before 4.17 answers a BATCH_READ. It has refused no entry: what else was on its way there
            # is asked for again, one by one; those of the BATCH_READ follow, as they still lie ahead.
            BOOKIE_HEALTH.refuses_batches(address)
            for single in (single for read in reads if read.batch is None for single in read.one_by_one()):
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
