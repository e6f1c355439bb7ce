"""Where the entries of a range come from when they do not come from where they were planned to. Executor only.

A read past the broker (bookies, tiered storage) can fail for reasons that are none of the query's: a bookie dies, an
object is gone, a ledger is offloaded or deleted meanwhile. With `readFrom=auto` another place gives the rest of the
range. The last is the broker, which knows where everything lies now.

    state     reads the rest from                   fails with                   goes on in             told
    AVOIDED   nothing                               -                            as PLANNED             -
    PLANNED   the location of the range             a fault of the place         REPLICA, if there is   warning
                                                                                 one; else BROKER
                                                    the same, and readFrom       GIVEN UP               -
                                                    names a place
                                                    transactions not known       BROKER                 warning
    REPLICA   `Location.replica` (bookies, of       a fault of the place         BROKER                 warning
              an offloaded ledger)                  transactions not known       BROKER                 warning
    BROKER    the broker, to the end of the range   anything                     raised                 -
                                                    nothing more comes           PROOF                  -
    PROOF     nothing; asks which ledgers there     something is missing         raised, or LOST        error or
              are, and the damaged copy                                                                 warning
    GIVEN UP  nothing; asks which ledgers there     the ledger is there          the fault is raised    -
              are                                   the ledger is gone           raised, or LOST        error or
                                                                                                        warning

A range is AVOIDED where its place gave nothing for long to this worker lately (`place_health`), else PLANNED; likewise
its replica. A task warns once of each place and kind of fault.

A place that gives rows and no entries, the topic's table, has no replica, and BROKER is for it only where the ledgers
are still there; else the fault is raised, since nobody else has the rows.

A range of the broker's own begins in BROKER. A read that ends without a fault in PLANNED or REPLICA is over: such a
location raises for each entry that it does not give (`closed_ledger.contiguous`, the audit), so there is nothing to
prove. "Raised, or LOST": `DataLossError`, and with `failOnDataLoss=false` a warning, and the query goes on without what
is lost.

Nothing comes twice and nothing is left out between two states: each begins behind the last entry that the one before
gave (`Run.reached`). `Run.take` is the one place that drops entries, those outside the range and those that came
before; the decoder drops messages, of the batched entries in which the split begins and ends.

"Transactions not known": entries past the broker hold what aborted transactions wrote. Where nobody tells which those
are the decoder gives up in the middle of what it was given, so BROKER begins with the entry that it names.

PROOF and GIVEN UP ask what the broker's silence means (`task.loss_check`).

The audit (`task.audit`) knows nothing of these rules. It is told of each run and checks that together they are the
split.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final

import pyarrow as pa

from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import TransactionsUnknown
from pyspark_pulsar.columnar.reading.request import RowRequest
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
from pyspark_pulsar.options.values.read_from import AUTO
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.location import PartitionAccess
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


class _NotAsked(ConnectionFailed):
    """The place is left alone."""


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
        """The record batches that the range completes. Raises the errors of `entries` and of `decode`."""
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
        """The record batches of a range whose location gives rows. `make_decoder`: of entries in a range, for what the
        broker gives instead. Raises the errors of `Location.rows` and of `entries`."""
        unreached = self._left_alone(planned)
        if unreached is not None and self._loss.is_still_in_ledgers(planned):
            self._audit.stand_in(_reason(unreached))
            self._tell(planned, FromBroker.title, planned.location.name, unreached)
            yield from _decoded(make_decoder(planned.start, planned.end), self.broker_entries(planned))
            return
        run = self._audit.begin(planned)
        behind = 0
        """Rows that were given behind `run.reached`."""
        began = time.monotonic()
        try:
            with closing(planned.location.rows(self._access, planned.start, planned.end, request)) as source:
                for batch in source:
                    count = 0 if batch.rows is None else batch.rows.num_rows
                    behind = 0 if batch.reached is not None else behind + count
                    run.take_rows(count, 0 if batch.rows is None else batch.rows.nbytes, batch.reached)
                    if batch.rows is not None:
                        yield batch.rows
            run.end()
            PLACE_HEALTH.works(self._place(planned))
        except _FAULTS_OF_PLACE as fault:
            rest = replace(planned, start=run.reached)
            self._judge(planned, run, began)
            if self._options.read_from != AUTO or not self._loss.is_still_in_ledgers(rest):
                raise
            self._audit.give_way(rest.start, _reason(fault))
            self._tell(rest, FromBroker.title, planned.location.name, fault)
        else:
            return
        decoder = make_decoder(rest.start, rest.end)
        for rows in _decoded(decoder, self.broker_entries(rest)):
            # The same rows in the same order come again from where the next ones begin.
            known = min(behind, rows.num_rows)
            behind -= known
            if known < rows.num_rows:
                yield rows.slice(known)

    def entries(self, planned: SplitRange) -> Generator[EntryBatch, None, None]:
        """Whole entries in order, each once, none outside the range. The entries at its ends may hold messages outside
        it; ranges of one split meet between entries. Close it when not all of it is wanted.

        Raises the errors of `Location.open` as far as the table says, `DeadlineExceeded`, `DataLossError` and those of
        `AdminClient`.
        """
        if not planned.location.falls_back:
            yield from self.broker_entries(planned)
            return
        failure = yield from self._past_broker(planned)
        if failure is None:
            return
        rest, fault = failure
        if self._options.read_from != AUTO:
            self._loss.give_up(rest, fault)
            return
        replica = rest.location.replica(self._access)
        if replica is None:
            self._tell(rest, FromBroker.title, rest.location.name, fault)
        else:
            self._tell(rest, replica.title, rest.location.name, fault)
            failure = yield from self._past_broker(replace(rest, location=replica))
            if failure is None:
                return
            rest = replace(rest, start=failure[0].start)
            self._tell(rest, FromBroker.title, replica.title, failure[1])
        yield from self.broker_entries(rest, fault)

    def broker_entries(
        self, rest: SplitRange, fault: PulsarError | None = None
    ) -> Generator[EntryBatch, None, None]:
        """All that the broker has of what is left of a range; its location says where it was planned to be read, and
        `fault` why it is not read there. As `entries`, but nothing else is tried."""
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

    def _past_broker(
        self, planned: SplitRange
    ) -> Generator[EntryBatch, None, tuple[SplitRange, PulsarError] | None]:
        """From where the range says. Returns what is left of it, and why; None where all of it came."""
        unreached = self._left_alone(planned)
        if unreached is not None:
            self._audit.stand_in(_reason(unreached))
            return planned, unreached
        run, began = self._audit.begin(planned), time.monotonic()
        try:
            yield from self._take(run)
            run.end()
        except _FAULTS_OF_PLACE as fault:
            rest = replace(planned, start=run.reached)
            self._judge(planned, run, began)
            self._audit.give_way(rest.start, _reason(fault))
            return rest, fault
        PLACE_HEALTH.works(self._place(planned))
        return None

    def _left_alone(self, planned: SplitRange) -> _NotAsked | None:
        """Why the place of the range is not asked; None where it is."""
        if self._options.read_from != AUTO:
            return None
        seconds = PLACE_HEALTH.avoided_seconds(self._place(planned))
        if not seconds:
            return None
        return _NotAsked(
            f"{planned.location.title} gave nothing to this executor lately, so it is asked again in {seconds:.0f} s; "
            f"if this executor cannot reach it, set readFrom=broker"
        )

    def _judge(self, planned: SplitRange, run: Run, began: float) -> None:
        """After a fault of the place."""
        if run.reached == planned.start:
            PLACE_HEALTH.gave_nothing(self._place(planned), time.monotonic() - began)

    def _place(self, planned: SplitRange) -> Place:
        return self._options.identity, planned.location.name

    def _take(self, run: Run) -> Generator[EntryBatch, None, None]:
        split_range = run.split_range
        with closing(split_range.location.open(self._access, split_range.start, split_range.end)) as source:
            for entries in source:
                if run.take(entries):
                    yield entries

    def _tell(self, rest: SplitRange, source: str, failed: str, fault: PulsarError) -> None:
        is_known = (failed, type(fault).__name__) in self._told
        # That it is not asked follows from a fault that was told.
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
