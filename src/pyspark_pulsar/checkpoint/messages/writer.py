"""Appending messages to a topic from many threads, and returning the position of each stored message.

    state    | meaning                              | ends with                             | next state
    closed   | no producer                          | `send`                                | open
    open     | messages are sent, receipts arrive   | the connection is lost                | open: sent again
             |                                      | the producer fails, or times out      | closed; waiting calls fail

A message is sent on the caller's thread, under the lock. Receipts arrive on the connection's thread. A waiting caller
regularly checks whether the connection is lost. If the connection is lost, this caller sends all unconfirmed messages
of all callers again. So a message may be stored twice. The caller then gets the position of the copy whose receipt
arrived.
"""

from __future__ import annotations

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
from pyspark_pulsar.runtime import Future, threading, time
from pyspark_pulsar.schema.write.write_schema import WriteSchema, resolve_write_schema

KEEPER: Final = "pyspark-pulsar-checkpoint"
"""The name of a durable subscription. The broker keeps all messages after the position of this subscription."""

_CHECK_SECONDS: Final = 0.2
_PRODUCER_ID: Final = 1
_BUSY_SECONDS: Final = 10.0


class LogWriter:
    """A writer to one topic partition. Threads may share a writer. The caller closes the writer."""

    def __init__(self, client: BrokerClient, topic: str, timeout_seconds: float) -> None:
        """Store the client, which only this writer uses and closes. The first message opens the producer."""
        self.topic = topic
        self._client = client
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._open: _OpenWriter | None = None

    def send(self, payload: bytes, deadline: Deadline) -> Future[MessagePosition | None]:
        """Send a message, and return a future of its position.

        A message may be sent twice. If the broker drops the second copy, the broker reports no position, and the result
        of the future is None.

        Raises:
            SendError: The broker refused the message.
            DeadlineExceeded: Another thread did not release the writer's lock in time.
            PulsarError: Opening a producer failed.

        """
        self._acquire(deadline)
        try:
            opened = self._opened()
            try:
                return opened.send(payload)
            except PulsarError as fault:
                self._close_failed(fault)
                raise
        finally:
            self._lock.release()

    def wait(self, answer: Future[MessagePosition | None], deadline: Deadline) -> MessagePosition | None:
        """Wait until a message is stored, and return its position.

        Args:
            answer: The future that `send` returned.
            deadline: The time after which the call fails.

        Raises `SendError`, `DeadlineExceeded`.
        """
        while True:
            left = deadline.seconds_left(f"appending to {self.topic}")
            try:
                return answer.result(timeout=min(left, _CHECK_SECONDS))
            except TimeoutError:
                self._keep_going(deadline)

    def open(self, deadline: Deadline) -> None:
        """Open the producer, which creates the keeper subscription.

        Without this subscription, the broker may remove the first message. Raises the errors of `open_producer`.
        """
        self._acquire(deadline)
        try:
            self._opened()
        finally:
            self._lock.release()

    def was_exclusive(self) -> bool:
        """Return whether the topic ever had an exclusive producer.

        The call opens a producer that is not exclusive. Raises the errors of `open_producer`.
        """
        with self._lock:
            # The broker reports the topic's epoch only when a producer is opened. So the epoch in an open producer may
            # be outdated.
            self._close_failed(ConnectionFailed(f"{self.topic}: the producer is being opened again"))
            return self._opened().producer.topic_epoch is not None

    @property
    def max_message_bytes(self) -> int:
        """The broker's limit for the bytes of a message; 0 while no producer is open."""
        opened = self._open
        return opened.producer.max_message_bytes if opened else 0

    def close(self) -> None:
        """Close the producer and the client. Calls that wait for a receipt fail."""
        with self._lock:
            self._close_failed(ConnectionFailed(f"{self.topic}: the writer was closed"))
        self._client.close()

    def _acquire(self, deadline: Deadline) -> None:
        doing = f"appending to {self.topic}"
        if not self._lock.acquire(timeout=deadline.seconds_left(doing)):
            deadline.seconds_left(doing)

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
            self._close_failed(fault)
        finally:
            self._lock.release()

    def _close_failed(self, fault: PulsarError) -> None:
        """Close the producer, and fail the calls that wait for its receipts."""
        opened, self._open = self._open, None
        if opened is not None:
            opened.close(fault)


class _OpenWriter:
    """An open producer and the messages that wait for receipts.

    Callers hold the writer's lock, except callers of `stored`.
    """

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
        """Set the position of a stored message as the result of its future. Runs on the connection's thread."""
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
    """Open a producer, and create its topic and the keeper subscription if they do not exist.

    Raises the errors of `Producer.open`.
    """
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
    # An exclusive producer may be writing the first record, so retry until that producer is closed.
    retry(producer.open, ProducerBusy, lambda _: _BUSY_SECONDS)
    return producer


def encoder_of(producer: Producer) -> BatchEncoder:
    """Return an encoder that puts each message into a separate entry."""
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
    """Send the first message of a producer that no other thread uses, and wait until the message is stored."""
    schema = _schema(producer.topic).input_schema
    batch = pa.RecordBatch.from_arrays([pa.array([payload], pa.binary())], schema=schema)
    for frames in encoder_of(producer).encode(batch, time.time_ns() // 1_000_000):
        producer.send(frames)
    producer.await_below(0)


def _schema(topic: str) -> WriteSchema:
    return resolve_write_schema(pa.schema([pa.field("value", pa.binary())]), None, topic=topic)
