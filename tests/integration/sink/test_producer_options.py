"""Options of producers, as what the official clients find in the topic: entries, codecs, chunks, encryption."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from fixtures.key_pair import KeyPair, new_key_pair
from integration.official import Admin, Refused, messages_of
from integration.task_failures import failure
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

LARGE = 7_000_000
RECEIVE_MS = 30_000


def save(frame: DataFrame, server: LocalPulsar, topic: str, **options: str) -> None:
    writer = frame.write.format("pulsar").option("service.url", server.service_url).option("topic", topic)
    prefixed = {
        f"pulsar.producer.{key}" if key[0] != "_" else key[1:]: value for key, value in options.items()
    }
    writer.options(**prefixed).mode("append").save()


def entries(
    client: official_client.Client, topic: str
) -> dict[tuple[int, int], list[official_client.Message]]:
    """Messages by the entry that holds them."""
    found = defaultdict(list)
    for message in messages_of(client, topic):
        found[message.message_id().ledger_id(), message.message_id().entry_id()].append(message)
    return found


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return new_key_pair(tmp_path_factory.mktemp("keys"))


def noise(spark: SparkSession, sizes: list[int]) -> DataFrame:
    """Text that hardly compresses, of so many characters."""
    repeats = [(index, size // 64 + 1, size) for index, size in enumerate(sizes)]
    text = (
        "substring(array_join(transform(sequence(1, many), i -> sha2(concat(n, '-', i), 256)), ''), 1, size)"
    )
    frame = spark.createDataFrame(repeats, "n int, many int, size int")
    return frame.selectExpr(
        f"{text} as value", "concat('k', n) __key", "map('n', string(n)) __messageProperties"
    ).coalesce(1)


@pytest.mark.parametrize("codec", ["NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"])
@pytest.mark.parametrize("batching", ["true", "false"])
def test_codecs(
    codec: str,
    batching: str,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
) -> None:
    frame = spark.range(20).selectExpr("repeat(cast(id as string), 1000) value")
    save(frame.coalesce(1), pulsar, topic, compressionType=codec, batchingEnabled=batching)
    assert [m.data().decode() for m in messages_of(official, topic)] == [str(n) * 1000 for n in range(20)]
    stats = admin.request("GET", topic.replace("://", "/") + "/stats").json()
    assert (stats["storageSize"] > 30_000) == (codec == "NONE")


def test_sizes_of_batches(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    frame = spark.range(1_000).selectExpr("repeat('x', 100) value").coalesce(1)
    for name, options, most in (
        ("messages", {"batchingMaxMessages": "64"}, 64),
        ("bytes", {"batchingMaxBytes": "2000"}, 20),
        ("off", {"batchingEnabled": "false"}, 1),
    ):
        save(frame, pulsar, f"{topic}-{name}", **options)
        counts = [len(each) for each in entries(official, f"{topic}-{name}").values()]
        assert sum(counts) == 1_000
        assert most // 2 <= max(counts) <= most
    alone = next(iter(entries(official, f"{topic}-off").values()))[0]
    assert alone.message_id().batch_index() == -1


def test_a_delay_fills_entries_over_record_batches(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    try:
        frame = spark.range(200).selectExpr("cast(id as string) value").coalesce(1)
        save(frame, pulsar, f"{topic}-at-once")
        save(frame, pulsar, f"{topic}-held", batchingMaxPublishDelayMicros="600000000")
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(before))
    assert len(entries(official, f"{topic}-at-once")) == 20
    (only,) = entries(official, f"{topic}-held").values()
    assert [message.data() for message in only] == [str(number).encode() for number in range(200)]


def waiting(consumer: official_client.Consumer) -> Iterator[official_client.Message]:
    with contextlib.suppress(official_client.Timeout):
        while True:
            yield consumer.receive(timeout_millis=200)


STICKY = [(0, 9_999), (10_000, 39_999), (40_000, 65_535)]


@pytest.mark.parametrize("ranges", [None, STICKY], ids=["shared out", "sticky"])
def test_batches_by_key_keep_key_shared_right(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    ranges: list[tuple[int, int]] | None,
) -> None:
    def policy(number: int) -> official_client.ConsumerKeySharedPolicy | None:
        if ranges is None:
            return None
        return official_client.ConsumerKeySharedPolicy(
            key_shared_mode=official_client.KeySharedMode.Sticky, sticky_ranges=[ranges[number]]
        )

    consumers = [
        official.subscribe(
            topic,
            "shared",
            official_client.ConsumerType.KeyShared,
            consumer_name=f"c{number}",
            key_shared_policy=policy(number),
        )
        for number in range(3)
    ]
    frame = spark.range(600).selectExpr(
        "cast(id as string) value",
        "concat('k', id % 20) __key",
        "if(id % 40 < 20, null, concat('o', id % 5)) __orderingKey",
    )
    save(frame.coalesce(1), pulsar, topic, _batching="key")
    for messages in entries(official, topic).values():
        assert len({each.ordering_key() or each.partition_key() for each in messages}) == 1
    who: dict[str, Counter[int]] = defaultdict(Counter)
    order: dict[str, list[int]] = defaultdict(list)
    while sum(map(len, order.values())) < 600:
        for number, consumer in enumerate(consumers):
            for message in waiting(consumer):
                key = message.ordering_key() or message.partition_key()
                who[key][number] += 1
                order[key].append(int(message.data()))
                consumer.acknowledge(message)
    for consumer in consumers:
        consumer.close()
    assert len(who) == 25
    assert all(len(seen) == 1 for seen in who.values())
    assert len({next(iter(seen)) for seen in who.values()}) > 1
    assert all(numbers == sorted(numbers) for numbers in order.values())


@pytest.mark.parametrize(
    "options", [{}, {"chunkMaxMessageSize": "300000"}, {"compressionType": "NONE"}], ids=str
)
def test_large_messages_are_chunked(
    options: dict[str, str],
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    frame = noise(spark, [10, LARGE, 20, 2 * LARGE, 30])
    save(frame, pulsar, topic, chunkingEnabled="true", **options)
    wanted = [(row.value, row["__key"], row["__messageProperties"]) for row in frame.collect()]
    found = [(m.data().decode(), m.partition_key(), m.properties()) for m in messages_of(official, topic)]
    assert found == wanted
    ours = read_topic(topic).collect()
    assert [(row.value, row["__key"].decode(), row["__messageProperties"]) for row in ours] == wanted
    assert admin.entries(topic) >= (60 if "chunkMaxMessageSize" in options else 6)


def test_large_messages_fail_without_chunking(topic: str, spark: SparkSession, pulsar: LocalPulsar) -> None:
    said = failure(lambda: save(noise(spark, [LARGE]), pulsar, topic), "SendError")
    assert "pulsar.producer.chunkingEnabled=true" in said


@pytest.mark.parametrize("batching", ["true", "false"])
def test_encryption(
    batching: str,
    pair: KeyPair,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    frame = noise(spark, [10, 1000, LARGE, 0])
    keys: dict[str, Any] = {"encryptionKeys": "mine,yours", "cryptoKeyReader.defaultPublicKey": pair.public}
    save(frame, pulsar, topic, batchingEnabled=batching, chunkingEnabled="true", **keys)
    wanted = [row.value for row in frame.collect()]
    reader = official.create_reader(
        topic,
        official_client.MessageId.earliest,
        crypto_key_reader=official_client.CryptoKeyReader(pair.public, pair.private),
    )
    assert [reader.read_next(RECEIVE_MS).data().decode() for _ in wanted] == wanted
    reader.close()
    option = "pulsar.consumer.cryptoKeyReader.defaultPrivateKey"
    assert [row.value for row in read_topic(topic, **{option: pair.private}).collect()] == wanted
    failure(lambda: read_topic(topic).collect(), "DecryptionError")


def test_a_namespace_that_demands_encryption(
    pair: KeyPair,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    refused: Refused,
) -> None:
    namespace = f"public/sealed-{topic.rpartition('/')[2][-20:].strip('-_')}"
    admin.make_namespace(namespace)
    assert admin.request("POST", f"namespaces/{namespace}/encryptionRequired", True).status < 300
    frame = spark.range(3).selectExpr("cast(id as string) value")
    refused(lambda: save(frame, pulsar, f"persistent://{namespace}/t"), "")
    keys = {"encryptionKeys": "mine", "cryptoKeyReader.publicKeys": f'{{"mine": "{pair.public}"}}'}
    save(frame, pulsar, f"persistent://{namespace}/t", **keys)


def test_a_public_key_that_is_none(
    topic: str, tmp_path: Path, spark: SparkSession, pulsar: LocalPulsar
) -> None:
    frame = spark.range(1).selectExpr("cast(id as string) value")
    path = tmp_path / "key.pem"
    keys = {"encryptionKeys": "mine", "cryptoKeyReader.defaultPublicKey": str(path)}
    assert "expected a public key at" in failure(lambda: save(frame, pulsar, topic, **keys), "OptionError")
    path.write_text("no key")
    assert "expected an RSA public key" in failure(lambda: save(frame, pulsar, topic, **keys), "OptionError")
