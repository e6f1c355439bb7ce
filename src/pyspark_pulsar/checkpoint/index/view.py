"""The known state of an index, shared by the thread that applies records (`follower`) and its callers (`log`)."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from pyspark_pulsar.checkpoint.index.records import Record
from pyspark_pulsar.checkpoint.index.replay import RecordsMissed, Replay
from pyspark_pulsar.checkpoint.index.tree import Outcome
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.errors import ConnectionFailed, PulsarError


class IndexView:
    """The state of an index log, and the calls that wait for it.

    A thread that reads or changes an attribute holds `changed`, and notifies it of each change. `failure` and `closed`
    are set once and may be read without the lock.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.changed = threading.Condition()
        self.replay = Replay(topic)
        self.consumer: EntryConsumer | None = None
        """The consumer that the thread reads from; None before the first one, and during a search for a state."""
        self.is_empty = False
        """True if the topic has no record."""
        self.failure: PulsarError | None = None
        """Why no record is applied any more; None while records are applied."""
        self.fault: ConnectionFailed | None = None
        """The last temporary failure."""
        self.closed = False
        self.waiting: dict[str, Future[Outcome]] = {}
        """Futures of the outcomes of records, by the records' ids."""

    def raise_failure(self) -> None:
        """Raise the failure, if there is one."""
        if self.failure is not None:
            raise self.failure

    def take(self, position: MessagePosition, record: Record) -> None:
        """Apply the next record of the log.

        Raises what `Replay.take` raises. Each error except `RecordsMissed` becomes the failure.
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
        """Set the failure, unless there is one. The caller holds `changed`."""
        self.failure = self.failure or fault
        self.changed.notify_all()

    def begin(self, replay: Replay, consumer: EntryConsumer) -> None:
        """Set a state, and the consumer of the following records. Acquires `changed`."""
        with self.changed:
            self.replay, self.consumer, self.is_empty, self.fault = replay, consumer, False, None
            self.changed.notify_all()

    def forget_state(self) -> None:
        """Drop the state, because the records after the last applied one were removed. Acquires `changed`.

        Calls that wait for an outcome fail with `ConnectionFailed`, because their outcome stays unknown.
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
