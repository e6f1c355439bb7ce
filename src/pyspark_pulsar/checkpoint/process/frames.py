"""Frames on the standard streams of the process, the same in both directions.

    u32 length of the header, u32 length of the body, header, body

Numbers are big endian. The header is a JSON object in UTF-8; the body is bytes.
"""

from __future__ import annotations

import json
import os
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark_pulsar.errors import ProtocolError

_HEAD: Final = struct.Struct(">II")
_MOST_HEADER: Final = 1024 * 1024
_MOST_BODY: Final = 16 * 1024 * 1024
_PIECE: Final = 1 << 20

Send = Callable[[Mapping[str, Any], bytes], None]


def read_frame(source: int) -> tuple[dict[str, Any], bytes] | None:
    """The next one; None at the end of the file. Raises `ProtocolError`."""
    head = _read(source, _HEAD.size)
    if not head:
        return None
    header_length, body_length = _HEAD.unpack(_whole(head, _HEAD.size))
    if header_length > _MOST_HEADER or body_length > _MOST_BODY:
        raise ProtocolError(
            f"a frame says {header_length} and {body_length} bytes: expected at most {_MOST_HEADER} and {_MOST_BODY}"
        )
    text = _whole(_read(source, header_length), header_length)
    body = _whole(_read(source, body_length), body_length)
    try:
        header = json.loads(text)
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise ProtocolError("a frame's header: expected a JSON object, got something else")
    return header, body


def sender(target: int) -> Send:
    """Writes frames to a file descriptor, each whole; safe to use from several threads."""
    lock = threading.Lock()

    def send(header: Mapping[str, Any], body: bytes = b"") -> None:
        # ASCII throughout: also names that no UTF-8 can have find their way back.
        text = json.dumps(header, separators=(",", ":")).encode()
        parts = [_HEAD.pack(len(text), len(body)) + text, body]
        with lock:
            for part in parts:
                left = memoryview(part)
                while left:
                    left = left[os.write(target, left) :]

    return send


def _read(source: int, length: int) -> bytes:
    """So many bytes; fewer at the end of the file."""
    parts: list[bytes] = []
    left = length
    while left:
        part = os.read(source, min(left, _PIECE))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _whole(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise ProtocolError(f"a frame ends after {len(data)} bytes: expected {length}")
    return data
