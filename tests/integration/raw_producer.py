"""A producer of entries made by hand, for entries that no official client can send.

Examples are half of a chunked message, a repeated chunk, and a missing chunk.
"""

from __future__ import annotations

import struct
import threading
import time
from typing import Self

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import PRODUCER, SEND_RECEIPT
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.options import ReadOptions

Fields = tuple[tuple[int, int | bytes], ...]
_SEND = 6
_SECONDS = 60.0


def proto(*fields: tuple[int, int | bytes]) -> bytes:
    """Encode varint and length-delimited fields as Protobuf."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value)
        else:
            out += _varint(number << 3 | 2) + _varint(len(value)) + value
    return out


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


class RawProducer:
    """Sends one entry at a time, opening a producer for it, so that an unloaded topic does no harm."""

    def __init__(self, service_url: str, topic: str) -> None:
        self._client = BrokerClient(ReadOptions(service_url=service_url, topic=topic))
        self._topic = topic
        self._receipt = threading.Event()
        self._position = Position(0, 0)
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def on_command(self, command: wire.BaseCommand) -> None:
        assert command.type == SEND_RECEIPT, command
        stored = command.send_receipt.message_id
        self._position = Position(stored.ledgerId, stored.entryId)
        self._receipt.set()

    def on_entries(self) -> None: ...

    def on_closed(self, reason: ConnectionFailed) -> None: ...

    def send(self, payload: bytes, *fields: tuple[int, int | bytes]) -> Position:
        """Send an entry with `fields` of MessageMetadata besides the required ones; return its position."""
        self._sequence += 1
        metadata = proto((1, b"raw"), (2, self._sequence), (3, int(time.time() * 1000)), *fields)
        self._receipt.clear()
        self._client.retrying(lambda: self._send_once(metadata, payload))
        assert self._receipt.wait(_SECONDS), "no receipt"
        return self._position

    def _send_once(self, metadata: bytes, payload: bytes) -> None:
        self._client.forget_owner(self._topic)
        connection = self._client.owner_connection(self._topic)
        producer_id = connection.new_id()
        connection.add_producer(producer_id, self)
        opened = wire.CommandProducer(topic=self._topic, producer_id=producer_id, request_id=0)
        connection.request(wire.BaseCommand(type=PRODUCER, producer=opened), "opening a producer", _SECONDS)
        command = proto((1, _SEND), (6, proto((1, producer_id), (2, self._sequence), (3, 1))))
        body = (
            struct.pack(">I", len(command)) + command + struct.pack(">I", len(metadata)) + metadata + payload
        )
        connection.send_bytes(struct.pack(">I", len(body)) + body)

    def chunk(
        self, uuid: str, number: int, ranges: list[bytes], *fields: tuple[int, int | bytes]
    ) -> Position:
        """Send one chunk of the message that `ranges` make."""
        total = sum(map(len, ranges))
        return self.send(
            ranges[number],
            *fields,
            (9, total),
            (26, uuid.encode()),
            (27, len(ranges)),
            (28, total),
            (29, number),
        )
