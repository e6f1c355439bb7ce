"""The first record of an index.

An exclusive producer writes it. Brokers count for each topic how often an exclusive producer was opened, and report the
count to every producer. So an empty topic with a count of zero is new. An empty topic with another count has lost its
records. A process that dies between opening the producer and writing the record leaves a topic that looks emptied. The
result is an unneeded error, and never an empty state without an error.
"""

from __future__ import annotations

import time

from pyspark_pulsar.checkpoint.index.records import Kind, Record, encode, new_id
from pyspark_pulsar.checkpoint.messages.writer import open_producer, send_alone
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.errors import WriterFenced


def format_index(client: BrokerClient, topic: str, owner: str, timeout_seconds: float) -> None:
    """Write the first record, unless another process has written it.

    Raises `SendError`, `DeadlineExceeded`, `PermissionDenied`.
    """
    try:
        producer = open_producer(client, topic, timeout_seconds, exclusive=True)
    except WriterFenced:
        # Another process is writing the first record.
        return
    try:
        # Only this producer can write now, so the check and the write are one step.
        consumer = subscribe(client, topic, None)
        try:
            is_empty = consumer.end().is_earliest
        finally:
            consumer.close()
        if is_empty:
            now = time.time_ns() // 1_000_000
            send_alone(producer, encode(Record(Kind.FORMAT, new_id(), owner, now, None, None)))
    except WriterFenced:
        return
    finally:
        producer.close()
