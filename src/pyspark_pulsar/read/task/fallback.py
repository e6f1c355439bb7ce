"""Where the rest of a range is read from when the place that it was planned to be read from fails. Executor only.

A read past the broker (bookies, tiered storage, the topic's table) can fail for reasons that are none of the query's: a
bookie dies, an object is gone, a ledger is offloaded or deleted meanwhile. With `readFrom=auto` another place gives the
rest of the range. The last is the broker, which knows now where everything is stored.

    state     reads the rest from                   fails with                   continues in           logged
    AVOIDED   nothing                               -                            as PLANNED             -
    PLANNED   the location of the range             a fault of the place         REPLICA, if there is   warning
                                                                                 one; else BROKER
                                                    the same, and readFrom       GIVEN UP               -
                                                    names a place
                                                    transactions not known       BROKER                 warning
    REPLICA   `EntryLocation.replica` (bookies, of  a fault of the place         BROKER                 warning
              an offloaded ledger)                  transactions not known       BROKER                 warning
    BROKER    the broker, to the end of the range   anything                     raised                 -
                                                    nothing more arrives         PROOF                  -
    PROOF     nothing; asks which ledgers exist,    something is missing         raised, or LOST        error or
              and the damaged copy                                                                      warning
    GIVEN UP  nothing; asks which ledgers exist     the ledger exists            the fault is raised    -
                                                    the ledger is gone           raised, or LOST        error or
                                                                                                        warning

A range is AVOIDED where its place gave nothing for long to this worker lately (`place_health`), else PLANNED; likewise
its replica. A task warns once of each place and kind of fault.

The rule is the same for both kinds of places (`read.location`). A place of rows has no replica, and the broker can
continue for it only with `readFrom=auto` and where the ledgers still exist: otherwise no other place has the rows, so
such a range is not AVOIDED, and the fault is raised.

A range of the broker's own begins in BROKER. A read that ends without a fault in PLANNED or REPLICA is over: such a
location raises for each entry that it does not give (`closed_ledger.contiguous`, the audit), so there is nothing to
prove. "Raised, or LOST": `DataLossError`, and with `failOnDataLoss=false` a warning, and the query continues without
what is lost.

Nothing is given twice and nothing is left out between two states: each begins after the last entry that the one before
gave (`Run.reached`). `Run.take` is the one place that drops entries, those outside the range and those that were given
before; the decoder drops messages, of the batched entries in which the split begins and ends. Of rows, those that were
given after the last known position are dropped by their number: the same rows follow in the same order.

"Transactions not known": entries past the broker hold what aborted transactions wrote. Where no place can tell which
those are, the decoder gives up in the middle of what it was given, so BROKER begins with the entry that it names.

PROOF and GIVEN UP ask what the broker's silence means (`task.loss_check`).

The audit (`task.audit`) knows nothing of these rules. It is told of each run and checks that together they are the
split.
"""

from __future__ import annotations

import logging
import time
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
from pyspark_pulsar.read.task.audit import Run, SplitAudit
from pyspark_pulsar.read.task.loss_check import LossCheck, span
from pyspark_pulsar.read.task.place_health import PLACE_HEALTH, Place

# The last is about this executor, which may lack what the driver has.
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


class _NotAsked(ConnectionFailed):
    """The place failed lately, so this worker does not read from it for a while."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A place gave no more of a range."""

    rest: SplitRange
    """What is left of it. Its location is the place that has failed."""
    fault: PulsarError


