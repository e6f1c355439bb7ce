"""The steps of an epoch that change the state: take over, commit, abort, finish (steps 1 and 5 to 8 of the package).

A process may die at any point of these functions. After such a failure, this driver or the next driver calls the
function again. A function first reads the state, and continues from that state. While a function changes the state, no
other process can change the state. Aborts and commits can be repeated. Only the decision (`_decide`) must not be
repeated, so the decision is a single record.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.errors import CommitError, PulsarError, RepeatedEpochDiffers, TransactionEnded
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.runtime import time
from pyspark_pulsar.write.exactly_once.abort import abort_running
from pyspark_pulsar.write.exactly_once.journal import Decider
from pyspark_pulsar.write.exactly_once.outcome import (
    committed_all_the_same,
    in_doubt,
    unfinished_after_decision,
)
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
    """Make `writer` the present writer of the journal.

    First commit the transactions that other writers decided, and abort all other transactions of these writers. Every
    task calls this function. If an earlier task has already taken over for `writer`, the call only reads the state.

    Args:
        sink: The journal and the coordinators.
        writer: The run that takes over.
        may_be_empty: True if the journal may be empty, because no epoch was written with this journal before.

    Returns:
        The state.

    Raises:
        WriterFenced: Another run has taken over from `writer`.
        JournalTaken: The journal belongs to another owner.
        CommitError: The journal is empty, and `may_be_empty` is false.

    """

    def own_state() -> JournalState | None:
        state = sink.journal.state()
        refuse_others(state, writer, sink.journal.prefix)
        return state if state is not None and state.writer == writer else None

    def attempt(decider: Decider) -> JournalState:
        state = decider.state
        # The journal is empty for certain only if the state was read after a fence.
        if state is None and not may_be_empty:
            raise CommitError(
                f"the journal {sink.journal.prefix} is empty: expected the last epoch of {writer}. The journal was "
                f"deleted, or its messages expired (the namespace's message TTL), or the query previously wrote to "
                f"another topic or with another deliveryGuarantee. The current epoch may already be written; check "
                f"the topic for the rows of the epoch, then set a new journal (transactionJournal)"
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
        # If tasks of this run have begun transactions, the position does not change, so that the commit of this run
        # reads these transactions again.
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
    """Make all rows of `prepared` visible, and abort all other begun transactions.

    If the epoch was decided before, the decision does not change. Transactions in `prepared` that are not in the
    decision are aborted.

    Args:
        sink: The journal and the coordinators.
        writer: The run that commits.
        epoch: The number of the epoch.
        prepared: The transactions of the epoch's tasks.
        row_digest: The digest of all rows of the epoch; None if digests are not compared.

    Raises:
        RepeatedEpochDiffers: The epoch was decided before, with other rows.
        CommitUnfinished: A step failed after the decision was sent, so the decision may be stored; see `until_known`.
        CommitError: No row of the epoch is visible or will become visible.

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
                f"epoch {epoch}: expected the journal {journal} to be at run {writer.run}, got another state. The "
                f"journal was deleted or damaged, so no row of the epoch counts as written; start the query again"
            )
        if epoch > state.epoch:
            decided = replace(
                state, epoch=epoch, transactions=tuple(prepared), done=False, row_digest=row_digest
            )
            state = _decide(sink, decider, decided)
        else:
            state = _repeated_epoch(sink, state, epoch, prepared, row_digest)
        with unfinished_after_decision(writer, epoch, journal):
            state = finish(sink, decider, state)
        _tidy(sink, decider, state)

    exclusively(sink, attempt)


def _tidy(sink: Sink, decider: Decider, state: JournalState) -> None:
    """Remove records that the next epochs do not need. A failure is only logged, because the epoch is committed."""
    try:
        # A speculative task attempt may have begun a transaction. If Spark kills the attempt, no other process ends
        # this transaction.
        abort_begun(sink, state, decider)
        if state.epoch % _FORGET_EVERY == 0:
            sink.journal.forget_before(state)
    except PulsarError as fault:
        _log.warning(
            "removing old records of a journal failed; the next epochs retry: %s: %s",
            fault,
            sink.journal.prefix,
        )


