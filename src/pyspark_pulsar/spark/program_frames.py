"""What the jar and the programs of `spark.driver_process` send each other: bytes, with a u32 length (big endian) before
them."""

from __future__ import annotations

from typing import BinaryIO


def read_number(stream: BinaryIO) -> int:
    """A u32; 0 where the stream has ended."""
    return int.from_bytes(stream.read(4), "big")


def read_frame(stream: BinaryIO) -> bytes:
    """Empty where the stream has ended."""
    return stream.read(read_number(stream))


def number(value: int) -> bytes:
    """A u32."""
    return value.to_bytes(4, "big")


def frame(data: bytes) -> bytes:
    """`data` behind its length."""
    return number(len(data)) + data
