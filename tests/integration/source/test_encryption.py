"""Encrypted messages of the official Python and Java clients, read with the keys and without."""

from __future__ import annotations

import base64
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fixtures.fix_spark import ReadTopic
from integration.official import SPECIAL_MESSAGES, JavaClient, as_base64
from pyspark.sql import Row, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

OPTION = "pulsar.consumer.cryptoKeyReader.privateKeys"
DEFAULT = "pulsar.consumer.cryptoKeyReader.defaultPrivateKey"
ACTION = "pulsar.consumer.cryptoFailureAction"
LARGE = 6 * 1024 * 1024


@dataclass(frozen=True)
class KeyPair:
    public: str
    private: str


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KeyPair]:
    """Return two RSA key pairs, with the private keys in two common formats."""
    forms = [serialization.PrivateFormat.TraditionalOpenSSL, serialization.PrivateFormat.PKCS8]
    return {
        name: _write(tmp_path_factory.mktemp(name), rsa.generate_private_key(65537, 2048), form)
        for name, form in zip(("one", "two"), forms, strict=True)
    }


def _write(folder: Path, key: Any, form: serialization.PrivateFormat) -> KeyPair:
    public, private = folder / "public.pem", folder / "private.pem"
    pem = serialization.Encoding.PEM
    info = serialization.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(key.public_key().public_bytes(pem, info))
    private.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    return KeyPair(str(public), str(private))


@pytest.fixture(scope="session")
def special(pulsar: LocalPulsar) -> JavaClient:
    return JavaClient(pulsar, SPECIAL_MESSAGES)


def produce(
    client: official_client.Client, topic: str, pair: KeyPair, values: list[Any], **settings: Any
) -> None:
    producer = client.create_producer(
        topic,
        encryption_key="one",
        crypto_key_reader=official_client.CryptoKeyReader(pair.public, pair.private),
        block_if_queue_full=True,
        **settings,
    )
    for number, value in enumerate(values):
        producer.send_async(
            value, callback=lambda *_: None, partition_key=f"k{number}", properties={"n": str(number)}
        )
    producer.flush()
    producer.close()


def cells(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [
        (
            tuple(row["__messageId"])[:3],
            None if row.value is None else bytes(row.value),
            row["__key"] and bytes(row["__key"]),
            row["__messageProperties"],
        )
        for row in rows
    ]


def test_encrypted_messages_of_the_python_client_are_read(
    topic: str,
    rng: random.Random,
    pairs: dict[str, KeyPair],
    official: official_client.Client,
    read_topic: ReadTopic,
    pulsar: LocalPulsar,
) -> None:
    pair = pairs["one"]
    values = [rng.randbytes(100) for _ in range(50)]
    lz4 = official_client.CompressionType.LZ4
    produce(official, topic, pair, values, batching_enabled=True, batching_max_messages=20)
    produce(official, topic, pair, values, batching_enabled=True, compression_type=lz4)
    produce(official, topic, pair, values, compression_type=official_client.CompressionType.ZSTD)
    large = [rng.randbytes(LARGE), b"small"]
    produce(official, topic, pair, large, chunking_enabled=True, compression_type=lz4)
    plain = official.create_producer(topic)
    plain.send(b"not encrypted")
    plain.close()

    key_reader = official_client.CryptoKeyReader(pair.public, pair.private)
    reader = official.create_reader(topic, official_client.MessageId.earliest, crypto_key_reader=key_reader)
    expected = []
    while reader.has_message_available():
        message = reader.read_next(timeout_millis=30_000)
        place = message.message_id()
        found = (place.ledger_id(), place.entry_id(), place.batch_index())
        key = message.partition_key().encode() or None
        expected.append((found, message.data(), key, message.properties()))
    reader.close()
    assert len(expected) == 3 * len(values) + len(large) + 1

    options = {OPTION: json.dumps({"one": pair.private})}
    assert cells(read_topic(topic, **options).collect()) == expected
    assert cells(read_topic(topic, **{DEFAULT: pair.private}).collect()) == expected


def java_steps(values: list[bytes]) -> list[dict[str, Any]]:
    return [
        {"messages": [{"value": as_base64(value), "key": "k", "properties": {"a": "b"}} for value in values]}
    ]


@pytest.fixture
def from_java(
    topic: str, rng: random.Random, pairs: dict[str, KeyPair], special: JavaClient
) -> list[dict[str, Any]]:
    """Return messages of the Java client for both keys, as its Reader decodes them."""
    keys = {name: pair.public for name, pair in pairs.items()}
    values = [rng.randbytes(100) for _ in range(20)]
    job = {"do": "produce", "topic": topic, "publicKeys": keys}
    special.run(
        job | {"steps": java_steps(values), "batching": True, "compression": "LZ4"},
        job | {"steps": java_steps([*values, b""]), "compression": "SNAPPY"},
        job | {"steps": java_steps([rng.randbytes(LARGE)]), "chunking": True, "compression": "ZSTD"},
    )
    privates = {name: pair.private for name, pair in pairs.items()}
    return special.run({"do": "read", "topic": topic, "privateKeys": privates})[0]


def as_cells(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            (row["ledger"], row["entry"], row["batchIndex"]),
            None if row["value"] is None else base64.b64decode(row["value"]),
            row["key"] and row["key"].encode(),
            row["properties"],
        )
        for row in rows
    ]


