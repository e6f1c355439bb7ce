"""The frames that the JVM and the Python processes of the jar exchange. Both directions use the same form.

    u32 length of the header, u32 length of the body, header, body

Numbers are big endian. The header is a JSON object in UTF-8. The meaning of the bytes in the body depends on the call.
"""

from __future__ import annotations

import json
import os
import select
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pyspark_pulsar.errors import ProtocolError

_HEAD: Final = struct.Struct(">II")
_NUMBER: Final = struct.Struct(">I")
_MOST_HEADER: Final = 1 << 27
"""The largest length of a header, in bytes.

If a program prints a text instead of a frame, the first four bytes of the text are a larger number than this length. So
the reader does not mistake the text for a frame.
"""
_MOST_BODY: Final = 1 << 29
_PIECE: Final = 1 << 20
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode

Frame = tuple[dict[str, Any], bytes]
Receive = Callable[[], Frame | None]
Send = Callable[[Mapping[str, Any], bytes], None]


class HeaderError(ProtocolError):
    """A frame whose header is not a JSON object. The next frame can still be read."""


def receiver(source: int, idle_seconds: float | None = None) -> Receive:
    """Return a function that reads the next frame from a file descriptor.

    The function returns None at the end of the file. If no frame arrives for `idle_seconds`, the function closes the
    descriptor and returns None. The function raises the errors of `read_frame`.
    """

    def receive() -> Frame | None:
        if idle_seconds is not None and not select.select([source], [], [], idle_seconds)[0]:
            # Calls that the jar writes from now on fail immediately, so the jar sends these calls to another process.
            os.close(source)
            return None
        return read_frame(source)

    return receive


def read_frame(source: int) -> Frame | None:
    """Read the next frame. Return None at the end of the file.

    Raises:
        HeaderError: The header is not a JSON object.
        ProtocolError: The bytes are not a frame, so nothing more can be read.

    """
    head = _read(source, _HEAD.size)
    if not head:
        return None
    header_length, body_length = _HEAD.unpack(_check_length(head, _HEAD.size))
    if header_length > _MOST_HEADER or body_length > _MOST_BODY:
        raise ProtocolError(
            f"reading a frame: expected a header of at most {_MOST_HEADER} bytes and a body of at most {_MOST_BODY} "
            f"bytes, got {header_length} and {body_length} bytes"
        )
    text = _check_length(_read(source, header_length), header_length)
    body = _check_length(_read(source, body_length), body_length)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise HeaderError(
            "reading a frame: expected a JSON object as header, got another text; report this as a bug"
        )
    return header, body


def sender(target: int) -> Send:
    """Return a function that writes whole frames to a file descriptor. The function is thread-safe.

    If a frame is larger than its reader accepts, the function writes nothing and raises `ProtocolError`.
    """
    lock = threading.Lock()

    def send(header: Mapping[str, Any], body: bytes = b"") -> None:
        # The header is ASCII, because names may contain text that UTF-8 cannot encode.
        text = _encode(header).encode()
        if len(text) > _MOST_HEADER or len(body) > _MOST_BODY:
            raise ProtocolError(
                f"sending a frame: expected a header of at most {_MOST_HEADER} bytes and a body of at most "
                f"{_MOST_BODY} bytes, got {len(text)} and {len(body)} bytes"
            )
        parts = [_HEAD.pack(len(text), len(body)) + text, body]
        with lock:
            for part in parts:
                left = memoryview(part)
                while left:
                    left = left[os.write(target, left) :]

    return send


def packed(parts: Iterable[bytes]) -> bytes:
    """Pack several byte strings into one body: a u32 count, then each string after its u32 length."""
    listed = list(parts)
    return b"".join([_NUMBER.pack(len(listed)), *(_NUMBER.pack(len(each)) + each for each in listed)])


def unpacked(body: bytes) -> list[bytes]:
    """Return the byte strings in a body that `packed` has built."""
    (count,) = _NUMBER.unpack_from(body)
    parts, at = [], _NUMBER.size
    for _ in range(count):
        (length,) = _NUMBER.unpack_from(body, at)
        at += _NUMBER.size
        parts.append(body[at : at + length])
        at += length
    return parts


def _read(source: int, length: int) -> bytes:
    """Read `length` bytes, or fewer at the end of the file."""
    parts: list[bytes] = []
    left = length
    while left:
        part = os.read(source, min(left, _PIECE))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _check_length(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise ProtocolError(
            f"reading a frame: expected {length} bytes, got {len(data)} bytes at the end of the stream"
        )
    return data
