"""Aborting transactions whose tasks may still send: Spark has killed them, or does so a moment later.

What brokers do (4.0.8, `TopicTransactionBuffer`): each topic partition has a transaction buffer. It notes that a
transaction is aborted only when it is Ready, which it becomes when the partition gets its first transactional message
ever, and stays.

| a message of an aborted transaction comes | the broker |
|---|---|
| to a buffer that was Ready when the transaction was aborted | stores it; nobody ever sees it |
| to one that was not, or that waits for its first snapshot | takes the transaction for an open one |

In the second case nobody ends it: no reader of the partition gets past it, until another transaction of the same
coordinator ends there. So before anything is aborted here, a message is sent to each partition that these transactions
may have, in a transaction of its own, which is aborted too. When its receipt is there, the buffer is Ready. That
transaction is not aborted while a receipt is missing, as the same would come of it: then it times out.

Partitions are written down in `-begun` before a transaction takes them in, and are there then; so none is missing here,
and one that is not there was deleted, and is not made anew. Where one cannot be written to, rows that come late most
likely cannot either, and the transactions are aborted all the same: open, they would hold readers up for certain.

Transactions that are prepared have all their receipts, so they need none of this. A task sends nothing any more when
its transaction times out (`OpenTransaction.require_time`), which nobody is asked about.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

import pyarrow as pa

from pyspark_pulsar.client.broker.producer import PROBE_ID, Producer
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.write.columns import resolve_write_schema
from pyspark_pulsar.topic import TopicName
from pyspark_pulsar.transaction_id import TransactionId
from pyspark_pulsar.write.at_once import at_once
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import BegunTransaction

_log = logging.getLogger(__name__)

_FIRST_PRODUCER_ID: Final = PROBE_ID + 100
"""Behind those of the journal."""
_MOST_SECONDS: Final = 15.0
_TIMEOUT_MS: Final = 60_000


def abort_running(sink: Sink, begun: Sequence[BegunTransaction]) -> None:
    """Abort those that are open, so that no reader waits for what their tasks still send. Raises what asking the
    coordinators raises."""
    names = {attempt.transaction for attempt in begun}
    open_ones = sink.coordinators.still_open(sorted(names), sink.journal.marker_partition)
    if not open_ones:
        return
    partitions = chain.from_iterable(
        attempt.partitions for attempt in begun if attempt.transaction in open_ones
    )
    try:
        _make_ready(sink, partitions)
    except PulsarError as fault:
        _log.warning(
            "%s: transactions are aborted although tasks may still send in them, since not all their topic partitions "
            "could be written to before; if a topic shows readers nothing new behind a row of theirs, the next epochs "
            "or jobs that write to it end that: %s",
            sink.journal.prefix,
            fault,
        )
    sink.coordinators.abort_all(open_ones)


def _make_ready(sink: Sink, partitions: Iterable[str]) -> None:
    """Make the transaction buffers of the partitions Ready. Raises what sending raises."""
    seconds = min(sink.client.request_seconds, _MOST_SECONDS)
    with sink.client.until(time.monotonic() + seconds):
        schemas = _schemas(sink, partitions)
        transaction = sink.coordinators.begin(_TIMEOUT_MS)
        sink.coordinators.add_partitions(transaction, list(schemas))
        messages = [
            (_FIRST_PRODUCER_ID + number, name, info, seconds)
            for number, (name, info) in enumerate(schemas.items())
        ]
        at_once(lambda message: _send_nothing(sink, transaction, *message), messages)
        sink.coordinators.abort_all([transaction])


def _schemas(sink: Sink, partitions: Iterable[str]) -> dict[str, SchemaInfo | None]:
    """The partitions that are there, that of markers among them, and the schema of each topic: namespaces may refuse
    producers without."""
    topics = {name: TopicName.parse(name).without_partition() for name in partitions}
    counts = sink.client.present_partitions(set(topics.values()))
    there = [topic for topic, count in counts.items() if count is not None]
    schemas = sink.client.schemas(there)
    return {sink.journal.marker_partition: None} | {
        name: schemas[topic] for name, topic in topics.items() if topic in schemas
    }


def _send_nothing(
    sink: Sink,
    transaction: TransactionId,
    producer_id: int,
    name: str,
    info: SchemaInfo | None,
    seconds: float,
) -> None:
    """An empty message, with its receipt."""
    producing = sink.producing()
    producer = Producer(
        sink.client,
        name,
        producer_id,
        info,
        seconds,
        encrypted=producing.data_key is not None,
        transactional=True,
        sends_again=False,
    )
    producer.open()
    try:
        columns = pa.schema([pa.field("value", pa.binary())])
        encoder = BatchEncoder(
            resolve_write_schema(columns, None, topic=name), topic=name, partitions=1, producing=producing
        )
        encoder.set_producer(
            0,
            producer_id=producer_id,
            producer_name=producer.name,
            next_sequence_id=0,
            schema_version=producer.schema_version,
            transaction=transaction,
        )
        empty = pa.RecordBatch.from_arrays([pa.array([b""], pa.binary())], schema=columns)
        for frames in encoder.encode(empty, time.time_ns() // 1_000_000):
            producer.send(frames)
        producer.await_below(0)
    finally:
        producer.close()
