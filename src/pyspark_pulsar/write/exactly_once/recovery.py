"""What everybody does who comes to a journal: be alone, finish what is decided, abort what is not.

Finishing commits all transactions of the last decision, also those that a dead driver has committed already: the
broker answers that these have ended, but not how. Their markers in `-ended` tell. Aborting takes what is in `-begun`
and not in the decision; a transaction that is being committed is not aborted by it, as the coordinator refuses that.

Whoever is slow may not be alone any more: another one has come, begun transactions of its own, and removed markers. So
before something is aborted, or told as lost, for what was read, whoever acts appends a fence, which fails then.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from pyspark_pulsar.client.broker.transaction_coordinator import named
from pyspark_pulsar.errors import DeadlineExceeded, WriterFenced
from pyspark_pulsar.model.position import Position
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
    """Call `attempt` as the only one who decides. It reads the journal's state before it acts, so it may be called
    again. `settled` comes before each try: when it gives something, nobody needs to be thrown out. Raises
    `WriterFenced` when others come every time."""
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
            # All tasks of a run begin at once, and one that is thrown out may have needed only a moment more. So pauses
            # grow until there are few enough, and end when another one has done it.
            again = time.monotonic() + random.uniform(0.5, 1.5) * _PAUSE_SECONDS * 2**number  # noqa: S311 -- spreads them
            while (left := again - time.monotonic()) > 0:
                time.sleep(min(left, _LOOK_SECONDS))
                if left > _LOOK_SECONDS and (result := settled()) is not None:
                    return result
    raise AssertionError


def finish(sink: Sink, decider: Decider, state: JournalState) -> JournalState:
    """Commit what is decided, unless that is known to be done. Raises `RowsLost`, and what asking the broker raises."""
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
    """Of transactions that have ended, in one way or the other. Raises `RowsLost` unless the marker of each is visible,
    `DeadlineExceeded` when that cannot be seen, `WriterFenced` when another one may have removed them."""
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
            raise RowsLost(_lost(sink, state, missing))
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"epoch {state.epoch}: expected to see within {seconds:.0f} s whether its "
                f"transactions were committed, but a transaction is open in {sink.journal.marker_partition}; the epoch "
                f"is decided, and the next start of the query finishes it"
            )
        abort_begun(sink, state, decider)
        time.sleep(_PAUSE_SECONDS)


def _lost(sink: Sink, state: JournalState, missing: Sequence[PreparedTransaction]) -> str:
    rows = sum(task.rows for task in missing)
    tasks = ", ".join(str(task.partition) for task in missing)
    names = ", ".join(named(task.transaction) for task in missing)
    return (
        f"epoch {state.epoch}: expected all its {len(state.transactions)} transactions to be committed, as was "
        f"decided, but the broker has aborted {len(missing)} of them (they timed out): {rows} rows of Spark's "
        f"partitions {tasks} are missing ({names}, journal {sink.journal.prefix}). They do not count as "
        f"written. Write them again by hand, then go on with another journal (transactionJournal); "
        f"a larger transactionTimeoutMs gives a driver more time to come back"
    )


def abort_begun(
    sink: Sink,
    state: JournalState,
    decider: Decider,
    counts: Callable[[BegunTransaction], bool] = lambda _: True,
) -> tuple[list[BegunTransaction], Position]:
    """Abort what is begun and not decided, of what `counts`; returns all that was begun since the state, and the
    position up to which `-begun` was read. Raises `WriterFenced` when another one has come: what was begun may be its
    own."""
    decided = set(state.decided)
    readings: list[tuple[list[BegunTransaction], Position]] = []

    def undecided() -> list[BegunTransaction]:
        begun, position = sink.journal.begun_since(state.begun)
        readings.append((begun, position))
        return [attempt for attempt in begun if attempt.transaction not in decided and counts(attempt)]

    abort_running(sink, undecided, decider.require_alone)
    return readings[-1]
