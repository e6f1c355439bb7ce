"""Frames between the JVM and Python over a pipe."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.spark.frames import HeaderError, packed, read_frame, receiver, sender, unpacked


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers()), st.binary(max_size=1000))
def test_frames_arrive_as_they_were_sent(header: dict[str, Any], body: bytes) -> None:
    with pipe() as (source, target):
        send = sender(target)
        for _ in range(2):
            send(header, body)
        assert [read_frame(source) for _ in range(2)] == [(header, body)] * 2


def test_frames_of_several_threads_stay_whole() -> None:
    with pipe() as (source, target):
        send = sender(target)
        bodies = [bytes([number]) * 200_000 for number in range(8)]
        threads = [
            threading.Thread(target=send, args=({"id": number}, body)) for number, body in enumerate(bodies)
        ]
        for thread in threads:
            thread.start()
        for _ in bodies:
            header, body = read_frame(source) or ({}, b"")
            assert body == bodies[header["id"]]
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (struct.pack(">II", 5, 0) + b"{}", "got 2 bytes at the end"),
        (b"\0\0", "got 2 bytes at the end"),
        (struct.pack(">II", 2, 1 << 30) + b"{}", "at most"),
        (b"\nactivated", "at most"),
        (struct.pack(">II", 2, 0) + b"[]", "a JSON object"),
        (struct.pack(">II", 2, 0) + b"\xff\xff", "a JSON object"),
    ],
)
def test_an_invalid_frame_is_refused(sent: bytes, said: str) -> None:
    source, target = os.pipe()
    os.write(target, sent)
    os.close(target)
    with pytest.raises(ProtocolError, match=said):
        read_frame(source)
    os.close(source)


@pytest.mark.parametrize("header", [b"", b"nonsense", b"\xff\xfe", b"[1]", b"[" * 50_000])
def test_a_frame_after_a_bad_header_is_read(header: bytes) -> None:
    with pipe() as (source, target):
        os.write(target, struct.pack(">II", len(header), 3) + header + b"abc")
        sender(target)({"id": 7}, b"")
        with pytest.raises(HeaderError):
            read_frame(source)
        assert read_frame(source) == ({"id": 7}, b"")


def test_the_end_of_the_file_between_frames_is_the_end() -> None:
    source, target = os.pipe()
    os.close(target)
    assert read_frame(source) is None
    os.close(source)


def test_nothing_for_long_is_the_end() -> None:
    source, target = os.pipe()
    receive = receiver(source, 0.2)
    sender(target)({"id": 1}, b"")
    assert receive() == ({"id": 1}, b"")
    began = time.monotonic()
    assert receive() is None
    assert time.monotonic() - began >= 0.2
    # What is sent later is not lost in silence.
    with pytest.raises(BrokenPipeError):
        sender(target)({"id": 2}, b"")
    os.close(target)


def test_headers_are_ascii() -> None:
    with pipe() as (source, target):
        sender(target)({"id": 1, "result": "ü\n\ud800"}, b"")
        written = os.read(source, 1000)
    assert written.isascii()


def test_a_body_that_no_reader_accepts_is_not_sent() -> None:
    class Long(bytes):
        def __len__(self) -> int:
            return (1 << 29) + 1

    with pipe() as (source, target):
        with pytest.raises(ProtocolError, match="at most"):
            sender(target)({"id": 1}, Long())
        sender(target)({"id": 2}, b"")
        assert read_frame(source) == ({"id": 2}, b"")


def test_a_reader_that_went_away() -> None:
    source, target = os.pipe()
    os.close(source)
    with pytest.raises(BrokenPipeError):
        sender(target)({"ready": True}, b"")
    os.close(target)


@given(st.lists(st.binary(max_size=100)))
def test_packed_strings_are_unpacked(parts: list[bytes]) -> None:
    assert unpacked(packed(parts)) == parts