def _repeated_epoch(
    sink: Sink,
    state: JournalState,
    epoch: int,
    prepared: Sequence[PreparedTransaction],
    row_digest: RowDigest | None,
) -> JournalState:
    """Abort undecided transactions of an epoch that Spark runs again, and compare the rows with the decided rows.

    Raises:
        CommitError: The epoch is before the last decided epoch, or its rows differ from the decided rows.

    """
    decided = set(state.decided)
    sink.coordinators.abort_all([task.transaction for task in prepared if task.transaction not in decided])
    if epoch < state.epoch:
        raise CommitError(
            f"epoch {epoch}: expected epoch {state.epoch} or a later epoch, because epoch {state.epoch} is decided "
            f"already in the journal {sink.journal.prefix}. The checkpoint is older than the journal; use the newer "
            f"checkpoint"
        )
    known = state.row_digest
    if row_digest is not None and known is not None and not row_digest.agrees_with(known):
        raise RepeatedEpochDiffers(
            f"epoch {epoch}: expected the rows that {state.writer} has already written as this epoch ({known}), got "
            f"other rows ({row_digest}), and wrote none of the other rows. If the checkpoint is older than the journal "
            f"{sink.journal.prefix} (restored from a copy, or a file is lost), use the newer checkpoint. If each "
            f"run computes different rows (uuid(), rand(), a sum of doubles), set repeatedEpochCheck=count. If the "
            f"query or the topic's schema has changed, set repeatedEpochCheck=none, which drops the repeated rows"
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
    """Check that the journal still contains the transactions of the epoch.

    Each task writes its transaction to `-begun` before it sends rows. If a transaction is missing in `-begun`, the
    topic was deleted, or its messages expired. Other task attempts may then have open transactions that no process can
    find and end.

    Raises:
        CommitError: Transactions are missing in `-begun`. The prepared transactions were aborted.

    """
    decided = set(state.decided)
    deadline = time.monotonic() + sink.client.request_seconds
    while missing := decided - {attempt.transaction for attempt in begun}:
        # A broker that has just loaded the topic may not return all of its records yet.
        if time.monotonic() > deadline:
            sink.coordinators.abort_all(state.decided)
            raise CommitError(
                f"epoch {state.epoch}: expected the transactions of its {len(decided)} tasks in "
                f"{sink.journal.prefix}-begun, got {len(decided) - len(missing)}. The topic was deleted, or its "
                f"messages expired, while the tasks ran, so no row of the epoch is written. Until "
                f"transactionTimeoutMs has passed, rows of killed task attempts may hide later rows; keep the "
                f"journal's topics, and start the query or the job again"
            )
        time.sleep(_PAUSE_SECONDS)
        begun, _ = sink.journal.begun_since(state.begun)


def _require_open(sink: Sink, state: JournalState) -> None:
    """Check that the decided transactions are open, by adding the marker partition again.

    The broker refuses to add a partition to a transaction that is not open.
    """
    try:
        sink.coordinators.require_open(state.decided, sink.journal.marker_partition)
    except TransactionEnded as fault:
        sink.coordinators.abort_all(state.decided)
        raise CommitError(
            f"epoch {state.epoch}: expected the transactions of all its tasks to be open, but {fault}; no row of the "
            f"epoch is written. If the epoch took longer than transactionTimeoutMs, raise the option, or make epochs "
            f"smaller"
        ) from fault


def abort_epoch(sink: Sink, writer: Writer, epoch: int, prepared: Sequence[PreparedTransaction]) -> None:
    """Abort the transactions that `writer` has begun for the epoch. If the epoch is decided, commit the epoch instead.

    If `writer` is a job that is not decided, its tasks that begin later fail.

    Raises:
        CommitUnfinished: The job was decided and is committed now, or its outcome is unknown.

    """

    def attempt(decider: Decider) -> None:
        state = decider.state
        if _is_fenced(state, writer):
            _abort_after_takeover(sink, state, writer, epoch, prepared)
            return
        if state is not None and state.writer == writer:
            with unfinished_after_decision(writer, epoch, sink.journal.prefix):
                state = finish(sink, decider, state)
        decided = state is not None and state.writer == writer and epoch <= state.epoch
        if writer.is_job and not decided:
            # This record is appended before `-begun` is read. A task that begins later reads this record, and ends its
            # own transaction.
            state = (state or JournalState(writer, released=True)).give_up(writer)
            decider.decide(state)
        _abort_own(sink, state, writer, epoch, prepared)
        if writer.is_job and decided:
            raise committed_all_the_same(writer, epoch, sink.journal.prefix)

    state = sink.journal.state()
    if _is_fenced(state, writer):
        _abort_after_takeover(sink, state, writer, epoch, prepared)
    else:
        exclusively(sink, attempt)


def _is_fenced(state: JournalState | None, writer: Writer) -> bool:
    """Return whether the journal has another writer, and `writer` cannot take over the journal.

    Tasks of a job can still take over, unless another run has taken over from the job, or the job was given up.
    """
    if state is None or state.writer == writer:
        return False
    return not writer.is_job or state.fenced_run(writer) is not None or not state.belongs_to(writer)


def _abort_after_takeover(
    sink: Sink,
    state: JournalState | None,
    writer: Writer,
    epoch: int,
    prepared: Sequence[PreparedTransaction],
) -> None:
    """Abort undecided transactions. The run that has taken over has already committed the decided transactions."""
    _abort_own(sink, state, writer, epoch, prepared)
    if is_committed_job(state, writer):
        raise committed_all_the_same(writer, epoch, sink.journal.prefix)


def _abort_own(
    sink: Sink,
    state: JournalState | None,
    writer: Writer,
    epoch: int,
    prepared: Sequence[PreparedTransaction],
) -> None:
    """Abort the undecided transactions of the writer's epoch, and no transactions of other writers."""
    decided: set[TransactionId] = set() if state is None else set(state.decided)
    sink.coordinators.abort_all([task.transaction for task in prepared if task.transaction not in decided])
    if state is None:
        return
    start = state.begun

    def own() -> list[BegunTransaction]:
        begun, _ = sink.journal.begun_since(start)
        own = [attempt for attempt in begun if (attempt.writer, attempt.epoch) == (writer, epoch)]
        return [attempt for attempt in own if attempt.transaction not in decided]

    # The list contains no transaction of another writer, so other processes may use the journal at the same time.
    abort_running(sink, own, require_alone=lambda: None)


def finish_decided(sink: Sink, *, abort_open: bool = False, release: bool = False) -> JournalState | None:
    """Commit the last decided epoch of the journal, unless the journal shows that the epoch is committed.

    Args:
        sink: The journal and the coordinators.
        abort_open: Whether to abort begun transactions that are not decided. A running writer then fails.
        release: Whether to permit another owner to use the journal. The present owner's run then fails.

    Returns:
        The new state; None if the journal has no state.

    """
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
