"""Rows of every kind in transactions, in one topic and in topics named by rows.

The official client sees no row of an aborted attempt, and each row of a committed attempt once. A plain message, sent
last, marks the end.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pulsar as official_client
import pyarrow as pa
import pytest
from fixtures.fix_spark import ReadTopic
from fixtures.key_pair import KeyPair, new_key_pair
from integration.official import Admin, Refused, await_true, messages_of
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.commit_message import RowsPrepared
from pyspark_pulsar.write.exactly_once.epochs import commit_epoch
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import Writer
from pyspark_pulsar.write.exactly_once.task import write_in_transaction
from pyspark_pulsar.write.target import settle_target

END = "end"
LONG = 10_000
KINDS: dict[str, dict[str, Any]] = {
    "batched": {},
    "by key": {"batching": "key"},
    "unbatched": {"batching_enabled": False},
    "chunked": {"chunking_enabled": True, "chunk_max_message_size": 3_000, "compression_type": "NONE"},
    "encrypted": {"encryption_keys": ("mine",)},
    "encrypted chunks": {
        "encryption_keys": ("mine",),
        "chunking_enabled": True,
        "chunk_max_message_size": 3_000,
        "compression_type": "NONE",
    },
}
COLUMNS = pa.schema(
    [("value", pa.string()), ("__key", pa.string()), ("__deliverAt", pa.timestamp("us", tz="UTC"))]
)
JOB = Writer("job", "job")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return new_key_pair(tmp_path_factory.mktemp("keys"))


def rows(name: str) -> pa.RecordBatch:
    """Return twelve rows: one is long, and two have a later delivery time."""
    values = [f"{name} {number}" for number in range(12)]
    values[5] = values[5].ljust(LONG, "x")
    later = [int(time.time() * 1_000_000) + 3_600_000_000 if number > 9 else None for number in range(12)]
    keys = [f"k{number % 3}" for number in range(12)]
    arrays = [pa.array(values), pa.array(keys), pa.array(later, COLUMNS.field(2).type)]
    return pa.record_batch(arrays, schema=COLUMNS)


def attempt(
    options: WriteOptions, columns: pa.Schema, journal: str, *batches: pa.RecordBatch
) -> RowsPrepared:
    """Run a task's part, which leaves its transaction open."""
    return write_in_transaction(
        options, settle_target(options, columns), JournalName("t", journal), iter(batches), JOB
    )


def commit(options: WriteOptions, journal: str, told: RowsPrepared) -> None:
    """Run the driver's part, which aborts all other attempts."""
    assert told.prepared is not None
    with BrokerClient(options) as client:
        commit_epoch(Sink.open(client, journal), JOB, 0, [told.prepared])


def send_end(official: official_client.Client, topic: str) -> None:
    producer = official.create_producer(topic, schema=official_client.schema.StringSchema())
    producer.send(END)
    producer.close()


