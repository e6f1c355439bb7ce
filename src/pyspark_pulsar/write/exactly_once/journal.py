"""The journal: the three topics of the protocol (see the package's head), and deciding as compare and append.

Whoever wants to decide opens `-decided` as its only producer, which throws all others out (Pulsar's producer access
mode ExclusiveWithFencing), appends a fence, and reads up to it. What lies before the fence is final: nobody else can
append behind it. So the state that was read is still the last one when the next is appended, or appending fails.
A fence that is not among the records that were read says that they are not all: the broker has just loaded the topic,
or another one has come and removed them.

A fence names the position of the last state before it, so the state is found from the end of the topic, however many
fences lie behind it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.producer import PROBE_ID
from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.write.exactly_once.journal_topic import JournalTopic, JournalTopicWriter
from pyspark_pulsar.write.exactly_once.state import (
    VERSION,
    BegunTransaction,
    JournalState,
    begun_of,
    begun_record,
    state_of,
    state_record,
    transaction_of,
)

# Behind that of the producer that settles topics; tasks number theirs from 1.
_FIRST_PRODUCER_ID: Final = PROBE_ID + 1
_PAUSE_SECONDS: Final = 0.2


class Journal:
    """The three topics, by one client; used by one thread."""

    def __init__(self, client: BrokerClient, prefix: str) -> None:
        """Creates what is missing, as the broker's policy says."""
        self.prefix = prefix
        self._request_seconds = client.request_seconds
        topics = journal_topics(prefix)
        self._begun, self._decided, self._ended = JournalTopic.open(client, topics, _FIRST_PRODUCER_ID)

    @classmethod
    def there(cls, client: BrokerClient, prefix: str) -> Self | None:
        """One that was begun before; creates nothing."""
        decided = journal_topics(prefix)[1]
        return None if client.present_partitions([decided])[decided] is None else cls(client, prefix)

    def prepare(self) -> None:
        """Make the topics keep what is written to them. Driver, before any task."""
        for records in (self._begun, self._ended):
            records.writer().close()

    def state(self) -> JournalState | None:
        """What the last driver decided; None before the first. Another one may decide anew at any time."""
        _, state = self._last_state()
        return state

    @property
    def marker_partition(self) -> str:
        """To be added to each transaction."""
        return self._ended.name

    def write_begun(self, begun: BegunTransaction) -> None:
        self._begun.append(begun_record(begun))

    def write_marker(self, transaction: TransactionId) -> None:
        """Append the marker in the transaction, to whose partitions `marker_partition` was added."""
        self._ended.append({"transaction": list(transaction)}, transaction)

    def begun_since(self, start: Position) -> tuple[list[BegunTransaction], Position]:
        """The transactions begun from `start` on, and the position behind them."""
        records = self._begun.since(start)
        begun = [begun_of(record.content, self._begun.name) for record in records]
        if not records:
            return begun, start
        last = records[-1].position
        return begun, Position(last.ledger, last.entry + 1)

    def markers_since(self, start: Position) -> set[TransactionId]:
        """The transactions whose markers are visible, and fences beside them."""
        contents = (record.content for record in self._ended.since(start))
        return {transaction_of(content["transaction"]) for content in contents if "transaction" in content}

    def ended_end(self) -> Position:
        """Behind the last visible marker."""
        return self._ended.end()

    def forget_before(self, state: JournalState) -> None:
        """Let go of what nobody needs who begins at the last state, which is `state`. One attempt."""
        start, _ = self._last_state()
        self._decided.forget_before(start)
        self._begun.forget_before(state.begun)
        self._ended.forget_before(state.ended)

    def fence_markers(self, start: Position) -> bool:
        """Whether all that was written to the markers' topic until now is settled: what follows an open
        transaction stays invisible. Leaves a record behind."""
        nonce = uuid.uuid4().hex
        self._ended.append({"fence": nonce})
        return any(record.content.get("fence") == nonce for record in self._ended.since(start))

    @contextmanager
    def exclusive(self) -> Iterator[Decider]:
        """Be the only one who decides; whoever was is fenced."""
        writer = self._decided.writer(exclusive=True)
        try:
            before, _ = self._last_state()
            yield Decider(writer, before, self._fenced_state(writer, before))
        finally:
            writer.close()

    def _fenced_state(self, writer: JournalTopicWriter, before: Position) -> JournalState | None:
        """The last state, which only `writer` can change. Raises `WriterFenced`, `DeadlineExceeded`."""
        fence = _fence(before)
        deadline = time.monotonic() + self._request_seconds
        while True:
            writer.append(fence)
            contents = [record.content for record in self._decided.since(before)]
            if any(content.get("fence") == fence["fence"] for content in contents):
                return self._last_of(contents)
            if time.monotonic() > deadline:
                raise DeadlineExceeded(
                    f"{self._decided.name}: expected to read the fence that was appended to it within "
                    f"{self._request_seconds:.0f} s, got {len(contents)} other records; the broker does not show the "
                    f"whole topic: unload it, or look into the broker's log"
                )
            time.sleep(_PAUSE_SECONDS)

    def _last_state(self) -> tuple[Position, JournalState | None]:
        """Where to begin to read `-decided` to come to the last state, and that state."""
        last = self._decided.last()
        if last is None:
            return EARLIEST, None
        if "fence" not in last.content:
            return last.position, state_of(last.content, self._decided.name)
        start = Position.parse(last.content["state_at"])
        return start, self._last_of([record.content for record in self._decided.since(start)])

    def _last_of(self, contents: Sequence[dict[str, Any]]) -> JournalState | None:
        states = [content for content in contents if "fence" not in content]
        return state_of(states[-1], self._decided.name) if states else None


class Decider:
    """Alone on `decided`, until another one comes."""

    def __init__(self, writer: JournalTopicWriter, before: Position, state: JournalState | None) -> None:
        """`before`: where to begin to read to come to `state`, or a later one."""
        self._writer = writer
        self._before = before
        self.state = state

    def require_alone(self) -> None:
        """Prove that no other writer opened the journal before now. Raises `WriterFenced` when one did."""
        self._writer.append(_fence(self._before))

    def decide(self, state: JournalState) -> None:
        """Append the state and wait for its receipt.

        Raises:
            WriterFenced, SendError, DeadlineExceeded: The receipt is missing, so the state may be stored or not. This
                includes `WriterFenced`: the append may have been stored before its connection was lost, and the next
                connection of this producer was refused.

        """
        self._writer.append(state_record(state))
        self.state = state


def _fence(before: Position) -> dict[str, Any]:
    return {"version": VERSION, "fence": uuid.uuid4().hex, "state_at": str(before)}


def journal_topics(prefix: str) -> list[TopicName]:
    """Return the topics of a journal: `-begun`, `-decided` and `-ended`."""
    return [TopicName.parse(f"{prefix}-{name}") for name in ("begun", "decided", "ended")]
