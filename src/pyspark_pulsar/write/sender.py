"""Sending the rows of one task to one topic. Runs on executors only."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.producer import Producer
from pyspark_pulsar.client.broker.transaction_coordinator import OpenTransaction
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.codec.encode import BatchEncoder, producing
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import SendError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.runtime import time
from pyspark_pulsar.write.target import Target

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DeliveryTerms:
    """The requirements of a delivery guarantee for sending. The default values belong to `at-least-once`."""

    awaits_receipts: bool = True
    """True if a task waits until the broker has stored every row; False if a task ends when every row is sent."""
    transaction: OpenTransaction | None = None
    """The transaction of all messages; None if the messages have no transaction.

    Every partition is added to the transaction before the first message to this partition. No message of a transaction
    is sent a second time. If a connection is lost while receipts are still outstanding, `SendError` is raised.
    """
    digests: bool = False
    """True if the encoder computes the digest of the rows; False if the encoder only computes the number of rows."""


class TopicSender:
    """An encoder, and a producer for each partition of one topic. Only one thread may use and close an instance."""

    def __init__(
        self,
        client: BrokerClient,
        options: WriteOptions,
        target: Target,
        terms: DeliveryTerms,
        first_producer_id: int = 1,
    ) -> None:
        """Create a producer for each partition, with consecutive ids from `first_producer_id` on.

        No other producer of `client` may use these ids.
        """
        self._options = options
        self._target = target
        self._terms = terms
        self.producers = [
            Producer(
                client,
                name,
                first_producer_id + index,
                target.schema.info,
                options.send_timeout_ms / 1000,
                encrypted=bool(options.encryption_keys),
                transactional=terms.transaction is not None,
                before_sending=None if terms.transaction is None else terms.transaction.require_time,
                sends_again=terms.transaction is None,
                name=options.producer_name,
            )
            for index, name in enumerate(target.partitions)
        ]
        self._encoder: BatchEncoder | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self._held_bytes = 0
        self._held_since = 0.0

    def open(self) -> None:
        """Open the producers, and add the partitions to the transaction.

        Raises:
            TransactionEnded: The transaction is no longer open.
            PulsarError: Opening a producer or creating a data key failed.

        """
        if self._terms.transaction is not None:
            self._terms.transaction.add_partitions(self._target.partitions)
        open_senders([self])

    def begin(self) -> None:
        """Create the encoder, after all producers are open."""
        self._encoder = self._new_encoder()

    def _new_encoder(self) -> BatchEncoder:
        options, transaction = self._options, self._terms.transaction
        encoder = BatchEncoder(
            self._target.schema,
            topic=str(self._target.topic),
            partitions=len(self.producers),
            compression=options.compression_type,
            batching_max_messages=options.batching_max_messages,
            batching_max_bytes=options.batching_max_bytes,
            max_message_bytes=min(producer.max_message_bytes for producer in self.producers),
            producing=producing(options),
            digests=self._terms.digests,
        )
        for index, producer in enumerate(self.producers):
            encoder.set_producer(
                index,
                producer_id=producer.producer_id,
                producer_name=producer.name,
                next_sequence_id=0,
                schema_version=producer.schema_version,
                transaction=None if transaction is None else transaction.id,
            )
        return encoder

    def send(self, batch: pa.RecordBatch, share: int) -> None:
        """Send the rows, or buffer the rows for the time that the option `batchingMaxPublishDelayMicros` allows.

        The call waits while a producer has `share` or more unconfirmed bytes.

        Raises:
            SendError: A broker did not store a row.
            SchemaError: A row does not fit the schema.
            TransactionEnded: The transaction is no longer open.

        """
        if not self._held:
            self._held_since = time.monotonic()
        self._held.append(batch)
        self._held_rows += batch.num_rows
        self._held_bytes += batch.nbytes
        if self._are_full():
            self.flush(share)
        else:
            self.flush_due(share)

    def _are_full(self) -> bool:
        """Return whether the buffered rows can fill one entry of each producer.

        The estimate uses the number of the rows, and the size of their Arrow buffers.
        """
        options, count = self._options, len(self.producers)
        most_bytes = options.batching_max_bytes * count
        return self._held_rows >= options.batching_max_messages * count or self._held_bytes >= most_bytes

    def flush_due(self, share: int) -> None:
        """Send the buffered rows if `batchingMaxPublishDelayMicros` is not set, or if this delay has passed."""
        delay = self._options.batching_max_publish_delay_micros
        if delay is None or time.monotonic() - self._held_since >= delay / 1_000_000:
            self.flush(share)

    def flush(self, share: int) -> None:
        """Send all buffered rows. Raises the errors of `send`."""
        if not self._held:
            return
        batch = self._held[0] if len(self._held) == 1 else pa.concat_batches(self._held)
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        encoder = self._encoder
        if encoder is None:
            raise SendError(
                f"topic {self._target.topic}: expected an open topic before rows are sent, got a closed one; report "
                f"this as a bug"
            )
        for frames in encoder.encode(batch, time.time_ns() // 1_000_000):
            producer = self.producers[frames.partition]
            producer.await_below(share)
            producer.send(frames)

    def await_receipts(self) -> None:
        """Wait for the receipts of all sent messages, if the delivery guarantee awaits receipts.

        Raises:
            SendError, DeadlineExceeded: A receipt did not arrive.

        """
        if not self._terms.awaits_receipts:
            return
        for producer in self.producers:
            producer.await_below(0)
            if producer.known_already:
                _log.warning(
                    "The broker dropped %d rows of this task, because it had already stored a row with the same or a "
                    "higher sequence id. If the sequence ids do not increase from job to job, the dropped rows can "
                    "include rows that were never stored: topic %s, producer %s",
                    producer.known_already,
                    producer.topic,
                    producer.name,
                )

    @property
    def row_digest(self) -> RowDigest:
        """The digest of the sent rows. Without `DeliveryTerms.digests`, the digest contains only the number of rows."""
        return RowDigest() if self._encoder is None else self._encoder.row_digest

    def close(self) -> None:
        close_senders([self])


def open_senders(senders: Iterable[TopicSender]) -> None:
    """Open several senders concurrently.

    If there is a transaction, the caller adds the senders' partitions to the transaction before the first row is sent.

    Raises:
        PulsarError: See `TopicSender.open`.

    """
    opened = list(senders)
    map_concurrently(Producer.open, [producer for sender in opened for producer in sender.producers])
    for sender in opened:
        sender.begin()


def close_senders(senders: Iterable[TopicSender]) -> None:
    map_concurrently(Producer.close, [producer for sender in senders for producer in sender.producers])
