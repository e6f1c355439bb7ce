"""Recovery steps on opening a journal: become the only producer, commit decided epochs, abort other transactions.

`finish` commits all transactions of the last decision, even if a dead driver has already committed some of them. For a
committed transaction, the broker answers only that the transaction has ended. The marker of the transaction in `-ended`
proves the commit. `abort_begun` aborts the transactions in `-begun` that are not in the decision. The coordinator
refuses to abort a transaction that is being committed.

A slow process may no longer be the only producer. Another process may have begun transactions and removed markers. So a
process appends a fence before it aborts transactions or reports them as lost. If another process has opened the
journal, this append fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from pyspark_pulsar.client.broker.transaction_coordinator import named
from pyspark_pulsar.errors import DeadlineExceeded, WriterFenced
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.runtime import random, time
from pyspark_pulsar.write.exactly_once.abort import IN_THE_WAY_SECONDS, abort_running
from pyspark_pulsar.write.exactly_once.journal import Decider
from pyspark_pulsar.write.exactly_once.outcome import RowsLost
from pyspark_pulsar.write.exactly_once.ownership import RunFenced
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import (
    NO_EPOCH,
    BegunTransaction,
    JournalState,
    PreparedTransaction,
)

_TRIES: Final = 10
_PAUSE_SECONDS: Final = 0.2
_LOOK_SECONDS: Final = 1.0

T = TypeVar("T")


def exclusively(
    sink: Sink, attempt: Callable[[Decider], T], settled: Callable[[], T | None] = lambda: None
) -> T:
    """Call `attempt` while this process is the only producer of `-decided`.

    Args:
        sink: The journal.
        attempt: The function to call, with a `Decider`. A call must begin at the state of its `Decider`, because an
            earlier call may have failed at any point.
        settled: A function that is called before each try. If its result is not None, `attempt` is not called.

    Returns:
        The result of `attempt` or `settled`.

    Raises:
        WriterFenced: Other processes fenced this process in every try.

    """
    for number in range(_TRIES):
        result = settled()
        if result is not None:
            return result
        try:
            with sink.journal.exclusive() as decider:
                return attempt(decider)
        except RunFenced:
            raise
        except WriterFenced:
            if number == _TRIES - 1:
                raise
            # All tasks of a run begin at the same time, and each task fences the other tasks. So the pauses grow until
            # one task has enough time. A pause ends early when another task has taken over for this run.
            again = time.monotonic() + random.uniform(0.5, 1.5) * _PAUSE_SECONDS * 2**number
            while (left := again - time.monotonic()) > 0:
                time.sleep(min(left, _LOOK_SECONDS))
                if left > _LOOK_SECONDS and (result := settled()) is not None:
                    return result
    raise AssertionError


def finish(sink: Sink, decider: Decider, state: JournalState) -> JournalState:
    """Commit the decided transactions, unless the state shows that they are committed. Return the new state.

    Raises:
        RowsLost: The broker has aborted some of the transactions.
        PulsarError: A request to the broker failed.

    """
    if state.done or state.epoch == NO_EPOCH:
        return state
    ended = sink.coordinators.commit_all(state.decided)
    if ended:
        _require_markers(
            sink, decider, state, [task for task in state.transactions if task.transaction in ended]
        )
    done = replace(state, done=True, ended=sink.journal.ended_end())
    decider.decide(done)
    return done


def _require_markers(
    sink: Sink, decider: Decider, state: JournalState, ended: Sequence[PreparedTransaction]
) -> None:
    """Check that the marker of each ended transaction is visible. A visible marker proves a commit.

    Raises:
        RowsLost: A marker is missing, so its transaction was aborted.
        DeadlineExceeded: An open transaction hides the markers.
        WriterFenced: Another process may have removed markers.

    """
    seconds = max(sink.client.request_seconds, IN_THE_WAY_SECONDS + _LOOK_SECONDS)
    deadline = time.monotonic() + seconds
    while True:
        settled = sink.journal.fence_markers(state.ended)
        visible = sink.journal.markers_since(state.ended)
        missing = [task for task in ended if task.transaction not in visible]
        if not missing:
            return
        if settled:
            decider.require_alone()
            raise RowsLost(_loss_text(sink, state, missing))
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"epoch {state.epoch}: expected the outcome of its decided transactions within {seconds:.0f} s, got an "
                f"open transaction in {sink.journal.marker_partition}; wait until the open transaction ends, then try "
                f"again"
            )
        abort_begun(sink, state, decider)
        time.sleep(_PAUSE_SECONDS)


def _loss_text(sink: Sink, state: JournalState, missing: Sequence[PreparedTransaction]) -> str:
    rows = sum(task.rows for task in missing)
    tasks = ", ".join(str(task.partition) for task in missing)
    names = ", ".join(named(task.transaction) for task in missing)
    return (
        f"epoch {state.epoch}: expected the broker to commit all {len(state.transactions)} decided transactions, "
        f"but {len(missing)} transactions timed out and were aborted. {rows} rows of Spark's partitions {tasks} are "
        f"missing ({names}, journal {sink.journal.prefix}). Write the missing rows again by hand, then continue with "
        f"another journal (transactionJournal). To leave a driver more time to restart, raise transactionTimeoutMs"
    )


def abort_begun(
    sink: Sink,
    state: JournalState,
    decider: Decider,
    counts: Callable[[BegunTransaction], bool] = lambda _: True,
) -> tuple[list[BegunTransaction], Position]:
    """Abort the begun transactions that are not decided.

    Args:
        sink: The journal and the coordinators.
        state: The last state.
        decider: The `Decider` that checks that this process is still the only producer.
        counts: A function that returns whether a begun transaction is to be aborted.

    Returns:
        All transactions that `-begun` contains from `state.begun` on, and the position up to which `-begun` was read.

    Raises:
        WriterFenced: Another process has taken over, and the transactions may belong to that process.

    """
    decided = set(state.decided)
    readings: list[tuple[list[BegunTransaction], Position]] = []

    def undecided() -> list[BegunTransaction]:
        begun, position = sink.journal.begun_since(state.begun)
        readings.append((begun, position))
        return [attempt for attempt in begun if attempt.transaction not in decided and counts(attempt)]

    abort_running(sink, undecided, decider.require_alone)
    return readings[-1]
