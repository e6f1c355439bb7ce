"""Rows that are encoded with options and decoded again: tombstones, chunks, encryption with real key pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fixtures.key_pair import KeyPair, in_files, new_key_pair
from unit.codec.sent_entries import entries_of

from pyspark_pulsar.codec.data_keys import DataKeys
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder, Producing, producing
from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.codec.public_keys import new_data_key
from pyspark_pulsar.errors import DecryptionError, OptionError
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/orders"
KEYS = "pulsar.producer.cryptoKeyReader"
LARGE = 100_000


def options(**given: str) -> WriteOptions:
    named = {key.replace("__", "."): value for key, value in given.items()}
    return parse_options(WriteOptions, {"service.url": "pulsar://h:1", "topic": "orders", **named})


def encoder(batch: pa.RecordBatch, how: Producing, **limits: Any) -> BatchEncoder:
    schema = resolve_write_schema(batch.schema, None, topic=TOPIC, value_format="json")
    found = BatchEncoder(schema, topic=TOPIC, partitions=1, producing=how, **limits)
    found.set_producer(0, producer_id=0, producer_name="p", next_sequence_id=0, schema_version=None)
    return found


def rows(
    batch: pa.RecordBatch, how: Producing, intake: Intake | None = None, **limits: Any
) -> list[dict[str, Any]]:
    schema = resolve_write_schema(batch.schema, None, topic=TOPIC, value_format="json")
    decoder = EntryDecoder(
        resolve_read_schema(schema.info, topic=TOPIC, columns=["*", "__key"]),
        topic=TOPIC,
        partition=-1,
        fetch_schema=lambda _: None,
        intake=intake or Intake(),
    )
    sent = encoder(batch, how, **limits).encode(batch, 1)
    return [
        row for each in [*decoder.decode(entries_of(sent)), *decoder.finish()] for row in each.to_pylist()
    ]


def test_options_in_the_kernels_words() -> None:
    assert producing(options()) == Producing()
    found = producing(
        options(
            batching="key",
            pulsar__producer__chunkingEnabled="true",
            pulsar__producer__hashingScheme="murmur3_32hash",
            writeTombstones="true",
        )
    )
    assert found == Producing("key", 2**31 - 1, "Murmur3_32Hash", tombstones=True)
    off = options(
        pulsar__producer__batchingEnabled="false",
        pulsar__producer__chunkingEnabled="true",
        pulsar__producer__chunkMaxMessageSize="5000",
    )
    assert producing(off) == Producing("none", 5000)


def test_tombstones_are_rows_with_only_a_key() -> None:
    batch = pa.record_batch(
        {
            "__key": pa.array(["a", "b", None, "d"]),
            "n": pa.array([None, None, None, 4]),
            "inner": pa.array([None, {"x": None}, None, None], pa.struct([("x", pa.int32())])),
            "__orderingKey": pa.array(["o", None, None, None]),
        }
    )

    def sizes(how: Producing) -> list[int]:
        schema = resolve_write_schema(batch.schema, None, topic=TOPIC, value_format="json")
        decoder = EntryDecoder(
            resolve_read_schema(schema.info, topic=TOPIC, columns=["__messageSize"]),
            topic=TOPIC,
            partition=-1,
            fetch_schema=lambda _: None,
        )
        sent = encoder(batch, how).encode(batch, 1)
        found = [*decoder.decode(entries_of(sent)), *decoder.finish()]
        return [row["__messageSize"] for each in found for row in each.to_pylist()]

    with_them, without = sizes(Producing(tombstones=True)), sizes(Producing())
    assert [size == 0 for size in with_them] == [True, False, False, False]
    assert with_them[1:] == without[1:]
    assert without[0] > 0


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return new_key_pair(tmp_path_factory.mktemp("pair"))


@pytest.mark.parametrize("batching", ["default", "none", "key"])
@pytest.mark.parametrize("compression", ["NONE", "ZSTD"])
def test_encrypted_chunks_come_back_with_the_private_key_only(
    batching: str, compression: str, pair: KeyPair
) -> None:
    text = "".join(str(number**3) for number in range(LARGE // 10))
    batch = pa.record_batch({"t": ["", text, "short"], "__key": ["a", "b", "a"]})
    data_key = new_data_key(
        options(
            **{f"{KEYS}.publicKeys": f'{{"one": "{pair.public}"}}', "pulsar.producer.encryptionKeys": "one"}
        )
    )
    how = Producing(batching, 4_000, data_key=data_key)
    keys = DataKeys(pair.private, {})
    found = rows(batch, how, Intake(unwrap=keys.unwrap), compression=compression)
    order = {"key": ["", "short", text]}.get(batching, ["", text, "short"])
    assert [row["t"] for row in found] == order
    with pytest.raises(DecryptionError):
        rows(batch, how, compression=compression)


def test_a_data_key_is_new_for_each_encoder_and_not_shown(pair: KeyPair) -> None:
    given = options(**{f"{KEYS}.defaultPublicKey": pair.public, "pulsar.producer.encryptionKeys": "a, b"})
    first, second = new_data_key(given), new_data_key(given)
    assert first is not None
    assert second is not None
    assert first.key != second.key
    assert [name for name, _ in first.wrapped] == ["a", "b"]
    assert repr(first.key) not in repr(first)


def test_public_keys_of_other_kinds(tmp_path: Path) -> None:
    elliptic = in_files(tmp_path, ec.generate_private_key(ec.SECP256R1()))
    for path, said in [
        (elliptic.public, "a key of another kind"),
        (elliptic.private, "cannot be read as one"),
        (tmp_path / "none.pem", "expected a public key at"),
    ]:
        given = options(**{f"{KEYS}.defaultPublicKey": str(path), "pulsar.producer.encryptionKeys": "a"})
        with pytest.raises(OptionError, match=said):
            new_data_key(given)