class RangeReader:
    """Reads the ranges of one split, one after the other. Used by one task."""

    def __init__(
        self, access: PartitionAccess, audit: SplitAudit, told: set[tuple[str, str]] | None = None
    ) -> None:
        """`told`: the warnings of the task so far, where it reads several splits."""
        self._access = access
        self._told = set() if told is None else told
        self._options = access.options
        self._partition = access.partition
        self._audit = audit
        self._loss = LossCheck(access, audit)

    def batches(
        self, planned: SplitRange, decode: Callable[[EntryBatch], Iterator[pa.RecordBatch]]
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield the record batches that the range completes. Raises the errors of `entries` and of `decode`."""
        source = self.entries(planned)
        while True:
            try:
                with closing(source):
                    for entries in source:
                        yield from decode(entries)
            except TransactionsUnknown as unknown:
                if self._options.read_from != AUTO:
                    raise
                _log.warning("%s; the broker is read from there up to %s", unknown, planned.end)
                # A range may begin inside a batched entry.
                rest = replace(planned, start=max(planned.start, Position(unknown.ledger, unknown.entry)))
                self._audit.give_way(rest.start, _reason(unknown))
                source = self.broker_entries(rest)
            else:
                return

    def rows(
        self,
        planned: SplitRange,
        request: RowRequest,
        make_decoder: Callable[[Position, Position], EntryDecoder],
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield the record batches of a range whose location gives rows.

        Args:
            planned: The range.
            request: The columns and rows that the query needs.
            make_decoder: Makes the decoder of the entries between two positions, for what the broker gives instead.

        Raises:
            PulsarError: Those of `RowLocation.rows` and of `entries`.

        """
        location = planned.location
        if not isinstance(location, RowLocation):
            raise TypeError(f"expected a location of rows, got {location!r}")
        unplaced = 0
        """Number of rows that were given after `Run.reached`."""

        def take(run: Run) -> Generator[pa.RecordBatch, None, None]:
            nonlocal unplaced
            with closing(location.rows(self._access, planned.start, planned.end, request)) as source:
                for batch in source:
                    count = 0 if batch.rows is None else batch.rows.num_rows
                    unplaced = 0 if batch.reached is not None else unplaced + count
                    run.take_rows(count, 0 if batch.rows is None else batch.rows.nbytes, batch.reached)
                    if batch.rows is not None:
                        yield batch.rows

        failure = yield from self._past_broker(planned, take)
        if failure is None:
            return
        decoder = make_decoder(failure.rest.start, failure.rest.end)
        for rows in _decoded(decoder, self._from_others(failure)):
            given = min(unplaced, rows.num_rows)
            unplaced -= given
            if given < rows.num_rows:
                yield rows.slice(given)

    def entries(self, planned: SplitRange) -> Generator[EntryBatch, None, None]:
        """Yield whole entries in order, each once, none outside the range. The entries at its ends may hold messages
        outside it; ranges of one split meet between entries. Close it when not all of it is wanted.

        Raises the errors of `EntryLocation.open` as far as the table says, `DeadlineExceeded`, `DataLossError` and the
        errors of `AdminClient`.
        """
        if planned.location.is_broker:
            yield from self.broker_entries(planned)
            return
        failure = yield from self._past_broker(planned, self._take)
        if failure is not None:
            yield from self._from_others(failure)

    def broker_entries(
        self, rest: SplitRange, fault: PulsarError | None = None
    ) -> Generator[EntryBatch, None, None]:
        """Yield all that the broker has of what is left of a range; its location says where it was planned to be read,
        and `fault` why it is not read there. As `entries`, but no other place is tried."""
        run = self._audit.begin(replace(rest, location=FromBroker()))
        spans: list[tuple[int, int, bool]] = []
        try:
            with closing(self._take(run)) as source:
                for entries in source:
                    if isinstance(fault, DamagedCopy):
                        spans += span(entries)
                    yield entries
        except DeadlineExceeded as late:
            if fault is None:
                raise
            raise DeadlineExceeded(
                f"{late}. The broker was asked since reading it from {rest.location.name} failed: {fault}"
            ) from None
        run.end()
        if self._loss.is_lost(rest, run):
            run.lose()
        if isinstance(fault, DamagedCopy):
            self._loss.check_copy(rest, spans)

    # The states of the table: PLANNED and REPLICA, and what follows them

    def _past_broker(
        self, planned: SplitRange, take: Callable[[Run], Generator[Part, None, None]]
    ) -> Generator[Part, None, _Failure | None]:
        """Read the range from its location by `take`. Returns what is left of it where another place is to give that;
        None where all of it was given."""
        not_asked = self._left_alone(planned)
        if not_asked is not None and self._others_may_have(planned):
            self._audit.stand_in(_reason(not_asked))
            return _Failure(planned, not_asked)
        run, began = self._audit.begin(planned), time.monotonic()
        try:
            yield from take(run)
            run.end()
        except _FAULTS_OF_PLACE as fault:
            rest = replace(planned, start=run.reached)
            if run.reached == planned.start:
                PLACE_HEALTH.gave_nothing(self._place(planned), time.monotonic() - began)
            if not self._others_may_have(rest):
                raise
            self._audit.give_way(rest.start, _reason(fault))
            return _Failure(rest, fault)
        PLACE_HEALTH.works(self._place(planned))
        return None

    def _from_others(self, failure: _Failure) -> Generator[EntryBatch, None, None]:
        """Yield the entries that the failed place did not give, from the places that continue for it."""
        rest, fault = failure.rest, failure.fault
        if self._options.read_from != AUTO:
            self._loss.give_up(rest, fault)
            return
        failed, last_fault = rest.location.name, fault
        replica = rest.location.replica(self._access) if isinstance(rest.location, EntryLocation) else None
        if replica is not None:
            self._log_change(rest, replica.title, failed, fault)
            failure_of_replica = yield from self._past_broker(replace(rest, location=replica), self._take)
            if failure_of_replica is None:
                return
            # The fault of the planned place remains the reason: its copy may be damaged.
            rest = replace(rest, start=failure_of_replica.rest.start)
            failed, last_fault = replica.title, failure_of_replica.fault
        self._log_change(rest, FromBroker.title, failed, last_fault)
        yield from self.broker_entries(rest, fault)

    def _others_may_have(self, rest: SplitRange) -> bool:
        """Return whether `_from_others` is to continue. Of rows only the topic's ledgers can give the rest, and nothing
        explains a fault of the place that `readFrom` names."""
        if isinstance(rest.location, EntryLocation):
            return True
        return self._options.read_from == AUTO and self._loss.is_still_in_ledgers(rest)

    def _left_alone(self, planned: SplitRange) -> _NotAsked | None:
        """Return why the place of the range is not read; None where it is."""
        if self._options.read_from != AUTO:
            return None
        seconds = PLACE_HEALTH.avoided_seconds(self._place(planned))
        if not seconds:
            return None
        return _NotAsked(
            f"{planned.location.title} gave nothing to this executor lately, so it is asked again in {seconds:.0f} s; "
            f"if this executor cannot reach it, set readFrom=broker"
        )

    def _place(self, planned: SplitRange) -> Place:
        return self._options.identity, planned.location.name

    def _take(self, run: Run) -> Generator[EntryBatch, None, None]:
        split_range = run.split_range
        location = split_range.location
        if not isinstance(location, EntryLocation):
            raise TypeError(f"expected a location of entries, got {location!r}")
        with closing(location.open(self._access, split_range.start, split_range.end)) as source:
            for entries in source:
                if run.take(entries):
                    yield entries

    def _log_change(self, rest: SplitRange, source: str, failed: str, fault: PulsarError) -> None:
        is_known = (failed, type(fault).__name__) in self._told
        # A place is left alone because of a fault that was logged.
        is_known |= isinstance(fault, _NotAsked) and any(place == failed for place, _ in self._told)
        level = logging.DEBUG if is_known else logging.WARNING
        self._told.add((failed, type(fault).__name__))
        _log.log(
            level,
            "%s: the rest of a range, from %s up to %s, comes from %s, since reading it from %s failed: %s; further "
            "ranges of this task that go the same way are not told",
            self._partition, rest.start, rest.end, source, failed, fault,
        )  # fmt: skip


def _decoded(decoder: EntryDecoder, source: Generator[EntryBatch, None, None]) -> Iterator[pa.RecordBatch]:
    with closing(source):
        for entries in source:
            yield from decoder.decode(entries)
    yield from decoder.finish()


def _reason(fault: PulsarError) -> str:
    return f"{type(fault).__name__}: {fault}"