@pytest.mark.parametrize("held", ["one", "two"])
def test_messages_of_the_java_client_are_read_with_one_of_two_keys(
    held: str,
    from_java: list[dict[str, Any]],
    topic: str,
    pairs: dict[str, KeyPair],
    read_topic: ReadTopic,
) -> None:
    assert len(from_java) == 42
    rows = read_topic(topic, **{OPTION: json.dumps({held: pairs[held].private})}).collect()
    assert cells(rows) == as_cells(from_java)


def test_messages_without_their_key_follow_the_failure_action(
    topic: str,
    pairs: dict[str, KeyPair],
    official: official_client.Client,
    special: JavaClient,
    read_topic: ReadTopic,
) -> None:
    produce(official, topic, pairs["one"], [b"a", b"b", b"c"], batching_enabled=True)
    produce(official, topic, pairs["one"], [b"single"])
    plain = official.create_producer(topic)
    plain.send(b"plain")
    plain.close()

    for options, reason in (
        ({}, "no private key is configured for 'one'"),
        ({DEFAULT: pairs["two"].private}, "another key pair"),
    ):
        with pytest.raises(Exception, match="DecryptionError") as caught:
            read_topic(topic, **options).collect()
        assert reason in str(caught.value)
        assert '["one"]' in str(caught.value)
        assert "PRIVATE" not in str(caught.value)

    discarded = read_topic(topic, **{ACTION: "discard"}).collect()
    assert [bytes(row.value) for row in discarded] == [b"plain"]

    theirs = special.run({"do": "read", "topic": topic, "action": "CONSUME"})[0]
    ours = read_topic(topic, **{ACTION: "CONSUME"}).collect()
    assert [bytes(row.value) for row in ours] == [base64.b64decode(row["value"]) for row in theirs]
    assert [row["__messageId"][:2] for row in ours] == [(row["ledger"], row["entry"]) for row in theirs]
    for row, their in zip(ours[:2], theirs, strict=False):
        context, expected = json.loads(row["__messageProperties"]["__encryption"]), their["encryption"]
        assert context["param"] == expected["param"]
        assert {key["name"]: key["value"] for key in context["keys"]} == expected["keys"]
        assert context["uncompressedSize"] == expected["uncompressedSize"]
        assert (context["batchSize"] or 1) == expected.get("batchSize", 1)
    assert "__encryption" not in ours[2]["__messageProperties"]


@pytest.fixture
def encrypted(topic: str, pairs: dict[str, KeyPair], official: official_client.Client) -> str:
    produce(official, topic, pairs["one"], [b"x"])
    return topic


@pytest.fixture
def unfit_keys(tmp_path: Path) -> list[tuple[str, str]]:
    """Return paths of files without an RSA private key, each with its error text."""
    (tmp_path / "text.pem").write_text("no key at all")
    curve = _write(tmp_path, ec.generate_private_key(ec.SECP256R1()), serialization.PrivateFormat.PKCS8)
    locked = tmp_path / "locked.pem"
    locked.write_bytes(
        rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    return [
        (str(tmp_path / "absent.pem"), "No such file"),
        (str(tmp_path / "text.pem"), "cannot be read as one"),
        (str(locked), "without a passphrase"),
        (curve.private, "elliptic curve"),
    ]


def test_unusable_key_files_are_refused(
    encrypted: str, unfit_keys: list[tuple[str, str]], read_topic: ReadTopic
) -> None:
    for path, reason in unfit_keys:
        # DISCARD does not hide a key file that cannot be used.
        with pytest.raises(Exception, match="OptionError") as caught:
            read_topic(encrypted, **{DEFAULT: path, ACTION: "DISCARD"}).collect()
        assert reason in str(caught.value)
        assert path in str(caught.value)


def test_a_stream_decrypts(
    encrypted: str, pairs: dict[str, KeyPair], spark: SparkSession, pulsar: LocalPulsar, tmp_path: Path
) -> None:
    frame = (
        spark.readStream.format("pulsar")
        .options(**{"service.url": pulsar.service_url, "topic": encrypted, DEFAULT: pairs["one"].private})
        .option("startingOffsets", "earliest")
        .load()
    )
    query = frame.select("value").writeStream.format("parquet")
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    query.start(str(tmp_path / "out")).awaitTermination(120)
    assert [bytes(row.value) for row in spark.read.parquet(str(tmp_path / "out")).collect()] == [b"x"]


def test_action_consume_needs_values_of_bytes(
    topic: str, pairs: dict[str, KeyPair], official: official_client.Client, read_topic: ReadTopic
) -> None:
    plain = official.create_producer(topic, schema=official_client.schema.StringSchema())
    plain.send("readable")
    plain.close()
    produce(official, topic, pairs["one"], ["a", "b"], schema=official_client.schema.StringSchema())
    consume = {ACTION: "CONSUME"}
    with pytest.raises(Exception, match="DecodeError") as caught:
        read_topic(topic, **consume).collect()
    assert "still encrypted" in str(caught.value)
    rows = read_topic(topic, mode="PERMISSIVE", **consume).collect()
    assert [row.value for row in rows] == ["readable", None, None]
    assert [row["_corrupt_record"] is None for row in rows] == [True, False, False]
    assert "__encryption" in rows[1]["__messageProperties"]
    assert read_topic(topic, mode="DROPMALFORMED", **consume).count() == 1
