"""Whose transaction a frame belongs to stands in its command, for the broker, and in its metadata, for readers."""

import struct

import pyarrow as pa
import pytest
from unit.codec.sent_entries import entries_of

from pyspark_pulsar._kernel import Decoder, SendFrames
from pyspark_pulsar.client.transactions import TransactionId
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write_schema import resolve_write_schema

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


def wanted(frames: list[SendFrames]) -> list[TransactionId]:
    """The transactions that a reader of storage asks for."""
    schema = resolve_read_schema(None, topic=TOPIC, columns=["value"])
    decoder = Decoder(schema.output_schema, topic=TOPIC, partition=-1, value=schema.value)
    entries = entries_of(frames)
    entries.unfiltered = True
    decoder.push(entries)
    decoder.next_batch(True)
    return decoder.wanted_transactions()


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
    assert wanted(frames) == [transaction]
    most, least = transaction
    # CommandSend: txnid_least_bits = 4, txnid_most_bits = 5.
    assert b"\x20" + varint(least) + b"\x28" + varint(most) in command(frames[0])


def test_without_a_transaction_nothing_is_named() -> None:
    assert wanted(sent(None)) == []
    assert len(command(sent(None)[0])) < len(command(sent((0, 0))[0]))
