"""A trigger of a stream, which decides where the next micro-batch ends. Driver only.

    step      result                                             module
    ends      the topic partitions that exist, and their ends    microbatch.topic_ends
    goal      the offset that the query may read up to           microbatch.goal
    limits    the offset that its next micro-batch reads up to   microbatch.admission.limits
    notes     further content of the offset: drained segments,   microbatch.ends.passed_ledgers
              passed ledgers, and the end of the query

Each step reads the last offset of the query and the results of the previous steps, and changes none of them. A trigger
neither moves the subscription nor plans splits. The caller of the trigger does both, with the `MicroBatch` that the
trigger returns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.microbatch.admission.limits import MicroBatches
from pyspark_pulsar.read.microbatch.admission.segment_order import drained_by
from pyspark_pulsar.read.microbatch.ends.passed_ledgers import PassedLedgers
from pyspark_pulsar.read.microbatch.ends.stream_end import StreamEnd
from pyspark_pulsar.read.microbatch.goal import StreamGoal
from pyspark_pulsar.read.microbatch.idle_pause import IdlePause
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.topic_ends import PresentEnds, TopicEnds


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The next micro-batch of a query, and the facts that were known when its end was chosen."""

    end: StreamOffset
    is_empty: bool
    """True if too few or no messages are available, so that the query stays at its last offset."""
    committed: Positions
    """The start of the micro-batch. Spark has committed all messages before these positions."""
    goal: Positions
    """The positions at which the query's lag ends."""
    counted_from: Positions
    """The positions at which the query's lag begins."""
    present_ends: Positions
    """The ends of all topic partitions: now, or at the begin of Trigger.AvailableNow."""


class Trigger:
    """The decision where each micro-batch of one query ends. Used by one thread."""

    def __init__(
        self,
        run: str,
        topic_ends: TopicEnds,
        goal: StreamGoal,
        end: StreamEnd,
        micro_batches: MicroBatches,
        passed_ledgers: PassedLedgers,
    ) -> None:
        """Store the parts of one query, which closes them itself. `run` is the id of this start of the query."""
        self._run = run
        self._topic_ends = topic_ends
        self._goal = goal
        self._end = end
        self._micro_batches = micro_batches
        self._passed_ledgers = passed_ledgers
        self._idle_pause = IdlePause()
        self._frozen: PresentEnds | None = None

    def note_micro_batch(self) -> None:
        """Record that Spark plans a micro-batch, maybe for another source. The query is then not idle."""
        self._idle_pause.note_news()

    def freeze(self) -> None:
        """Store the present ends, because a query with Trigger.AvailableNow reads no further.

        Raises:
            PulsarError: For the same reasons as `TopicEnds.look_up`.

        """
        self._frozen = self._topic_ends.look_up(StreamOffset(), is_repeated=False)

    def next_micro_batch(self, former: StreamOffset, *, is_limited: bool) -> MicroBatch:
        """Return the micro-batch that follows `former`.

        If no messages have arrived for a long time, the method first waits for up to a second (`idle_pause`).

        Args:
            former: The last offset of the query.
            is_limited: Whether the limits of the options apply.

        Raises:
            PulsarError: For the same reasons as the steps.

        """
        present = self._frozen or self._present_ends(former)
        goal = self._goal.find_goal(former, present)
        reached = self._limited(former, goal) if is_limited else goal
        is_final = self._end.is_reached(reached.positions)
        end = self._with_notes(former, reached, present, is_final=is_final)
        is_empty = end.goes_no_further_than(former)
        if not is_empty:
            self._idle_pause.note_news()
        # Spark has committed the messages before this micro-batch. The subscription keeps the messages of
        # this micro-batch, although they are not planned yet.
        begin = goal.starts_from(former)
        if self._frozen is not None or is_final:
            # The run ends by itself. The last progress report of the run must not count the messages of the last
            # micro-batch.
            return MicroBatch(end, is_empty, begin, goal.positions, reached.positions, present.positions)
        ends = {
            partition: position for partition, position in present.positions.items() if partition in begin
        }
        return MicroBatch(end, is_empty, begin, ends, begin, present.positions)

    def _present_ends(self, former: StreamOffset) -> PresentEnds:
        self._idle_pause.wait_before_request()
        # If a topic partition hides messages now, the query reads them later. Only a query that starts at `latest`
        # would miss the hidden messages.
        is_repeated = former.start is None or former.start == FROM_EARLIEST
        return self._topic_ends.look_up(former, is_repeated=is_repeated)

    def _limited(self, former: StreamOffset, goal: StreamOffset) -> StreamOffset:
        waits = self._frozen is None and former.start is None
        return self._micro_batches.admitted(former, goal, waits=waits)

    def _with_notes(
        self, former: StreamOffset, reached: StreamOffset, present: PresentEnds, *, is_final: bool
    ) -> StreamOffset:
        drained: set[TopicPartition] = set()
        if present.layouts:
            drained = drained_by(present.layouts, reached.positions, present.positions, former.drained)
        passed = self._passed_ledgers.find_passed(
            former, reached, present.positions, is_available_now=self._frozen is not None
        )
        ended = self._run if is_final else reached.ended
        return replace(
            reached, drained=frozenset(drained & reached.positions.keys()), passed=passed, ended=ended
        )
