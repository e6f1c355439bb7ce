"""The transaction of a frame: in its command for the broker, and in its metadata for readers."""

import struct
from dataclasses import replace

import pyarrow as pa
import pytest
from unit.codec.sent_entries import entries_of

from pyspark_pulsar._kernel import Decoder, SendFrames
from pyspark_pulsar.codec.decode import DecoderOptions
from pyspark_pulsar.codec.encode import BatchEncoder, Producing
from pyspark_pulsar.codec.public_keys import DataKey
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/t"
ROWS = pa.record_batch({"value": pa.array([b"a", b"b"])})
LARGEST = 2**64 - 1


def sent(transaction: TransactionId | None) -> list[SendFrames]:
    schema = resolve_write_schema(ROWS.schema, None, topic=TOPIC)
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=1, batching_max_messages=1)
    encoder.set_producer(
        0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=None, transaction=transaction
    )
    return encoder.encode(ROWS, 1_700_000_000_000)


def needed_ids(frames: list[SendFrames]) -> list[TransactionId]:
    """Return the ids of the transactions that a reader of storage needs."""
    schema = resolve_read_schema(None, topic=TOPIC, columns=["value"])
    decoder = Decoder(
        DecoderOptions(output_schema=schema.output_schema, topic=TOPIC, partition=-1, value=schema.value)
    )
    entries = entries_of(frames)
    entries.unfiltered = True
    decoder.push(entries)
    decoder.next_batch(True)
    return decoder.undecided_transactions()


def command(frames: SendFrames) -> bytes:
    (size,) = struct.unpack_from(">I", frames.frames, 4)
    return frames.frames[8 : 8 + size]


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


@pytest.mark.parametrize("transaction", [(0, 0), (3 << 48, 17), (LARGEST, LARGEST)])
def test_metadata_and_command_name_the_transaction(transaction: TransactionId) -> None:
    frames = sent(transaction)
    assert needed_ids(frames) == [transaction]
    most, least = transaction
    # CommandSend: txnid_least_bits = 4, txnid_most_bits = 5.
    assert b"\x20" + varint(least) + b"\x28" + varint(most) in command(frames[0])


def test_without_a_transaction_nothing_is_named() -> None:
    assert needed_ids(sent(None)) == []
    assert len(command(sent(None)[0])) < len(command(sent((0, 0))[0]))


@pytest.mark.parametrize(
    "producing",
    [Producing(batching="key"), Producing(batching="none"), Producing(chunk_bytes=2_000)],
    ids=["by key", "unbatched", "chunked"],
)
@pytest.mark.parametrize("sealed", [False, True], ids=["", "encrypted"])
def test_storage_shows_nothing_of_an_aborted_one(producing: Producing, sealed: bool) -> None:
    """Whatever kind of entry its messages are in; and all of it where it was committed."""
    values = ["short", "long".ljust(9_000, "x"), "last"]
    if sealed:
        producing = replace(producing, data_key=DataKey(bytes(range(32)), (("k", b"wrapped"),)))
    for aborted in (False, True):
        assert rows_of(values, producing, aborted=aborted) == ([] if aborted else values)


def rows_of(values: list[str], producing: Producing, *, aborted: bool) -> list[str]:
    """Return the rows that a reader of storage gets if it knows the outcome of every transaction."""
    batch = pa.record_batch({"value": pa.array(values)})
    schema = resolve_write_schema(batch.schema, None, topic=TOPIC)
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=1, compression="NONE", producing=producing)
    encoder.set_producer(
        0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=None, transaction=(1, 2)
    )
    entries = entries_of(encoder.encode(batch, 1_700_000_000_000))
    entries.unfiltered = True
    read_schema = resolve_read_schema(schema.info, topic=TOPIC, columns=["value"])
    decoder = Decoder(
        DecoderOptions(
            output_schema=read_schema.output_schema, topic=TOPIC, partition=-1, value=read_schema.value
        )
    )
    decoder.push(entries)
    found: list[str] = []
    while True:
        rows = decoder.next_batch(True)
        if rows is not None:
            found += pa.record_batch(rows).column("value").to_pylist()
        elif decoder.undecided_transactions():
            decoder.add_transaction(1, 2, aborted)
        elif decoder.needed_data_keys():
            decoder.add_data_key(b"wrapped", bytes(range(32)))
        else:
            return found
