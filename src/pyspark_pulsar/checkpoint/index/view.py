"""The state of an index that the thread in `follower` shares with the callers of `log`."""

from __future__ import annotations

from pyspark_pulsar.checkpoint.index.records import Record
from pyspark_pulsar.checkpoint.index.replay import RecordsMissed, Replay
from pyspark_pulsar.checkpoint.index.tree import Outcome
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.errors import ConnectionFailed, PulsarError
from pyspark_pulsar.runtime import Future, threading


class IndexView:
    """The state of an index log, and the calls that wait for a change of this state.

    A thread acquires the condition `changed` to read or change an attribute, and notifies `changed` after each change.
    `failure` and `closed` are set once and may be read without the lock.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.changed = threading.Condition()
        self.replay = Replay(topic)
        self.consumer: EntryConsumer | None = None
        """The consumer from which the thread reads records; None while a state is searched."""
        self.is_empty = False
        """True if the topic has no record."""
        self.failure: PulsarError | None = None
        """The error after which no more records are applied; None while records are applied."""
        self.fault: ConnectionFailed | None = None
        """The error of the last lost connection; None after the connection is restored."""
        self.closed = False
        self.waiting: dict[str, Future[Outcome]] = {}
        """The futures of outcomes for which callers wait, by the id of the record."""

    def raise_failure(self) -> None:
        """Raise `failure` if it is set."""
        if self.failure is not None:
            raise self.failure

    def take(self, position: MessagePosition, record: Record) -> None:
        """Apply the next record of the log.

        Raises the errors of `Replay.take`. Each error except `RecordsMissed` is stored in `failure`.
        """
        try:
            outcome = self.replay.take(position, record)
        except RecordsMissed:
            raise
        except PulsarError as fault:
            self.fail(fault)
            raise
        waiting = self.waiting.get(record.id)
        if waiting is not None and outcome is not None and not waiting.done():
            waiting.set_result(outcome)
        self.changed.notify_all()

    def fail(self, fault: PulsarError) -> None:
        """Set `failure`, unless it is set already. The caller holds `changed`."""
        self.failure = self.failure or fault
        self.changed.notify_all()

    def begin(self, replay: Replay, consumer: EntryConsumer) -> None:
        """Set the replay, and the consumer of the following records. Acquires `changed`."""
        with self.changed:
            self.replay, self.consumer, self.is_empty, self.fault = replay, consumer, False, None
            self.changed.notify_all()

    def forget_state(self) -> None:
        """Drop the state, because records after the last applied record were removed. Acquires `changed`.

        Calls that wait for an outcome fail with `ConnectionFailed`, because the outcome stays unknown.
        """
        with self.changed:
            self.replay, self.consumer, self.is_empty = Replay(self.topic), None, False
            waiting, self.waiting = self.waiting, {}
            self.changed.notify_all()
        for outcome in waiting.values():
            if not outcome.done():
                outcome.set_exception(
                    ConnectionFailed(
                        f"{self.topic}: the outcome of a record is unknown, because its index was read too slowly, or "
                        f"not at all for a while"
                    )
                )
