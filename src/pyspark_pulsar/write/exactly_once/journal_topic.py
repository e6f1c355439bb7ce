"""A topic of a journal. The exactly-once sink records its progress in this topic, as JSON.

The topic has no schema. Each message is one record, a JSON object in UTF-8. An append waits for the broker's receipt. A
read ends at the last message that consumers can see.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.producer import Producer
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.client.broker.subscription import hold_cursor
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder, Producing
from pyspark_pulsar.errors import CommitError, DeadlineExceeded, TopicNotFoundError
from pyspark_pulsar.model.position import EARLIEST, Position, after_entry
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.runtime import time
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

KEEPER: Final = "pyspark-pulsar-journal"
"""Name of the durable subscription of each topic.

Without this subscription, a broker could delete the topic or the topic's records.
"""

_PERMITS: Final = 1_000
_WAIT_SECONDS: Final = 1.0

T = TypeVar("T")


@dataclass(frozen=True)
class JournalRecord:
    """A record of a journal's topic, and the position of the record."""

    position: Position
    content: dict[str, Any]


class JournalTopic:
    """A topic of a journal. Only one thread may use an instance."""

    def __init__(self, client: BrokerClient, name: str, producer_id: int) -> None:
        """Store the arguments. `producer_id` must be unique among the producers of `client`."""
        self._client = client
        self._producer_id = producer_id
        self.name = name
        """The full name of the topic, or of its first partition if the topic is partitioned."""

    @classmethod
    def open(cls, client: BrokerClient, topics: Sequence[TopicName], first_producer_id: int) -> list[Self]:
        """Open the topics, and create missing topics.

        The producer of the first topic has the id `first_producer_id`, and each further topic has the next id.

        If the broker creates partitioned topics, only the first partition contains records.
        """
        counts = client.partition_counts(topics, create=True)
        names = [str(topic.with_partition(0) if counts[topic] else topic) for topic in topics]
        return [cls(client, name, first_producer_id + index) for index, name in enumerate(names)]

    def writer(
        self, *, exclusive: bool = False, transaction: TransactionId | None = None
    ) -> JournalTopicWriter:
        """Open a writer. Raises the errors of `Producer.open`.

        Args:
            exclusive: True to fence every other writer permanently.
            transaction: The transaction of the records; None if the records have no transaction.

        """
        producer = Producer(
            self._client,
            self.name,
            self._producer_id,
            None,
            self._client.request_seconds,
            exclusive=exclusive,
            # The producer may send a marker twice, because a second copy has no effect.
            transactional=transaction is not None,
            keep_for=KEEPER,
        )
        producer.open()
        return JournalTopicWriter(producer, transaction)

    def append(self, content: dict[str, Any], transaction: TransactionId | None = None) -> None:
        """Append one record with a new writer. Raises the errors of `writer` and `JournalTopicWriter.append`."""
        writer = self.writer(transaction=transaction)
        try:
            writer.append(content)
        finally:
            writer.close()

    def since(self, start: Position) -> list[JournalRecord]:
        """Return the visible records from `start` on. The call retries while the topic moves to another broker."""
        return self._if_exists(lambda: list(self._read(start)), [])

    def last(self) -> JournalRecord | None:
        """Return the last visible record; None if no record is visible."""
        return self._if_exists(self._last, None)

    def end(self) -> Position:
        """Return the position after the last visible record."""
        return self._if_exists(self._end, EARLIEST)

    def forget_before(self, position: Position) -> None:
        """Acknowledge the records before `position`, so that the broker may delete the ledgers before `position`.

        The method does not retry, and raises the errors of `hold_cursor`.
        """
        if position.is_earliest:
            return
        cursor = hold_cursor(self._client, self.name, KEEPER)
        try:
            cursor.settle(cursor.acknowledge(position))
        finally:
            cursor.close()

    def _if_exists(self, attempt: Callable[[], T], nothing: T) -> T:
        """Return the result of `attempt`; return `nothing` if the topic does not exist.

        The first writer creates the topic.
        """
        try:
            return self._client.retrying(attempt)
        except TopicNotFoundError:
            return nothing

    def _end(self) -> Position:
        consumer = subscribe(self._client, self.name, None)
        try:
            return consumer.end()
        finally:
            consumer.close()

    def _last(self) -> JournalRecord | None:
        end = self._end()
        if end == EARLIEST:
            return None
        records = list(self._read(Position(end.ledger, end.entry - 1), end))
        return records[-1] if records else None

    def _read(self, start: Position, end: Position | None = None) -> Iterator[JournalRecord]:
        consumer = subscribe(self._client, self.name, start)
        try:
            end = consumer.end() if end is None else end
            if end <= start:
                return
            decoder = EntryDecoder(
                resolve_read_schema(None, topic=self.name, columns=["value", "__messageId"]),
                topic=self.name,
                partition=-1,
                fetch_schema=lambda _: None,
                start=start.as_tuple(),
                end=end.as_tuple(),
            )
            yield from self._decoded(consumer, decoder, end)
        finally:
            consumer.close()

    def _decoded(
        self, consumer: EntryConsumer, decoder: EntryDecoder, end: Position
    ) -> Iterator[JournalRecord]:
        deadline = time.monotonic() + self._client.request_seconds
        reached = EARLIEST
        consumer.add_permits(_PERMITS)
        while reached < end:
            entries = consumer.take(_WAIT_SECONDS)
            if entries is None:
                if time.monotonic() > deadline:
                    raise DeadlineExceeded(
                        f"{self.name}: expected the records up to {end} within {self._client.request_seconds:.0f} s, "
                        f"got records up to {reached}; wait and try again, or read the broker's log"
                    )
                continue
            reached = after_entry(*(entries.last or end.as_tuple()[:2]))
            consumer.add_permits(entries.num_messages)
            for batch in decoder.decode(entries):
                yield from _records(batch, self.name)
        for batch in decoder.finish():
            yield from _records(batch, self.name)