def read(official: official_client.Client, topic: str, pair: KeyPair) -> list[str]:
    """Read all messages before a plain message, which this function sends."""
    send_end(official, topic)
    reader = official.create_reader(
        topic,
        official_client.MessageId.earliest,
        crypto_key_reader=official_client.CryptoKeyReader(pair.public, pair.private),
    )
    found: list[str] = []
    while not found or found[-1] != END:
        found.append(reader.read_next(timeout_millis=60_000).data().decode())
    reader.close()
    return found[:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_entry_is_part_of_its_transaction(
    kind: str,
    topic: str,
    pair: KeyPair,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    read_topic: ReadTopic,
) -> None:
    fields = dict(KINDS[kind])
    if "encryption_keys" in fields:
        fields["crypto_default_public_key"] = pair.public
    options = WriteOptions(
        service_url=pulsar.service_url, topic=topic, delivery_guarantee="exactly-once", **fields
    )
    journal = f"{topic}-journal"
    attempt(options, COLUMNS, journal, rows("lost"), rows("lost too"))
    kept = attempt(options, COLUMNS, journal, rows("kept"), rows("kept too"))
    stored = admin.entries(topic)
    commit(options, journal, kept)
    wanted = [text for name in ("kept", "kept too") for text in rows(name).column("value").to_pylist()]
    found = read(official, topic, pair)
    assert Counter(found) == Counter(wanted)
    if kind != "by key":
        assert found == wanted
    # The number of entries proves that the rows have this kind.
    assert stored >= {"unbatched": 48, "chunked": 32, "encrypted chunks": 32}.get(kind, 12)
    private = (
        {"pulsar.consumer.cryptoKeyReader.defaultPrivateKey": pair.private} if "encrypted" in kind else {}
    )
    ours = [row.value for row in read_topic(topic, **private).select("value").collect()]
    assert ours == [*found, END]


def to_topics(name: str, topics: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    """Yield the given number of rows for each topic, in one record batch per topic."""
    for topic, count in topics.items():
        yield pa.record_batch(
            {"value": [f"{name} {number}" for number in range(count)], "__topic": [topic] * count}
        )
    mixed = [topic for topic in topics for _ in range(3)]
    yield pa.record_batch({"value": [f"{name} mixed"] * len(mixed), "__topic": mixed})


def test_topics_named_by_rows_are_part_of_the_transaction(
    topic: str,
    pair: KeyPair,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
) -> None:
    journal, topics = f"{topic}-journal", {f"{topic}-a": 10, f"{topic}-b": 200, f"{topic}-c": 1}
    admin.create(f"{topic}-a")
    admin.create_partitioned(f"{topic}-b", 3)
    options = WriteOptions(
        service_url=pulsar.service_url,
        admin_url=pulsar.admin_url,
        partitions=0,
        delivery_guarantee="exactly-once",
        transaction_journal=journal,
        batching_max_messages=20,
    )
    columns = pa.schema([("value", pa.string()), ("__topic", pa.string())])
    attempt(options, columns, journal, *to_topics("lost", topics))
    kept = attempt(options, columns, journal, *to_topics("kept", topics))
    commit(options, journal, kept)
    for name, count in topics.items():
        wanted = Counter([f"kept {number}" for number in range(count)] + ["kept mixed"] * 3)
        parts = [f"{name}-partition-{index}" for index in range(3)] if name.endswith("-b") else [name]
        found = [read(official, part, pair) for part in parts]
        assert all(found)
        assert Counter(text for part in found for text in part) == wanted
    assert kept.prepared is not None
    assert kept.prepared.rows == 211 + 9


def save(frame: DataFrame, server: LocalPulsar, **options: str) -> None:
    writer = frame.write.format("pulsar").option("service.url", server.service_url)
    writer.option("deliveryGuarantee", "exactly-once").options(**options).mode("append").save()


def test_a_job_is_atomic_over_topics_named_by_rows(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
    refused: Refused,
) -> None:
    for number in range(3):
        admin.create(f"{topic}-{number}")
    frame = spark.range(600, numPartitions=4).selectExpr(
        "cast(id as string) value", f"concat('{topic}-', id % 3) __topic"
    )
    said = refused(lambda: save(frame, pulsar), "OptionError")
    assert "expected the option transactionJournal, because column __topic names the topics" in said
    bad = frame.selectExpr("if(value = '599', raise_error('bad row'), value) value", "__topic")
    with pytest.raises(Exception, match="bad row"):
        save(bad, pulsar, transactionJournal=f"{topic}-journal")
    save(frame, pulsar, transactionJournal=f"{topic}-journal")
    for number in range(3):
        send_end(official, f"{topic}-{number}")
        found: list[str] = []

        def complete(name: str = f"{topic}-{number}", found: list[str] = found) -> bool:
            found[:] = [message.data().decode() for message in messages_of(official, name)]
            return found[-1:] == [END]

        await_true("the last message: a transaction is open", complete)
        assert Counter(found[:-1]) == Counter(str(each) for each in range(600) if each % 3 == number)


def test_a_stream_is_atomic_over_topics_named_by_rows(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
    pair: KeyPair,
) -> None:
    lines = tmp_path / "lines"
    lines.mkdir()
    for number in range(2):
        admin.create(f"{topic}-{number}")

    def run() -> None:
        stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(lines))
        query = (
            stream.selectExpr("value", f"concat('{topic}-', cast(value as int) % 2) __topic")
            .writeStream.format("pulsar")
            .option("service.url", pulsar.service_url)
            .option("deliveryGuarantee", "exactly-once")
            .option("transactionJournal", f"{topic}-journal")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    for start in (0, 20):
        for file in range(2):
            text = "\n".join(str(start + 10 * file + number) for number in range(10))
            (lines / f"{start}-{file}.txt").write_text(text)
        run()
    for number in range(2):
        assert Counter(read(official, f"{topic}-{number}", pair)) == Counter(
            str(each) for each in range(40) if each % 2 == number
        )
