"""What committing is done with, and the steps of everybody who comes to a journal: being alone, finishing what is
decided, aborting what is not."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators, named
from pyspark_pulsar.errors import DeadlineExceeded, WriterFenced
from pyspark_pulsar.position import Position
from pyspark_pulsar.write.exactly_once.journal import Decider, Journal
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.outcome import RowsLost
from pyspark_pulsar.write.exactly_once.ownership import Superseded
from pyspark_pulsar.write.exactly_once.state import NO_EPOCH, Begun, JournalState, Prepared, Writer

_TRIES: Final = 6
_PAUSE_SECONDS: Final = 0.2

T = TypeVar("T")


@dataclass(frozen=True)
class Sink:
    """What the steps below are done with."""

    client: BrokerClient
    journal: Journal
    coordinators: Coordinators

    @classmethod
    def open(cls, client: BrokerClient, prefix: str) -> Sink:
        return cls(client, Journal(client, prefix), Coordinators(client))

    @classmethod
    def open_of(
        cls, client: BrokerClient, name: JournalName, writer: Writer
    ) -> tuple[Sink, JournalState | None]:
        """With the journal of `writer`, and what that says; of a query that an earlier version of this package began,
        with the one that was named after its checkpoint."""
        sink = cls.open(client, name.of(writer.owner))
        state = sink.journal.state()
        if state is None and name.by_checkpoint is not None:
            earlier = Journal.there(client, name.by_checkpoint)
            found = None if earlier is None else earlier.state()
            if earlier is not None and found is not None and found.writer.owner == writer.owner:
                return cls(client, earlier, sink.coordinators), found
        return sink, state


def alone(sink: Sink, attempt: Callable[[Decider], T], look: Callable[[], T | None] = lambda: None) -> T:
    """Call `attempt` as the only one who decides. It looks at the journal's state before it acts, so it may be called
    again. `look` comes before each try: when it gives something, nobody needs to be thrown out."""
    for number in range(_TRIES):
        found = look()
        if found is not None:
            return found
        try:
            with sink.journal.alone() as decider:
                return attempt(decider)
        except Superseded:
            raise
        except WriterFenced:
            if number == _TRIES - 1:
                raise
            # All tasks of a run begin at once.
            time.sleep(random.uniform(0.5, 1.5) * _PAUSE_SECONDS * 2**number)  # noqa: S311 -- spreads them
    raise AssertionError


def finish(sink: Sink, decider: Decider, state: JournalState) -> JournalState:
    """Commit what is decided, unless that is known to be done. Raises `RowsLost`, and what asking the broker raises."""
    if state.done or state.epoch == NO_EPOCH:
        return state
    ended = sink.coordinators.commit_all(state.decided)
    if ended:
        _require_markers(sink, state, [each for each in state.transactions if each.transaction in ended])
    done = replace(state, done=True, ended=sink.journal.ended_end())
    decider.decide(done)
    return done


def _require_markers(sink: Sink, state: JournalState, unknown: Sequence[Prepared]) -> None:
    """Raises `RowsLost` unless the marker of each is visible, `DeadlineExceeded` when that cannot be seen."""
    deadline = time.monotonic() + sink.client.request_seconds
    while True:
        settled = sink.journal.fence_markers(state.ended)
        visible = sink.journal.markers_since(state.ended)
        missing = [each for each in unknown if each.transaction not in visible]
        if not missing:
            return
        if settled:
            raise RowsLost(_lost(sink, state, missing))
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"epoch {state.epoch}: expected to see within {sink.client.request_seconds:.0f} s whether its "
                f"transactions were committed, but a transaction is open in {sink.journal.marker_partition}; the epoch "
                f"is decided, and the next start of the query finishes it"
            )
        abort_begun(sink, state)
        time.sleep(_PAUSE_SECONDS)


def _lost(sink: Sink, state: JournalState, missing: Sequence[Prepared]) -> str:
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


def abort_begun(sink: Sink, state: JournalState, stray: Callable[[Begun], bool] = lambda _: True) -> Position:
    """Abort the strays among what is begun and not decided; returns the position up to which that was looked at."""
    begun, position = sink.journal.begun_since(state.begun)
    decided = set(state.decided)
    sink.coordinators.abort_all(
        [each.transaction for each in begun if each.transaction not in decided and stray(each)]
    )
    return position
