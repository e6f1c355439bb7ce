"""The first record of an index.

An exclusive producer writes this record. The broker of a topic counts the openings of exclusive producers, and reports
this count to every producer. An empty topic without a count is new. An empty topic with a count has lost its records.
If a process dies between opening the producer and writing the record, readers of the empty topic raise an error
although no record was lost. A reader never returns an empty state after a loss.
"""

from __future__ import annotations

from pyspark_pulsar.checkpoint.index.records import Kind, Record, encode, new_id
from pyspark_pulsar.checkpoint.messages.writer import open_producer, send_alone
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.errors import WriterFenced
from pyspark_pulsar.runtime import time


def format_index(client: BrokerClient, topic: str, owner: str, timeout_seconds: float) -> None:
    """Write the first record, unless the topic has records or another process is writing the first record.

    Raises `SendError`, `DeadlineExceeded`, `PermissionDenied`.
    """
    try:
        producer = open_producer(client, topic, timeout_seconds, exclusive=True)
    except WriterFenced:
        # Another process is writing the first record.
        return
    try:
        # No other producer can write now, so no record can be stored between the check and the write.
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
