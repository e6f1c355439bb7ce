"""What is known of an index, shared by the thread that applies its records (`follower`) and those that ask (`log`)."""

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
    """Whoever reads or changes an attribute holds `changed`, which is notified of each change. `failure` and `closed`
    are set once and may be read without it."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.changed = threading.Condition()
        self.replay = Replay(topic)
        self.consumer: EntryConsumer | None = None
        """That the thread reads from; None before the first, and where a state is to be found anew."""
        self.is_empty = False
        """Whether the topic has no record."""
        self.failure: PulsarError | None = None
        """Why nothing is applied any more."""
        self.fault: ConnectionFailed | None = None
        """The last that may pass."""
        self.closed = False
        self.waiting: dict[str, Future[Outcome]] = {}
        """By the id of a record: for what becomes of it."""

    def raise_failure(self) -> None:
        if self.failure is not None:
            raise self.failure

    def take(self, position: MessagePosition, record: Record) -> None:
        """Applies the next record of the log. Raises what `Replay.take` raises, which is then the failure, but for
        `RecordsMissed`."""
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
        self.failure = self.failure or fault
        self.changed.notify_all()

    def begin(self, replay: Replay, consumer: EntryConsumer) -> None:
        """A state is known, and `consumer` gives what follows. Takes `changed`."""
        with self.changed:
            self.replay, self.consumer, self.is_empty, self.fault = replay, consumer, False, None
            self.changed.notify_all()

    def forget_state(self) -> None:
        """What follows the record that was applied last is not there any more: a state is to be found anew. Whoever
        waits for an outcome gets `ConnectionFailed`, since it is never learnt. Takes `changed`."""
        with self.changed:
            self.replay, self.consumer, self.is_empty = Replay(self.topic), None, False
            waiting, self.waiting = self.waiting, {}
            self.changed.notify_all()
        for outcome in waiting.values():
            if not outcome.done():
                outcome.set_exception(
                    ConnectionFailed(
                        f"{self.topic}: read too slowly, or not at all for a while, so that what became of a record is "
                        f"not known"
                    )
                )
