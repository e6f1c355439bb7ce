"""The steps of an epoch that change the state (1, and 5 to 8, of the package's head): take over, commit, abort, finish.

Every function here may die at any point and be called again, by this driver or by the next one: it is alone while it
changes the state, reads it first, and goes on from there. Aborting and committing may be repeated; the decision
(`_decide`) is the one step that may not, and is one record.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.errors import CommitError, PulsarError, RepeatedEpochDiffers, TransactionEnded
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.write.exactly_once.abort import abort_running
from pyspark_pulsar.write.exactly_once.journal import Decider
from pyspark_pulsar.write.exactly_once.outcome import behind_the_decision, committed_all_the_same, in_doubt
from pyspark_pulsar.write.exactly_once.ownership import is_committed_job, refuse_others
from pyspark_pulsar.write.exactly_once.recovery import abort_begun, exclusively, finish
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import (
    BegunTransaction,
    JournalState,
    PreparedTransaction,
    Writer,
)

_log = logging.getLogger(__name__)

_FORGET_EVERY: Final = 100
_PAUSE_SECONDS: Final = 0.2


def take_over(sink: Sink, writer: Writer, *, may_be_empty: bool = True) -> JournalState:
    """Make `writer` the one who writes: finish what others decided, abort what they left open.

    Called by every task; cheap when it is already, also by what another task has done meanwhile. `may_be_empty`: the
    journal, as nothing was written with it before. Raises `WriterFenced` when another run has taken over from it,
    `JournalTaken` when the journal is another's, `CommitError` for one that is empty and must not be.
    """

    def own_state() -> JournalState | None:
        state = sink.journal.state()
        refuse_others(state, writer, sink.journal.prefix)
        return state if state is not None and state.writer == writer else None

    def attempt(decider: Decider) -> JournalState:
        state = decider.state
        # Only the state that was read after a fence shows for certain that the journal is empty.
        if state is None and not may_be_empty:
            raise CommitError(
                f"the journal {sink.journal.prefix} is empty: expected the last epoch of {writer} in it. It was "
                f"deleted, or expired by the namespace's message TTL, or the query wrote to another topic or with "
                f"another deliveryGuarantee before. Whether the epoch that runs now was written already is not known; "
                f"see whether its rows are there, then give the query a new journal (transactionJournal)"
            )
        refuse_others(state, writer, sink.journal.prefix)
        if state is None:
            sink.journal.prepare()
            state = JournalState(writer)
        elif state.writer != writer:
            state = finish(sink, decider, state).taken_over_by(writer)
        else:
            return state
        begun, position = abort_begun(sink, state, decider, lambda begun: begun.writer != writer)
        # The commit of this run's epoch reads again the transactions that its tasks begin during that time.
        if all(others.writer != writer for others in begun):
            state = replace(state, begun=position)
        decider.decide(state)
        return state

    return exclusively(sink, attempt, own_state)


def commit_epoch(
    sink: Sink,
    writer: Writer,
    epoch: int,
    prepared: Sequence[PreparedTransaction],
    row_digest: RowDigest | None = None,
) -> None:
    """Make the rows of `prepared` visible, all of them, and abort all else that was begun.

    `row_digest` is of all rows of the epoch. One that was decided before stays as it was decided, and `prepared` is
    aborted; if it had other rows, `RepeatedEpochDiffers`. Raises `CommitUnfinished` behind the decision, and when that
    may be stored: see `until_known`; `CommitError` when nothing of the epoch is visible, and nothing will be.
    """
    journal = sink.journal.prefix

    def attempt(decider: Decider) -> None:
        state = decider.state
        if is_committed_job(state, writer):
            return
        refuse_others(state, writer, journal)
        if state is None or state.writer != writer:
            sink.coordinators.abort_all([task.transaction for task in prepared])
            raise CommitError(
                f"epoch {epoch}: expected the journal {journal} to be at run {writer.run}, got another state; "
                f"it was deleted or damaged, so nothing of the epoch is counted as written; start the query again"
            )
        if epoch > state.epoch:
            decided = replace(
                state, epoch=epoch, transactions=tuple(prepared), done=False, row_digest=row_digest
            )
            state = _decide(sink, decider, decided)
        else:
            state = _repeated_epoch(sink, state, epoch, prepared, row_digest)
        with behind_the_decision(writer, epoch, journal):
            state = finish(sink, decider, state)
        _tidy(sink, decider, state)

    exclusively(sink, attempt)


def _tidy(sink: Sink, decider: Decider, state: JournalState) -> None:
    """The epoch is committed, whatever becomes of this."""
    try:
        # A speculative twin may have begun meanwhile; nobody would end its transaction when Spark kills it.
        abort_begun(sink, state, decider)
        if state.epoch % _FORGET_EVERY == 0:
            sink.journal.forget_before(state)
    except PulsarError as fault:
        _log.warning("%s: not tidied, which the next epochs will do: %s", sink.journal.prefix, fault)


def _repeated_epoch(
    sink: Sink,
    state: JournalState,
    epoch: int,
    prepared: Sequence[PreparedTransaction],
    row_digest: RowDigest | None,
) -> JournalState:
    """Spark runs again what is decided: abort what is not, and compare. Raises `CommitError`."""
    decided = set(state.decided)
    sink.coordinators.abort_all([task.transaction for task in prepared if task.transaction not in decided])
    if epoch < state.epoch:
        raise CommitError(
            f"epoch {epoch}: expected it to be the last one or a new one, but epoch {state.epoch} is decided already "
            f"in {sink.journal.prefix}; the checkpoint is older than the journal: go back to the newer one"
        )
    known = state.row_digest
    if row_digest is not None and known is not None and not row_digest.agrees_with(known):
        raise RepeatedEpochDiffers(
            f"epoch {epoch}: expected the rows that {state.writer} has written as this epoch already "
            f"({known}), got others ({row_digest}), of which nothing is written. The checkpoint is older than "
            f"the journal {sink.journal.prefix}, since it was restored from a copy or has lost a file: go back to the "
            f"newer one. Or the rows are not the same whenever they are computed (uuid(), rand(), a sum of doubles), "
            f"or the query or the topic's schema has changed: then set repeatedEpochCheck=count, or none, which drops "
            f"these rows"
        )
    return state


def _decide(sink: Sink, decider: Decider, state: JournalState) -> JournalState:
    begun, position = abort_begun(sink, state, decider)
    _require_open(sink, state)
    _require_begun(sink, state, begun)
    decided = replace(state, begun=position)
    try:
        decider.decide(decided)
    except PulsarError as fault:
        raise in_doubt(state.writer, state.epoch, sink.journal.prefix, fault) from fault
    return decided


def _require_begun(sink: Sink, state: JournalState, begun: Sequence[BegunTransaction]) -> None:
    """Check that the journal still knows what was begun for the epoch.

    Each task writes its transaction to `-begun` before it sends rows. A transaction that is missing there shows that
    the topic was deleted, so transactions of other attempts may be open that nobody knows and ends.

    Raises:
        CommitError: The prepared transactions are aborted.

    """
    decided = set(state.decided)
    deadline = time.monotonic() + sink.client.request_seconds
    while missing := decided - {attempt.transaction for attempt in begun}:
        # A broker that has just loaded the topic may not show all of it yet.
        if time.monotonic() > deadline:
            sink.coordinators.abort_all(state.decided)
            raise CommitError(
                f"epoch {state.epoch}: expected the transactions of its {len(decided)} tasks in "
                f"{sink.journal.prefix}-begun, got {len(decided) - len(missing)}: the topic was deleted or expired "
                f"while the tasks ran, so nothing of the epoch is written. Attempts of tasks that Spark has killed may "
                f"hide rows that follow theirs until transactionTimeoutMs is over. Keep the journal's topics, and "
                f"start the query or the job again"
            )
        time.sleep(_PAUSE_SECONDS)
        begun, _ = sink.journal.begun_since(state.begun)


def _require_open(sink: Sink, state: JournalState) -> None:
    """Adding a partition that it has already is refused for a transaction that is not open."""
    try:
        sink.coordinators.require_open(state.decided, sink.journal.marker_partition)
    except TransactionEnded as fault:
        sink.coordinators.abort_all(state.decided)
        raise CommitError(
            f"epoch {state.epoch}: expected the transactions of all its tasks to be open, but {fault}; nothing of the "
            f"epoch is written. It timed out if the epoch took longer than transactionTimeoutMs: raise that, or make "
            f"epochs smaller"
        ) from fault


def abort_epoch(sink: Sink, writer: Writer, epoch: int, prepared: Sequence[PreparedTransaction]) -> None:
    """Abort what `writer` has begun for the epoch; if it has been decided, finish it instead. Tasks of a job that begin
    later fail. Raises `CommitUnfinished` for a job that was decided, also when it is committed now, and for one of
    which nobody knows."""

    def attempt(decider: Decider) -> None:
        state = decider.state
        if _is_out(state, writer):
            _abort_of_former(sink, state, writer, epoch, prepared)
            return
        if state is not None and state.writer == writer:
            with behind_the_decision(writer, epoch, sink.journal.prefix):
                state = finish(sink, decider, state)
        decided = state is not None and state.writer == writer and epoch <= state.epoch
        if writer.is_job and not decided:
            # Before `-begun` is read: what a task begins behind that, it ends itself, as it looks for this then.
            state = (state or JournalState(writer, released=True)).give_up(writer)
            decider.decide(state)
        _abort_of(sink, state, writer, epoch, prepared)
        if writer.is_job and decided:
            raise committed_all_the_same(writer, epoch, sink.journal.prefix)

    state = sink.journal.state()
    if _is_out(state, writer):
        _abort_of_former(sink, state, writer, epoch, prepared)
    else:
        exclusively(sink, attempt)


def _is_out(state: JournalState | None, writer: Writer) -> bool:
    """Whether the journal is another's, and nothing of the writer can be stored any more. Tasks of a job that nobody
    has taken over from may yet take over."""
    if state is None or state.writer == writer:
        return False
    return not writer.is_job or state.fenced_run(writer) is not None or not state.belongs_to(writer)


def _abort_of_former(
    sink: Sink,
    state: JournalState | None,
    writer: Writer,
    epoch: int,
    prepared: Sequence[PreparedTransaction],
) -> None:
    """Whoever has taken over has finished what was decided."""
    _abort_of(sink, state, writer, epoch, prepared)
    if is_committed_job(state, writer):
        raise committed_all_the_same(writer, epoch, sink.journal.prefix)


def _abort_of(
    sink: Sink,
    state: JournalState | None,
    writer: Writer,
    epoch: int,
    prepared: Sequence[PreparedTransaction],
) -> None:
    """Abort what is of the writer's epoch and not decided; another's is left alone."""
    decided: set[TransactionId] = set() if state is None else set(state.decided)
    sink.coordinators.abort_all([task.transaction for task in prepared if task.transaction not in decided])
    if state is None:
        return
    start = state.begun

    def own() -> list[BegunTransaction]:
        begun, _ = sink.journal.begun_since(start)
        own = [attempt for attempt in begun if (attempt.writer, attempt.epoch) == (writer, epoch)]
        return [attempt for attempt in own if attempt.transaction not in decided]

    # Another's is not among them, so nobody need be alone.
    abort_running(sink, own, require_alone=lambda: None)


def finish_decided(sink: Sink, *, abort_open: bool = False, release: bool = False) -> JournalState | None:
    """Commit what was decided and is not known to be committed, for whoever wrote it; with `abort_open` abort what was
    begun and not decided, which makes a writer fail that is still there; with `release` let others have the journal,
    whose owner's run fails too. Returns what the journal says then, None where nobody has decided anything."""
    if sink.journal.state() is None:
        return None

    def attempt(decider: Decider) -> JournalState | None:
        state = decider.state
        if state is None:
            return None
        state = finish(sink, decider, state)
        if abort_open or release:
            abort_begun(sink, state, decider)
        if release:
            state = state.release()
            decider.decide(state)
        return state

    return exclusively(sink, attempt)
