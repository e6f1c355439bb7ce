"""Committing an epoch exactly once: decide, then end; and finishing what somebody else decided. See `journal`.

Every function here may die at any point and be called again, by this driver or by the next one.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.coordinator import Coordinators, named
from pyspark_pulsar.client.transactions import TransactionId
from pyspark_pulsar.errors import CommitError, PulsarError, TransactionEnded, WriterFenced
from pyspark_pulsar.message_id import Position
from pyspark_pulsar.write.journal import NO_EPOCH, Begun, Decider, Journal, Prepared, State, Writer

_log = logging.getLogger(__name__)

_FORGET_EVERY: Final = 100
_TRIES: Final = 6
_PAUSE_SECONDS: Final = 0.2

T = TypeVar("T")


class _Superseded(WriterFenced):
    """For good, other than having been thrown out while something was decided."""


@dataclass(frozen=True)
class Sink:
    """What the steps below are done with."""

    client: BrokerClient
    journal: Journal
    coordinators: Coordinators

    @classmethod
    def open(cls, client: BrokerClient, prefix: str) -> Sink:
        return cls(client, Journal(client, prefix), Coordinators(client))


def take_over(sink: Sink, writer: Writer, *, begins: bool = True) -> State:
    """Make `writer` the one who writes: finish what others decided, abort what they left open.

    Called by every task; cheap when it is already, also by what another task has done meanwhile. `begins`: the journal
    may be empty. Raises `WriterFenced` when another one has taken over from it, `CommitError` for a journal that is
    empty and must not be.
    """

    def look() -> State | None:
        state = sink.journal.state()
        if state is None and not begins:
            raise CommitError(
                f"expected the journal {sink.journal.prefix} to know the last epoch of this query, but it is empty: it "
                f"was deleted, or expired by the namespace's message TTL, or the query had another deliveryGuarantee "
                f"before. Whether the epoch that runs now was written already is not known; see whether its rows are "
                f"there, then give the query a new journal (transactionJournal)"
            )
        _refuse_former(state, writer, sink.journal)
        return state if state is not None and state.writer == writer else None

    return _alone(sink, lambda decider: _take_over(sink, decider, writer), look)


def _take_over(sink: Sink, decider: Decider, writer: Writer) -> State:
    state = decider.state
    _refuse_former(state, writer, sink.journal)
    if state is None:
        state = State(writer)
    elif state.writer != writer:
        state = _finish(sink, decider, state).taken_over_by(writer)
    else:
        return state
    begun, position = sink.journal.begun_since(state.begun)
    sink.coordinators.abort_all([each.transaction for each in begun if each.writer != writer])
    # What this run has begun meanwhile is looked at again when its epoch is committed.
    if all(each.writer != writer for each in begun):
        state = replace(state, begun=position)
    decider.decide(state)
    return state


def commit_epoch(sink: Sink, writer: Writer, epoch: int, prepared: Sequence[Prepared]) -> None:
    """Make the rows of `prepared` visible, all of them, and abort all else that was begun.

    An epoch that was decided before stays as it was decided, and `prepared` is aborted. Raises `CommitError`: before
    the decision nothing of the epoch is visible, and nothing will be; behind it the message says what is missing.
    """
    _alone(sink, lambda decider: _commit(sink, decider, writer, epoch, prepared))


def _commit(sink: Sink, decider: Decider, writer: Writer, epoch: int, prepared: Sequence[Prepared]) -> None:
    state = decider.state
    _refuse_former(state, writer, sink.journal)
    if state is None or state.writer != writer:
        sink.coordinators.abort_all([each.transaction for each in prepared])
        raise CommitError(
            f"epoch {epoch}: expected the journal {sink.journal.prefix} to be at run {writer.run}, got another state; "
            f"it was deleted or damaged, so nothing of the epoch is counted as written; start the query again"
        )
    if epoch > state.epoch:
        state = _decide(sink, decider, replace(state, epoch=epoch, transactions=tuple(prepared), done=False))
    else:
        state = _after_the_fact(sink, state, epoch, prepared)
    state = _finish(sink, decider, state)
    # A speculative twin may have begun meanwhile; nobody would end its transaction when Spark kills it.
    _abort_begun(sink, state)
    if epoch % _FORGET_EVERY == 0:
        _forget(sink, state)


def _forget(sink: Sink, state: State) -> None:
    """The epoch is committed, whatever becomes of this."""
    try:
        sink.journal.forget_before(state)
    except PulsarError as fault:
        _log.warning("%s: not trimmed, which the next epochs will do: %s", sink.journal.prefix, fault)


def _after_the_fact(sink: Sink, state: State, epoch: int, prepared: Sequence[Prepared]) -> State:
    decided = set(state.decided)
    sink.coordinators.abort_all([each.transaction for each in prepared if each.transaction not in decided])
    if epoch < state.epoch:
        raise CommitError(
            f"epoch {epoch}: expected it to be the last one or a new one, but epoch {state.epoch} is decided already "
            f"in {sink.journal.prefix}; the checkpoint is older than the journal: go back to the newer one"
        )
    return state


def _decide(sink: Sink, decider: Decider, state: State) -> State:
    position = _abort_begun(sink, state)
    _require_open(sink, state)
    decided = replace(state, begun=position)
    decider.decide(decided)
    return decided


def _require_open(sink: Sink, state: State) -> None:
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


def _abort_begun(sink: Sink, state: State, stray: Callable[[Begun], bool] = lambda _: True) -> Position:
    """Abort the strays among what is begun and not decided; returns the position up to which that was looked at."""
    begun, position = sink.journal.begun_since(state.begun)
    decided = set(state.decided)
    sink.coordinators.abort_all(
        [each.transaction for each in begun if each.transaction not in decided and stray(each)]
    )
    return position


def abort_epoch(sink: Sink, writer: Writer, epoch: int, prepared: Sequence[Prepared]) -> None:
    """Abort what `writer` has begun for the epoch; if it has been decided, finish it instead."""

    def attempt(decider: Decider) -> None:
        state = decider.state
        decided: set[TransactionId] = set()
        if state is not None:
            decided = set(state.decided)
            _finish(sink, decider, state)
            _abort_begun(sink, state, lambda begun: (begun.writer, begun.epoch) == (writer, epoch))
        sink.coordinators.abort_all(
            [each.transaction for each in prepared if each.transaction not in decided]
        )

    _alone(sink, attempt)


def finish_decided(sink: Sink, *, abort_open: bool = False) -> State | None:
    """Commit what was decided and is not known to be committed, for whoever wrote it; with `abort_open` abort what was
    begun and not decided, which makes a writer fail that is still there. Returns what the journal says then, None where
    nobody has decided anything."""
    if sink.journal.state() is None:
        return None

    def attempt(decider: Decider) -> State | None:
        state = decider.state
        if state is not None:
            state = _finish(sink, decider, state)
            if abort_open:
                _abort_begun(sink, state)
        return state

    return _alone(sink, attempt)


def _finish(sink: Sink, decider: Decider, state: State) -> State:
    if state.done or state.epoch == NO_EPOCH:
        return state
    ended = sink.coordinators.commit_all(state.decided)
    if ended:
        _require_markers(sink, state, [each for each in state.transactions if each.transaction in ended])
    done = replace(state, done=True, ended=sink.journal.ended_end())
    decider.decide(done)
    return done


def _require_markers(sink: Sink, state: State, unknown: Sequence[Prepared]) -> None:
    """Raises `CommitError` unless the marker of each is visible."""
    deadline = time.monotonic() + sink.client.request_seconds
    while True:
        settled = sink.journal.fence_markers(state.ended)
        visible = sink.journal.markers_since(state.ended)
        missing = [each for each in unknown if each.transaction not in visible]
        if not missing:
            return
        if settled:
            raise CommitError(_lost(sink, state, missing))
        if time.monotonic() > deadline:
            raise CommitError(
                f"epoch {state.epoch}: expected to see within {sink.client.request_seconds:.0f} s whether its "
                f"transactions were committed, but a transaction is open in {sink.journal.marker_partition}; the epoch "
                f"is decided, and the next start of the query finishes it"
            )
        _abort_begun(sink, state)
        time.sleep(_PAUSE_SECONDS)


def _lost(sink: Sink, state: State, missing: Sequence[Prepared]) -> str:
    rows = sum(each.rows for each in missing)
    tasks = ", ".join(str(each.partition) for each in missing)
    names = ", ".join(named(each.transaction) for each in missing)
    return (
        f"epoch {state.epoch}: expected all its {len(state.transactions)} transactions to be committed, as was "
        f"decided, but the broker has aborted {len(missing)} of them (they timed out): {rows} rows of Spark's "
        f"partitions {tasks} are missing ({names}, journal {sink.journal.prefix}). They do not count as "
        f"written. Write them again by hand, then go on with another journal (transactionJournal); "
        f"a larger transactionTimeoutMs gives a driver more time to come back"
    )


def _refuse_former(state: State | None, writer: Writer, journal: Journal) -> None:
    if state is not None and writer.run in state.former:
        raise _Superseded(
            f"another run of this query ({state.writer.run}) has taken over from run {writer.run}, as the journal "
            f"{journal.prefix} says; nothing of this run counts as written any more. Let only one query run on a "
            f"checkpoint"
        )


def _alone(sink: Sink, attempt: Callable[[Decider], T], look: Callable[[], T | None] = lambda: None) -> T:
    """`attempt` looks at the journal's state before it acts, so it may be called again. `look` comes before each try:
    when it gives something, nobody needs to be thrown out."""
    for number in range(_TRIES):
        found = look()
        if found is not None:
            return found
        try:
            with sink.journal.alone() as decider:
                return attempt(decider)
        except _Superseded:
            raise
        except WriterFenced:
            if number == _TRIES - 1:
                raise
            # All tasks of a run begin at once.
            time.sleep(random.uniform(0.5, 1.5) * _PAUSE_SECONDS * 2**number)  # noqa: S311 -- spreads them
    raise AssertionError
