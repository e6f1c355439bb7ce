"""Connections that break, and topics that are unloaded, at each frame of a write and at each receipt.

The official readers and this package's read the result, with and without the broker's deduplication.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pulsar as official_client
import pyarrow as pa
import pytest
from fixtures.forwarder import Cut, Forwarder, SeenCommand
from integration.official import Admin, JavaClient, as_base64, await_true, messages_of
from pyspark.sql import SparkSession

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import SEND_RECEIPT
from pyspark_pulsar.client.broker.producer import Producer
from pyspark_pulsar.errors import SendError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.exactly_once.journal_topic import JournalTopicWriter
from pyspark_pulsar.write.target import settle_target
from pyspark_pulsar.write.task import write_rows

SEND = 6
COLUMNS = pa.schema([pa.field("value", pa.string())])
SMALL = ("one", "three", "five")
LARGE = ("2".ljust(5_000, "b"), "4".ljust(5_000, "d"))
VALUES = [SMALL[0], LARGE[0], SMALL[1], LARGE[1], SMALL[2]]
FRAMES = 9
LAST = "the end"
ALL_OF_IT = 1 << 30


@dataclass
class Interruption:
    """A single interruption, at the frame or receipt number `nth` of all connections."""

    kind: str
    nth: int
    unload: Callable[[], None]
    seen: int = -1

    def __call__(self, seen: SeenCommand) -> None:
        if seen.command != (SEND_RECEIPT if self.kind == "receipt" else SEND):
            return
        self.seen += 1
        if self.seen != self.nth:
            return
        if self.kind == "unload":
            self.unload()
        else:
            raise Cut(ALL_OF_IT if self.kind == "behind" else 0)


def options(service_url: str, topic: str) -> WriteOptions:
    return WriteOptions(
        service_url=service_url,
        topic=topic,
        compression_type="NONE",
        chunking_enabled=True,
        chunk_max_message_size=2_000,
    )


def write(server: LocalPulsar, topic: str, watch: Callable[[SeenCommand], None]) -> int:
    """Write the values, with a batch for each run of small ones."""
    target = settle_target(options(server.service_url, topic), COLUMNS)
    with Forwarder(server.service_url, watch) as forwarder:
        batch = pa.record_batch([pa.array(VALUES)], schema=COLUMNS)
        return write_rows(options(forwarder.service_url, topic), target, iter([batch]))


@pytest.mark.parametrize("deduplication", [False, True], ids=["plain", "deduplication"])
def test_chunked_rows_are_read_once_by_all_readers(
    deduplication: bool,
    topic: str,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
    java_client: JavaClient,
    spark: SparkSession,
) -> None:
    namespace = f"public/again-{topic[-12:]}"
    admin.make_namespace(namespace)
    admin.request("POST", f"namespaces/{namespace}/deduplication", deduplication)
    topics = []
    for kind in ("before", "behind", "receipt", "unload"):
        for nth in range(FRAMES):
            name = f"persistent://{namespace}/{kind}-{nth}"
            interruption = Interruption(kind, nth, lambda name=name: admin.unload(name))
            assert write(pulsar, name, interruption) == len(VALUES)
            assert interruption.seen >= nth, "nothing was interrupted"
            # Readers wait for the last message, even if it is a chunk that they drop.
            producer = official.create_producer(name)
            producer.send(LAST.encode())
            producer.close()
            topics.append(name)

    frame = spark.read.format("pulsar").option("service.url", pulsar.service_url)
    rows = frame.option("topics", ",".join(topics)).load().sort("__topic", "__messageId").collect()
    found = {
        "python": [[message.data().decode() for message in messages_of(official, name)] for name in topics],
        "ours": [[row.value for row in rows if row["__topic"] == name] for name in topics],
    }
    jobs = [{"do": "read", "topic": name, "schema": "BYTES"} for name in topics]
    plain = {as_base64(text.encode()): text for text in [*VALUES, LAST]}
    found["java"] = [[plain[row["value"]] for row in rows] for rows in java_client.run(*jobs)]
    most = 1 if deduplication else 2
    for reader, values in found.items():
        for name, got in zip(topics, values, strict=True):
            counts = Counter(got)
            assert all(counts[value] == 1 for value in LARGE), (reader, name, counts)
            assert all(1 <= counts[value] <= most for value in SMALL), (reader, name, counts)
            assert list(dict.fromkeys(got)) == [*VALUES, LAST], (reader, name)


def test_a_receipt_of_a_dropped_message_is_an_error(
    topic: str, pulsar: LocalPulsar, admin: Admin, official: official_client.Client
) -> None:
    """A broker that knows the producer's name with higher ids drops messages that it never stored."""
    namespace = f"public/known-{topic[-12:]}"
    admin.make_namespace(namespace)
    admin.request("POST", f"namespaces/{namespace}/deduplication", True)
    name = f"persistent://{namespace}/t"
    theirs = official.create_producer(name, producer_name="taken", initial_sequence_id=1_000)
    theirs.send(b"theirs")
    theirs.close()
    with BrokerClient(options(pulsar.service_url, name)) as client:
        producer = Producer(client, name, 1, None, 10.0)
        producer.name = "taken"
        producer.open()
        with pytest.raises(SendError, match="got the answer that the message is a duplicate"):
            JournalTopicWriter(producer, None).append({"ours": True})
        producer.close()
    assert [message.data() for message in messages_of(official, name)] == [b"theirs"]


def test_an_unload_of_an_idle_topic_is_no_error(
    topic: str, pulsar: LocalPulsar, admin: Admin, official: official_client.Client
) -> None:
    """An unload of an idle topic is no error even if nothing may be sent again, as in a transaction: no row
    is in doubt.
    """
    with BrokerClient(options(pulsar.service_url, topic)) as client:
        producer = Producer(client, topic, 1, None, 30.0, sends_again=False)
        producer.open()
        writer = JournalTopicWriter(producer, None)
        writer.append({"number": 1})
        admin.unload(topic)
        await_true("the end of the producer", lambda: producer._lost is not None)
        writer.append({"number": 2})
        producer.close()
    assert [message.data() for message in messages_of(official, topic)] == [b'{"number":1}', b'{"number":2}']
