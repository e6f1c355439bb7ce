"""Parsing CommandSend, which the package's kernel writes and its Python messages do not contain."""

from __future__ import annotations

from dataclasses import dataclass

_SEND_FIELD = (6 << 3) | 2


@dataclass(slots=True)
class Send:
    producer_id: int = 0
    sequence_id: int = 0
    num_messages: int = 1
    txnid_least_bits: int | None = None
    txnid_most_bits: int = 0


_FIELDS = {1: "producer_id", 2: "sequence_id", 3: "num_messages", 4: "txnid_least_bits", 5: "txnid_most_bits"}


def parse_send(command: bytes) -> Send:
    """Parse the CommandSend inside a BaseCommand."""
    offset = 0
    while command[offset] != _SEND_FIELD:
        _, offset = _varint(command, offset + 1)
    size, offset = _varint(command, offset + 1)
    end, send = offset + size, Send()
    while offset < end:
        key, offset = _varint(command, offset)
        number, offset = _varint(command, offset)
        if name := _FIELDS.get(key >> 3):
            setattr(send, name, number)
    return send


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7
