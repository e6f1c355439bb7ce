"""The first record of an index.

It is written by an exclusive producer. Brokers count with the topic how often one has taken it, and tell every
producer. So an empty topic that was never taken is a new one; another has lost what it had. A process that dies between
taking and writing leaves a topic that looks emptied: an error too many, never an empty state in silence.
"""

from __future__ import annotations

import time

from pyspark_pulsar.checkpoint.index.records import Kind, Record, encode, new_id
from pyspark_pulsar.checkpoint.messages.writer import open_producer, send_alone
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.errors import WriterFenced


def format_index(client: BrokerClient, topic: str, owner: str, timeout_seconds: float) -> None:
    """Unless another process has meanwhile. Raises `SendError`, `DeadlineExceeded`, `PermissionDenied`."""
    try:
        producer = open_producer(client, topic, timeout_seconds, exclusive=True)
    except WriterFenced:
        # Another one is at it.
        return
    try:
        # Nobody else can write now.
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
