"""The journal: the three topics of the protocol (see the package), and deciding as compare and append.

The process that makes the decision opens the topic `-decided` as the topic's only producer. This fences all
other producers (Pulsar's producer access mode ExclusiveWithFencing). Then the process appends a fence, and
reads up to the fence. All records before the fence are final, because no other process can append after the
fence. So the state that was read is still the last state when the next state is appended, or the append
fails. If the fence is not among the records that were read, the records are incomplete. Then the broker has
just loaded the topic, or another process has fenced this process and removed records.

A fence contains the position of the last state before it. So the state is found from the end of the topic, for any
number of later fences.
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

# The id after the id of the producer that settles topics. Tasks number their producers from 1.
_FIRST_PRODUCER_ID: Final = PROBE_ID + 1
_PAUSE_SECONDS: Final = 0.2


class Journal:
    """The three topics, accessed through one client. Used by one thread."""

    def __init__(self, client: BrokerClient, prefix: str) -> None:
        """Open the topics. Create missing ones according to the broker's policy."""
        self.prefix = prefix
        self._request_seconds = client.request_seconds
        topics = journal_topics(prefix)
        self._begun, self._decided, self._ended = JournalTopic.open(client, topics, _FIRST_PRODUCER_ID)

    @classmethod
    def find(cls, client: BrokerClient, prefix: str) -> Self | None:
        """Return an existing journal, or None. It creates nothing."""
        decided = journal_topics(prefix)[1]
        return None if client.present_partitions([decided])[decided] is None else cls(client, prefix)

    def prepare(self) -> None:
        """Make the topics retain their messages. The driver calls it before any task."""
        for records in (self._begun, self._ended):
            records.writer().close()

    def state(self) -> JournalState | None:
        """Return the last decided state; None before the first. Another driver may decide at any time."""
        _, state = self._last_state()
        return state

    @property
    def marker_partition(self) -> str:
        """The partition to add to each transaction."""
        return self._ended.name

    def write_begun(self, begun: BegunTransaction) -> None:
        self._begun.append(begun_record(begun))

    def write_marker(self, transaction: TransactionId) -> None:
        """Append the marker in the transaction. `marker_partition` must have been added to the transaction."""
        self._ended.append({"transaction": list(transaction)}, transaction)

    def begun_since(self, start: Position) -> tuple[list[BegunTransaction], Position]:
        """Return the transactions begun from `start` on, and the position after them."""
        records = self._begun.since(start)
        begun = [begun_of(record.content, self._begun.name) for record in records]
        if not records:
            return begun, start
        last = records[-1].position
        return begun, Position(last.ledger, last.entry + 1)

    def markers_since(self, start: Position) -> set[TransactionId]:
        """Return the transactions whose markers are visible from `start` on. Fences are left out."""
        contents = (record.content for record in self._ended.since(start))
        return {transaction_of(content["transaction"]) for content in contents if "transaction" in content}

    def ended_end(self) -> Position:
        """Return the position after the last visible marker."""
        return self._ended.end()

    def forget_before(self, state: JournalState) -> None:
        """Delete records that no process needs that begins at `state`, the last state. It makes one attempt."""
        start, _ = self._last_state()
        self._decided.forget_before(start)
        self._begun.forget_before(state.begun)
        self._ended.forget_before(state.ended)

    def fence_markers(self, start: Position) -> bool:
        """Return whether all earlier records of the markers' topic are settled. It appends a record.

        Records after the first one of an open transaction stay invisible.
        """
        nonce = uuid.uuid4().hex
        self._ended.append({"fence": nonce})
        return any(record.content.get("fence") == nonce for record in self._ended.since(start))

    @contextmanager
    def exclusive(self) -> Iterator[Decider]:
        """Become the only process that decides, and fence the previous one."""
        writer = self._decided.writer(exclusive=True)
        try:
            before, _ = self._last_state()
            yield Decider(writer, before, self._fenced_state(writer, before))
        finally:
            writer.close()

    def _fenced_state(self, writer: JournalTopicWriter, before: Position) -> JournalState | None:
        """Return the last state, which only `writer` can change. Raise `WriterFenced` or `DeadlineExceeded`."""
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
                    f"got {len(contents)} other records. The broker does not show the whole topic; unload it, or read "
                    f"the broker's log"
                )
            time.sleep(_PAUSE_SECONDS)

    def _last_state(self) -> tuple[Position, JournalState | None]:
        """Return the position from which `-decided` must be read to find the last state, and that state."""
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
    """The only writer of `-decided`, until another one fences it."""

    def __init__(self, writer: JournalTopicWriter, before: Position, state: JournalState | None) -> None:
        """Store the arguments. Reading `-decided` from `before` on finds `state`, or a later one."""
        self._writer = writer
        self._before = before
        self.state = state

    def require_alone(self) -> None:
        """Prove that no other writer has opened the journal until now. Raise `WriterFenced` if one has."""
        self._writer.append(_fence(self._before))

    def decide(self, state: JournalState) -> None:
        """Append the state and wait for its receipt.

        Raises:
            WriterFenced, SendError, DeadlineExceeded: The receipt is missing, so the state may be stored or not. This
                includes `WriterFenced`. The append may have been stored before its connection was lost, and then the
                producer's next connection was refused.

        """
        self._writer.append(state_record(state))
        self.state = state


def _fence(before: Position) -> dict[str, Any]:
    return {"version": VERSION, "fence": uuid.uuid4().hex, "state_at": str(before)}


def journal_topics(prefix: str) -> list[TopicName]:
    """Return the topics of a journal: `-begun`, `-decided` and `-ended`."""
    return [TopicName.parse(f"{prefix}-{name}") for name in ("begun", "decided", "ended")]
