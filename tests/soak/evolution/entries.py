"""Entries that name any version of a topic's schema, whatever the topic's latest version is."""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from integration.raw_producer import proto

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import PRODUCER, SEND_RECEIPT
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.options import ReadOptions

NUMBER = "n"
"""The property that numbers the messages of a topic."""
_PRODUCER_NAME = b"evolution"
_FIRST_PUBLISHED = 1_767_225_600_000
_SEND = 6
_SECONDS = 60.0


@dataclass(frozen=True)
class Sent:
    """A message of a topic: its number, its payload, and the version that it names, or None if it names none."""

    number: int
    payload: bytes | None
    version: int | None


class _Receipts:
    """The positions of entries, as the broker acknowledges them."""

    def __init__(self, count: int) -> None:
        self.positions: list[tuple[int, int]] = []
        self._count = count
        self._all = threading.Event()

    def on_command(self, command: wire.BaseCommand) -> None:
        assert command.type == SEND_RECEIPT, command
        stored = command.send_receipt.message_id
        self.positions.append((stored.ledgerId, stored.entryId))
        if len(self.positions) == self._count:
            self._all.set()

    def on_entries(self) -> None: ...

    def on_closed(self, reason: ConnectionFailed) -> None: ...

    def wait(self) -> None:
        assert self._all.wait(_SECONDS), f"{len(self.positions)} receipts of {self._count}"


class EntrySender:
    """A sender of messages to any topic of a server."""

    def __init__(self, service_url: str) -> None:
        self._client = BrokerClient(ReadOptions(service_url=service_url, topic="any"))

    def close(self) -> None:
        self._client.close()

    def send(self, topic: str, messages: Sequence[Sent], *, is_batch: bool) -> list[tuple[int, int]]:
        """Send messages, each as an entry or all as one entry. Return the ledger and the entry of each message."""
        entries = [_batch(messages)] if is_batch else [_single(message) for message in messages]
        receipts = self._client.retrying(lambda: self._send(topic, entries))
        return receipts * len(messages) if is_batch else receipts

    def _send(self, topic: str, entries: Sequence[bytes]) -> list[tuple[int, int]]:
        self._client.forget_owner(topic)
        connection = self._client.owner_connection(topic)
        producer, receipts = connection.new_id(), _Receipts(len(entries))
        connection.add_producer(producer, receipts)
        opened = wire.CommandProducer(topic=topic, producer_id=producer, request_id=0)
        connection.request(wire.BaseCommand(type=PRODUCER, producer=opened), "opening a producer", _SECONDS)
        for sequence, entry in enumerate(entries):
            command = proto((1, _SEND), (6, proto((1, producer), (2, sequence), (3, 1))))
            body = struct.pack(">I", len(command)) + command + entry
            connection.send_bytes(struct.pack(">I", len(body)) + body)
        receipts.wait()
        return receipts.positions


def _single(message: Sent) -> bytes:
    fields = [
        (4, _property(message)),
        (6, b"k%d" % (message.number % 3)),
        (12, _FIRST_PUBLISHED + message.number),
        (25, int(message.payload is None)),
    ]
    return _entry([message], fields, message.payload or b"")


def _batch(messages: Sequence[Sent]) -> bytes:
    payload = b""
    for message in messages:
        data = message.payload or b""
        single = proto(
            (1, _property(message)), (2, b"k%d" % (message.number % 3)), (3, len(data)),
            (5, _FIRST_PUBLISHED + message.number), (8, message.number), (9, int(message.payload is None)),
        )  # fmt: skip
        payload += struct.pack(">I", len(single)) + single + data
    return _entry(messages, [(11, len(messages))], payload)


def _entry(messages: Sequence[Sent], fields: list[tuple[int, int | bytes]], payload: bytes) -> bytes:
    first = messages[0]
    if first.version is not None:
        fields.append((16, first.version.to_bytes(8, "big")))
    metadata = proto(
        (1, _PRODUCER_NAME),
        (2, first.number),
        (3, _FIRST_PUBLISHED + first.number),
        (9, len(payload)),
        *fields,
    )
    return struct.pack(">I", len(metadata)) + metadata + payload


def _property(message: Sent) -> bytes:
    return proto((1, NUMBER.encode()), (2, b"%d" % message.number))
