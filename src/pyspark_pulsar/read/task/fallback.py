"""Fallback: reading the rest of a range from another location after its planned location has failed. Executor only.

A range may be planned for a location other than the broker: bookies, tiered storage, or the topic's table. Such a read
can fail for reasons that have nothing to do with the query. For example, a bookie stops, an object is missing, or a
ledger is offloaded or deleted after planning. With `readFrom=auto`, another location returns the rest of the range. The
broker is the last of these locations, because it always knows where each entry is stored.

    state     reads the rest from                   fails with                   continues in           logged
    AVOIDED   nothing                               -                            as PLANNED             -
    PLANNED   the location of the range             a fault of the location      REPLICA if one exists, warning
                                                                                 otherwise BROKER
                                                    the same, and readFrom       GIVEN UP               -
                                                    names a location
                                                    unknown transactions         BROKER                 warning
    REPLICA   `EntryLocation.replica` (bookies, of  a fault of the location      BROKER                 warning
              an offloaded ledger)                  unknown transactions         BROKER                 warning
    BROKER    the broker, to the end of the range   any fault                    raised                 -
                                                    nothing more arrives         PROOF                  -
    PROOF     nothing; lists the ledgers, and reads a part is missing            raised, or LOST        error or
              the damaged copy                                                                          warning
    GIVEN UP  nothing; lists the ledgers            the ledger exists            the fault is raised    -
                                                    the ledger was removed       raised, or LOST        error or
                                                                                                        warning

A range starts in AVOIDED if this worker recently made long attempts at its location without any result
(`place_health`). Otherwise it starts in PLANNED. A replica is avoided under the same condition. A task logs one warning
for each location and kind of fault.

The rules are the same for both kinds of locations (`read.location`). A location of rows has no replica. The broker can
continue for such a location only with `readFrom=auto`, and only if the ledgers still exist. Otherwise no other location
has the rows. Then the range is never AVOIDED, and its fault is raised.

A range that is planned for the broker starts in BROKER. A read that ends without a fault in PLANNED or REPLICA is
complete and needs no proof. The reason is that such a location raises an error for each missing entry
(`closed_ledger.contiguous`, the audit). "Raised, or LOST" means that `DataLossError` is raised. With
`failOnDataLoss=false`, a warning is logged instead, and the query continues without the lost messages.

No entry is returned twice or left out between two states, because each state begins after the last entry that the
previous state yielded (`RangeTally.reached`). Only `RangeTally.take` drops entries: repeated entries, and entries
outside of the range. The decoder drops messages of the batched entries in which the split begins and ends. If a
location of rows fails, the rows that it yielded after its last known position are counted. The broker's rows begin at
this position, in the same order, so the same number of rows is dropped.

"Unknown transactions" means that no location reports which transactions are aborted. Storage also contains messages of
aborted transactions, so the decoder then stops in the middle of its input. So BROKER begins with the entry in which the
decoder stopped.

PROOF and GIVEN UP find out whether missing entries are lost (`task.loss_check`).

The audit (`task.audit`) does not depend on these rules. The audit keeps a tally of each range, and checks that all
ranges together cover the split.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import pyarrow as pa

from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import TransactionsUnknown
from pyspark_pulsar.errors import (
    ColumnsUnavailable,
    ConnectionFailed,
    CorruptEntryError,
    DamagedCopy,
    DeadlineExceeded,
    LedgerUnavailable,
    OptionError,
    PrerequisiteMissing,
    PulsarError,
)
from pyspark_pulsar.history.columnar.reading.request import RowRequest
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.options.values.read_from import AUTO
from pyspark_pulsar.read.location import EntryLocation, PartitionAccess, RowLocation
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import SplitRange
from pyspark_pulsar.read.task.audit import RangeTally, SplitAudit
from pyspark_pulsar.read.task.loss_check import LossCheck, span
from pyspark_pulsar.read.task.place_health import LOCATION_HEALTH, LocationKey
from pyspark_pulsar.runtime import time

# An `OptionError` or `PrerequisiteMissing` is about this executor, which may lack files or packages of the driver.
_FAULTS_OF_PLACE: Final = (
    LedgerUnavailable,
    ConnectionFailed,
    CorruptEntryError,
    ColumnsUnavailable,
    OptionError,
    PrerequisiteMissing,
)

_log: Final = logging.getLogger(__name__)

Part = TypeVar("Part")


class _LocationAvoided(ConnectionFailed):
    """A recent failure of a location. After this failure, this worker avoids the location for a while."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """The failure of a location before it returned the complete range."""

    rest: SplitRange
    """The rest of the range, with the location that failed."""
    fault: PulsarError


class RangeReader:
    """A reader of the ranges of one split, one after the other. Used by one task."""

    def __init__(
        self, access: PartitionAccess, audit: SplitAudit, logged: set[tuple[str, str]] | None = None
    ) -> None:
        """Create a reader. `logged` contains the warnings that the task has logged for its earlier splits."""
        self._access = access
        self._logged = set() if logged is None else logged
        self._options = access.options
        self._partition = access.partition
        self._audit = audit
        self._loss = LossCheck(access, audit)

    def batches(
        self, planned: SplitRange, decode: Callable[[EntryBatch], Iterator[pa.RecordBatch]]
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield the record batches of the range. The errors of `entries` and `decode` are raised."""
        source = self.entries(planned)
        while True:
            try:
                with closing(source):
                    for entries in source:
                        yield from decode(entries)
            except TransactionsUnknown as unknown:
                if self._options.read_from != AUTO:
                    raise
                _log.warning(
                    "Reading entries from the broker up to %s, because the outcome of a transaction is unknown: %s",
                    planned.end, unknown,
                )  # fmt: skip
                # A range may begin inside a batched entry, so the broker must not begin before the start of the range.
                rest = replace(planned, start=max(planned.start, Position(unknown.ledger, unknown.entry)))
                self._audit.fall_back(rest.start, _reason(unknown))
                source = self.broker_entries(rest)
            else:
                return

    def rows(
        self,
        planned: SplitRange,
        request: RowRequest,
        make_decoder: Callable[[Position, Position], EntryDecoder],
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield the record batches of a range that is read from a `RowLocation`.

        Args:
            planned: The range.
            request: The columns and rows that the query needs.
            make_decoder: Returns a decoder of the entries between two positions. This function is called if the broker
                must continue.

        Raises:
            PulsarError: For the same reasons as `RowLocation.rows` and `entries`.

        """
        location = planned.location
        if not isinstance(location, RowLocation):
            raise TypeError(f"expected a location of rows, got {location!r}; report this as a bug")
        unplaced = 0
        """Number of rows that were yielded after `RangeTally.reached`."""

        def take(tally: RangeTally) -> Generator[pa.RecordBatch, None, None]:
            nonlocal unplaced
            with closing(location.rows(self._access, planned.start, planned.end, request)) as source:
                for batch in source:
                    count = 0 if batch.rows is None else batch.rows.num_rows
                    unplaced = 0 if batch.reached is not None else unplaced + count
                    tally.take_rows(count, 0 if batch.rows is None else batch.rows.nbytes, batch.reached)
                    if batch.rows is not None:
                        yield batch.rows

        failure = yield from self._read_planned(planned, take)
        if failure is None:
            return
        decoder = make_decoder(failure.rest.start, failure.rest.end)
        for rows in _decoded(decoder, self._read_elsewhere(failure)):
            given = min(unplaced, rows.num_rows)
            unplaced -= given
            if given < rows.num_rows:
                yield rows.slice(given)

    def entries(self, planned: SplitRange) -> Generator[EntryBatch, None, None]:
        """Yield the entries of the range, in order. Each entry is yielded once. Close the generator to stop early.

        The first and last entry may contain messages outside of the range. Ranges of one split meet between entries.

        Raises:
            DeadlineExceeded: The broker did not answer in time.
            DataLossError: A part of the range was removed.
            PulsarError: An error of `EntryLocation.open` after which no other location continues, or of `AdminClient`.

        """
        if planned.location.is_broker:
            yield from self.broker_entries(planned)
            return
        failure = yield from self._read_planned(planned, self._read_entries)
        if failure is not None:
            yield from self._read_elsewhere(failure)

    def broker_entries(
        self, rest: SplitRange, fault: PulsarError | None = None
    ) -> Generator[EntryBatch, None, None]:
        """Yield the broker's entries of a range or of its rest, in the form of `entries`.

        After the broker has failed, no other location continues.

        Args:
            rest: The range, with the location that was planned for it.
            fault: The fault of the planned location; None if this location did not fail.

        """
        tally = self._audit.begin(replace(rest, location=FromBroker()))
        spans: list[tuple[int, int, bool]] = []
        try:
            with closing(self._read_entries(tally)) as source:
                for entries in source:
                    if isinstance(fault, DamagedCopy):
                        spans += span(entries)
                    yield entries
        except DeadlineExceeded as late:
            if fault is None:
                raise
            raise DeadlineExceeded(
                f"{late}. The range was read from the broker because reading it from {rest.location.name} failed: "
                f"{fault}"
            ) from None
        tally.end()
        if self._loss.is_lost(rest, tally):
            tally.lose()
        if isinstance(fault, DamagedCopy):
            self._loss.check_copy(rest, spans)

    # The states PLANNED and REPLICA of the table, and the states that follow them

    def _read_planned(
        self, planned: SplitRange, take: Callable[[RangeTally], Generator[Part, None, None]]
    ) -> Generator[Part, None, _Failure | None]:
        """Read the range from its location with the function `take`.

        Returns the failure, with the rest for another location; None if the range is complete.
        """
        avoided = self._avoidance(planned)
        if avoided is not None and self._may_read_elsewhere(planned):
            self._audit.note_fallback(_reason(avoided))
            return _Failure(planned, avoided)
        tally, began = self._audit.begin(planned), time.monotonic()
        try:
            yield from take(tally)
            tally.end()
        except _FAULTS_OF_PLACE as fault:
            rest = replace(planned, start=tally.reached)
            if tally.reached == planned.start:
                LOCATION_HEALTH.gave_nothing(self._place(planned), time.monotonic() - began)
            if not self._may_read_elsewhere(rest):
                raise
            self._audit.fall_back(rest.start, _reason(fault))
            return _Failure(rest, fault)
        LOCATION_HEALTH.works(self._place(planned))
        return None

    def _read_elsewhere(self, failure: _Failure) -> Generator[EntryBatch, None, None]:
        """Yield the entries that the failed location did not return, read from the locations that continue after it."""
        rest, fault = failure.rest, failure.fault
        if self._options.read_from != AUTO:
            self._loss.give_up(rest, fault)
            return
        failed, last_fault = rest.location.name, fault
        replica = rest.location.replica(self._access) if isinstance(rest.location, EntryLocation) else None
        if replica is not None:
            self._log_change(rest, replica.title, failed, fault)
            failure_of_replica = yield from self._read_planned(
                replace(rest, location=replica), self._read_entries
            )
            if failure_of_replica is None:
                return
            # The fault of the planned location remains the reason, because the copy in that location may be damaged.
            rest = replace(rest, start=failure_of_replica.rest.start)
            failed, last_fault = replica.title, failure_of_replica.fault
        self._log_change(rest, FromBroker.title, failed, last_fault)
        yield from self.broker_entries(rest, fault)

    def _may_read_elsewhere(self, rest: SplitRange) -> bool:
        """Return whether `_read_elsewhere` is called after a fault.

        For a location of entries, the result is always true, because another location continues or the fault may be a
        loss. For a location of rows, only the topic's ledgers can return the rest, and only with `readFrom=auto`.
        """
        if isinstance(rest.location, EntryLocation):
            return True
        return self._options.read_from == AUTO and self._loss.is_still_in_ledgers(rest)

    def _avoidance(self, planned: SplitRange) -> _LocationAvoided | None:
        """Return the reason why the location of the range is avoided; None if the location is not avoided."""
        if self._options.read_from != AUTO:
            return None
        seconds = LOCATION_HEALTH.avoided_seconds(self._place(planned))
        if not seconds:
            return None
        return _LocationAvoided(
            f"{planned.location.title} returned nothing to this executor recently, so this executor reads from "
            f"other locations for {seconds:.0f} s; set readFrom=broker if the executor can never reach that location"
        )

    def _place(self, planned: SplitRange) -> LocationKey:
        return self._options.identity, planned.location.name

    def _read_entries(self, tally: RangeTally) -> Generator[EntryBatch, None, None]:
        split_range = tally.split_range
        location = split_range.location
        if not isinstance(location, EntryLocation):
            raise TypeError(f"expected a location of entries, got {location!r}; report this as a bug")
        with closing(location.open(self._access, split_range.start, split_range.end)) as source:
            for entries in source:
                if tally.take(entries):
                    yield entries

    def _log_change(self, rest: SplitRange, source: str, failed: str, fault: PulsarError) -> None:
        is_known = (failed, type(fault).__name__) in self._logged
        # A location is avoided because of an earlier fault, which may already be logged.
        is_known |= isinstance(fault, _LocationAvoided) and any(place == failed for place, _ in self._logged)
        level = logging.DEBUG if is_known else logging.WARNING
        self._logged.add((failed, type(fault).__name__))
        _log.log(
            level,
            "Reading the rest of a range from %s, because reading it from %s failed: %s; from %s up to %s of %s. "
            "Further fallbacks of this task for the same reason are not logged",
            source, failed, fault, rest.start, rest.end, self._partition,
        )  # fmt: skip


def _decoded(decoder: EntryDecoder, source: Generator[EntryBatch, None, None]) -> Iterator[pa.RecordBatch]:
    with closing(source):
        for entries in source:
            yield from decoder.decode(entries)
    yield from decoder.finish()


def _reason(fault: PulsarError) -> str:
    return f"{type(fault).__name__}: {fault}"
