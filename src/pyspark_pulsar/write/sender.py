"""Sends the rows of one task to one topic. Executor only."""

from __future__ import annotations

import logging
import time
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
from pyspark_pulsar.write.target import Target

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DeliveryTerms:
    """What a delivery guarantee asks of the sending of rows. The default is that of at-least-once."""

    awaits_receipts: bool = True
    """Whether a task ends when the broker has every row, or when every row is sent."""
    transaction: OpenTransaction | None = None
    """All messages belong to it. It takes every partition in before the first message to it, and no message is sent a
    second time: a connection that breaks with receipts due is a `SendError`."""
    digests: bool = False
    """Whether rows are digested as they are encoded, and not only counted."""


class TopicSender:
    """An encoder, and a producer for each partition. Used by one thread; close it."""

    def __init__(
        self,
        client: BrokerClient,
        options: WriteOptions,
        target: Target,
        terms: DeliveryTerms,
        first_producer_id: int = 1,
    ) -> None:
        """`first_producer_id` and those behind it, one for each partition, are no other producer's of `client`."""
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
        """Raises what brokers refuse producers with, what `new_data_key` raises, and `TransactionEnded`."""
        if self._terms.transaction is not None:
            self._terms.transaction.add_partitions(self._target.partitions)
        open_senders([self])

    def begin(self) -> None:
        """Once all producers are open."""
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
        """Send the rows, or hold them back as option `batchingMaxPublishDelayMicros` allows. Waits while a producer has
        `share` bytes unconfirmed. Raises `SendError`, `SchemaError` for a row that does not fit, `TransactionEnded`."""
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
        """Whether there may be an entry for each producer; bytes are those in Arrow."""
        options, count = self._options, len(self.producers)
        most_bytes = options.batching_max_bytes * count
        return self._held_rows >= options.batching_max_messages * count or self._held_bytes >= most_bytes

    def flush_due(self, share: int) -> None:
        """Send what has been held back for as long as is allowed."""
        delay = self._options.batching_max_publish_delay_micros
        if delay is None or time.monotonic() - self._held_since >= delay / 1_000_000:
            self.flush(share)

    def flush(self, share: int) -> None:
        """Send all that is held back. Raises as `send` does."""
        if not self._held:
            return
        batch = self._held[0] if len(self._held) == 1 else pa.concat_batches(self._held)
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        encoder = self._encoder
        if encoder is None:
            raise SendError(
                f"topic {self._target.topic}: expected it to be open before rows are sent; please report this"
            )
        transaction = self._terms.transaction
        for frames in encoder.encode(batch, time.time_ns() // 1_000_000):
            producer = self.producers[frames.partition]
            producer.await_below(share)
            if transaction is not None:
                transaction.require_time()
            producer.send(frames)

    def await_receipts(self) -> None:
        """Wait until everything that was sent is confirmed, where the delivery guarantee awaits that. Raises
        `SendError`, `DeadlineExceeded`."""
        if not self._terms.awaits_receipts:
            return
        for producer in self.producers:
            producer.await_below(0)
            if producer.known_already:
                _log.warning(
                    "topic %s: the broker had %d rows of this task already, by their sequence ids, and did not store "
                    "them again; rows that were never written are among them if their ids are not above those that "
                    "producer %s wrote before",
                    producer.topic,
                    producer.known_already,
                    producer.name,
                )

    @property
    def row_digest(self) -> RowDigest:
        """Of what was sent, where `DeliveryTerms.digests` asks for it."""
        return RowDigest() if self._encoder is None else self._encoder.row_digest

    def close(self) -> None:
        close_senders([self])


def open_senders(senders: Iterable[TopicSender]) -> None:
    """`TopicSender.open` for several, whose partitions the caller adds to the transaction, if there is one. All
    partitions wait for their brokers together. Raises what `open` raises."""
    opened = list(senders)
    map_concurrently(Producer.open, [producer for sender in opened for producer in sender.producers])
    for sender in opened:
        sender.begin()


def close_senders(senders: Iterable[TopicSender]) -> None:
    map_concurrently(Producer.close, [producer for sender in senders for producer in sender.producers])