class JournalTopicWriter:
    """A writer of records. The caller closes the writer. Records of a transaction become visible after its commit."""

    def __init__(
        self, producer: Producer, transaction: TransactionId | None, producing: Producing | None = None
    ) -> None:
        self._producer = producer
        schema = resolve_write_schema(pa.schema([pa.field("value", pa.binary())]), None, topic=producer.topic)
        self._columns = schema.input_schema
        self._encoder = BatchEncoder(schema, topic=producer.topic, partitions=1, producing=producing)
        self._encoder.set_producer(
            0,
            producer_id=producer.producer_id,
            producer_name=producer.name,
            next_sequence_id=0,
            schema_version=producer.schema_version,
            transaction=transaction,
        )

    def append(self, content: dict[str, Any]) -> None:
        """Append a record, and wait until the broker has stored the record.

        Raises:
            WriterFenced, SendError, DeadlineExceeded: The receipt is missing, so the record may or may not be stored.

        """
        text = json.dumps(content, separators=(",", ":")).encode()
        batch = pa.RecordBatch.from_arrays([pa.array([text], pa.binary())], schema=self._columns)
        for frames in self._encoder.encode(batch, time.time_ns() // 1_000_000):
            self._producer.send(frames)
        self._producer.await_below(0)

    def close(self) -> None:
        self._producer.close()


def _records(batch: pa.RecordBatch, topic: str) -> Iterator[JournalRecord]:
    for row in batch.to_pylist():
        where = row["__messageId"]
        position = Position(where["ledger"], where["entry"], max(0, where["batchIndex"]))
        try:
            content = json.loads(row["value"])
        except (ValueError, TypeError):
            content = None
        if not isinstance(content, dict):
            raise CommitError(
                f"{topic}: expected records of pyspark-pulsar's exactly-once sink, got another message at {position}; "
                f"set transactionJournal to a name that nothing else writes to"
            )
        yield JournalRecord(position, content)
