"""The journal: the three topics of the protocol (see the package), and decisions by compare-and-append.

The process that makes the decision opens an exclusive producer on the topic `-decided`. The new producer fences all
other producers (Pulsar's producer access mode `ExclusiveWithFencing`). Then the process appends a fence record, and
reads the topic up to this record. Another process that appends later must first fence this process, and the next append
of this process then fails. So if the append of the next state succeeds, the state that was read was still the last
state. If the fence record is not among the records that were read, the records are incomplete. The cause is that the
broker has just loaded the topic, or that another process has fenced this process and removed records.

A fence record contains the position of the last state before the fence. So a reader finds the last state from the last
record of the topic, even if many fences follow the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.producer import PROBE_ID
from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.runtime import time, uuid
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

# The next id after the producer that settles topics. Tasks number their producers from 1.
_FIRST_PRODUCER_ID: Final = PROBE_ID + 1
_PAUSE_SECONDS: Final = 0.2


class Journal:
    """The three topics of a journal, accessed through one client. Only one thread may use an instance."""

    def __init__(self, client: BrokerClient, prefix: str) -> None:
        """Open the topics. Create missing topics according to the broker's auto-creation policy."""
        self.prefix = prefix
        self._request_seconds = client.request_seconds
        topics = journal_topics(prefix)
        self._begun, self._decided, self._ended = JournalTopic.open(client, topics, _FIRST_PRODUCER_ID)

    @classmethod
    def find(cls, client: BrokerClient, prefix: str) -> Self | None:
        """Return the journal, or None if it does not exist. The call creates no topics."""
        decided = journal_topics(prefix)[1]
        return None if client.present_partitions([decided])[decided] is None else cls(client, prefix)

    def prepare(self) -> None:
        """Make the topics retain their messages. The driver calls this method before any task begins."""
        for records in (self._begun, self._ended):
            records.writer().close()

    def state(self) -> JournalState | None:
        """Return the last state; None if the journal has no state. Another driver may append a state at any time."""
        _, state = self._last_state()
        return state

    @property
    def marker_partition(self) -> str:
        """The partition for markers, which every transaction of the journal must contain."""
        return self._ended.name

    def write_begun(self, begun: BegunTransaction) -> None:
        self._begun.append(begun_record(begun))

    def write_marker(self, transaction: TransactionId) -> None:
        """Append the marker in the transaction. `marker_partition` must have been added to the transaction."""
        self._ended.append({"transaction": list(transaction)}, transaction)

    def begun_since(self, start: Position) -> tuple[list[BegunTransaction], Position]:
        """Return the transactions that `-begun` contains from `start` on, and the position after the last record."""
        records = self._begun.since(start)
        begun = [begun_of(record.content, self._begun.name) for record in records]
        if not records:
            return begun, start
        last = records[-1].position
        return begun, Position(last.ledger, last.entry + 1)

    def markers_since(self, start: Position) -> set[TransactionId]:
        """Return the transactions whose markers are visible from `start` on."""
        contents = (record.content for record in self._ended.since(start))
        return {transaction_of(content["transaction"]) for content in contents if "transaction" in content}

    def ended_end(self) -> Position:
        """Return the position after the last visible marker."""
        return self._ended.end()

    def forget_before(self, state: JournalState) -> None:
        """Delete the records that no process needs after `state`, which is the last state. Do not retry."""
        start, _ = self._last_state()
        self._decided.forget_before(start)
        self._begun.forget_before(state.begun)
        self._ended.forget_before(state.ended)

    def fence_markers(self, start: Position) -> bool:
        """Append a fence to `-ended`, and return whether the fence is visible.

        If the fence is visible, no earlier record belongs to an open transaction. The reason is that all records after
        the first message of an open transaction are invisible.
        """
        nonce = uuid.uuid4().hex
        self._ended.append({"fence": nonce})
        return any(record.content.get("fence") == nonce for record in self._ended.since(start))

    @contextmanager
    def exclusive(self) -> Iterator[Decider]:
        """Become the only process that can append states, and fence the previous process."""
        writer = self._decided.writer(exclusive=True)
        try:
            before, _ = self._last_state()
            yield Decider(writer, before, self._fenced_state(writer, before))
        finally:
            writer.close()

    def _fenced_state(self, writer: JournalTopicWriter, before: Position) -> JournalState | None:
        """Return the last state, which only `writer` can replace. Raises `WriterFenced`, `DeadlineExceeded`."""
        fence = _fence(before)
        deadline = time.monotonic() + self._request_seconds
        while True:
            writer.append(fence)
            contents = [record.content for record in self._decided.since(before)]
            if any(content.get("fence") == fence["fence"] for content in contents):
                return self._last_of(contents)
            if time.monotonic() > deadline:
                raise DeadlineExceeded(
                    f"{self._decided.name}: expected to read the appended fence within {self._request_seconds:.0f} s, "
                    f"got {len(contents)} other records. The broker does not show the whole topic; unload the "
                    f"topic, or read the broker's log"
                )
            time.sleep(_PAUSE_SECONDS)

    def _last_state(self) -> tuple[Position, JournalState | None]:
        """Return a tuple: the position from which a reader of `-decided` finds the last state, and the last state."""
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
    """The only writer of `-decided`, until another writer fences this writer."""

    def __init__(self, writer: JournalTopicWriter, before: Position, state: JournalState | None) -> None:
        """Store the arguments. A reader of `-decided` that begins at `before` finds `state` or a later state."""
        self._writer = writer
        self._before = before
        self.state = state

    def require_alone(self) -> None:
        """Check that no other writer has opened the journal after this writer. Otherwise, raise `WriterFenced`."""
        self._writer.append(_fence(self._before))

    def decide(self, state: JournalState) -> None:
        """Append the state and wait for its receipt.

        Raises:
            WriterFenced, SendError, DeadlineExceeded: The receipt is missing, so the state may or may not be stored.
                For `WriterFenced`, the broker may have stored the state before the connection was lost, and then
                refused the producer's next connection.

        """
        self._writer.append(state_record(state))
        self.state = state


def _fence(before: Position) -> dict[str, Any]:
    return {"version": VERSION, "fence": uuid.uuid4().hex, "state_at": str(before)}


def journal_topics(prefix: str) -> list[TopicName]:
    """Return the topics of a journal: `-begun`, `-decided` and `-ended`."""
    return [TopicName.parse(f"{prefix}-{name}") for name in ("begun", "decided", "ended")]
