"""Appending to a topic from many threads, and learning where each message lies.

    state    | is                                   | ends with                             | and then is
    closed   | no producer                          | `send`                                | open
    open     | messages go out, receipts come       | the connection is lost                | open: sent again
             |                                      | the producer fails, or its time is up | closed; what waits fails

Whoever sends does so on its own thread, under the lock. Receipts come on the connection's thread. Whoever waits for one
looks now and then whether the connection is lost, and then sends again, for all. A message may be stored twice; the
position is that of the one whose receipt came.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Final

import pyarrow as pa

from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.server_error import ProducerBusy
from pyspark_pulsar.client.broker.producer import Producer
from pyspark_pulsar.client.retries import retry
from pyspark_pulsar.codec.encode import BatchEncoder, Producing
from pyspark_pulsar.errors import ConnectionFailed, PulsarError
from pyspark_pulsar.schema.write.write_schema import WriteSchema, resolve_write_schema

KEEPER: Final = "pyspark-pulsar-checkpoint"
"""The durable subscription for which a topic keeps what lies behind it."""

_LOOK_SECONDS: Final = 0.2
_PRODUCER_ID: Final = 1
_BUSY_SECONDS: Final = 10.0


class LogWriter:
    """Of one topic partition. Close it."""

    def __init__(self, client: BrokerClient, topic: str, timeout_seconds: float) -> None:
        """Connects lazily. `client`: of this writer alone, which closes it."""
        self.topic = topic
        self._client = client
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._open: _OpenWriter | None = None

    def send(self, payload: bytes, deadline: Deadline) -> Future[MessagePosition | None]:
        """Its position when it is stored; None where the broker keeps that to itself, as it has deduplicated a message
        that was sent again. Raises what opening a producer raises, `SendError`, `DeadlineExceeded`."""
        self._acquire(deadline)
        try:
            opened = self._opened()
            try:
                return opened.send(payload)
            except PulsarError as fault:
                self._give_up(fault)
                raise
        finally:
            self._lock.release()

    def wait(self, answer: Future[MessagePosition | None], deadline: Deadline) -> MessagePosition | None:
        """Raises `SendError`, `DeadlineExceeded`."""
        while True:
            left = deadline.left(f"appending to {self.topic}")
            try:
                return answer.result(timeout=min(left, _LOOK_SECONDS))
            except TimeoutError:
                self._keep_going(deadline)

    def open(self, deadline: Deadline) -> None:
        """Before the first message, so that the topic keeps what follows. Raises what opening a producer raises."""
        self._acquire(deadline)
        try:
            self._opened()
        finally:
            self._lock.release()

    def was_exclusive(self) -> bool:
        """Whether the topic ever had an exclusive producer. Opens one that is not. Raises what that raises."""
        with self._lock:
            # What an open one was told may be over.
            self._give_up(ConnectionFailed(f"{self.topic}: the producer is opened anew"))
            return self._opened().producer.topic_epoch is not None

    @property
    def max_message_bytes(self) -> int:
        """The broker's limit, once a message was sent."""
        opened = self._open
        return opened.producer.max_message_bytes if opened else 0

    def close(self) -> None:
        with self._lock:
            self._give_up(ConnectionFailed(f"{self.topic}: the writer was closed"))
        self._client.close()

    def _acquire(self, deadline: Deadline) -> None:
        doing = f"appending to {self.topic}"
        if not self._lock.acquire(timeout=deadline.left(doing)):
            deadline.left(doing)

    def _opened(self) -> _OpenWriter:
        if self._open is None:
            self._open = _OpenWriter(self._client, self.topic, self._timeout_seconds)
        return self._open

    def _keep_going(self, deadline: Deadline) -> None:
        self._acquire(deadline)
        try:
            if self._open is not None:
                self._open.producer.keep_going()
        except PulsarError as fault:
            self._give_up(fault)
        finally:
            self._lock.release()

    def _give_up(self, fault: PulsarError) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close(fault)


class _OpenWriter:
    """An open producer and what waits for its receipts. Used under the writer's lock, but for receipts."""

    def __init__(self, client: BrokerClient, topic: str, timeout_seconds: float) -> None:
        self._waiting: dict[int, Future[MessagePosition | None]] = {}
        self._next_id = 0
        self.producer = open_producer(client, topic, timeout_seconds, self)
        self._encoder = encoder_of(self.producer)
        self._schema = _schema(topic).input_schema

    def send(self, payload: bytes) -> Future[MessagePosition | None]:
        answer: Future[MessagePosition | None] = Future()
        batch = pa.RecordBatch.from_arrays([pa.array([payload], pa.binary())], schema=self._schema)
        for frames in self._encoder.encode(batch, time.time_ns() // 1_000_000):
            self._waiting[frames.last_sequence_id] = answer
            self.producer.send(frames)
        return answer

    def stored(self, sequence_id: int, position: MessagePosition | None) -> None:
        """On the connection's thread."""
        answer = self._waiting.pop(sequence_id, None)
        if answer is not None and not answer.done():
            answer.set_result(position)

    def close(self, fault: PulsarError) -> None:
        self.producer.close()
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(fault)


def open_producer(
    client: BrokerClient,
    topic: str,
    timeout_seconds: float,
    listener: _OpenWriter | None = None,
    *,
    exclusive: bool = False,
) -> Producer:
    producer = Producer(
        client,
        topic,
        _PRODUCER_ID,
        None,
        timeout_seconds,
        exclusive=exclusive,
        keep_for=KEEPER,
        on_stored=listener.stored if listener else None,
    )
    # An exclusive producer may be writing the first record.
    retry(producer.open, ProducerBusy, lambda _: _BUSY_SECONDS)
    return producer


def encoder_of(producer: Producer) -> BatchEncoder:
    """An entry for each message."""
    encoder = BatchEncoder(
        _schema(producer.topic), topic=producer.topic, partitions=1, producing=Producing(batching="none")
    )
    encoder.set_producer(
        0,
        producer_id=producer.producer_id,
        producer_name=producer.name,
        next_sequence_id=0,
        schema_version=producer.schema_version,
    )
    return encoder


def send_alone(producer: Producer, payload: bytes) -> None:
    """The first message of a producer that nobody else uses; returns when it is stored."""
    schema = _schema(producer.topic).input_schema
    batch = pa.RecordBatch.from_arrays([pa.array([payload], pa.binary())], schema=schema)
    for frames in encoder_of(producer).encode(batch, time.time_ns() // 1_000_000):
        producer.send(frames)
    producer.await_below(0)


def _schema(topic: str) -> WriteSchema:
    return resolve_write_schema(pa.schema([pa.field("value", pa.binary())]), None, topic=topic)
