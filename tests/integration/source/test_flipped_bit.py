"""A flipped bit in a stored entry is found, and named."""

from __future__ import annotations

import pytest

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import CorruptEntryError
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.tools.standalone import LocalPulsar


def test_a_flipped_bit_names_topic_ledger_and_entry(filled: str, pulsar: LocalPulsar) -> None:
    options = parse_options(ReadOptions, {"service.url": pulsar.service_url, "topic": filled})
    data, (ledger, entry) = stored_entry(options, filled)
    assert decoded_rows(options, filled, ledger, entry, data) == 1
    checked = data.index(b"\x0e\x01") + 2  # Behind the magic of the checksum every bit is guarded by it.
    for position in range(checked, len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(CorruptEntryError) as caught:
            decoded_rows(options, filled, ledger, entry, bytes(damaged))
        for word in (f"topic {filled}", f"ledger {ledger}", f"entry {entry}", "damaged"):
            assert word in str(caught.value)


def decoded_rows(options: ReadOptions, topic: str, ledger: int, entry: int, data: bytes) -> int:
    entries = EntryBatch()
    entries.push(ledger, entry, data)
    decoder = EntryDecoder(
        resolve_source_schema(options), topic=topic, partition=-1, fetch_schema=lambda _: None
    )
    return sum(batch.num_rows for batch in [*decoder.decode(entries), *decoder.finish()])


def stored_entry(options: ReadOptions, topic: str) -> tuple[bytes, tuple[int, int]]:
    """The first entry's bytes as the broker sends them, cut from the MESSAGE frame on the socket, and its id."""
    received = bytearray()
    with BrokerClient(options) as client:
        transport = client.owner_connection(topic)._transport
        commands = transport.commands

        def listen(data: bytes) -> list[bytes]:
            received.extend(data)
            return commands(data)

        transport.commands = listen  # type: ignore[method-assign]
        consumer = subscribe(client, topic, EARLIEST)
        received.clear()
        consumer.add_permits(1)
        entries = consumer.take(10)
        consumer.close()
    assert entries is not None
    assert entries.first is not None
    total = int.from_bytes(received[0:4], "big")
    command = int.from_bytes(received[4:8], "big")
    return bytes(received[8 + command : 4 + total]), entries.first
