"""The frames of the process, its first answer, names of checkpoints, and settings."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.cluster import ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.process.frames import read_frame, sender
from pyspark_pulsar.checkpoint.process.service import serve
from pyspark_pulsar.errors import DeadlineExceeded, OptionError, ProtocolError

HERE = "pulsar+checkpoint://t/n/c"


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers()), st.binary(max_size=1000))
def test_frames_come_as_they_were_sent(header: dict[str, Any], body: bytes) -> None:
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
        (struct.pack(">II", 5, 0) + b"{}", "ends after 2 bytes"),
        (b"\0\0", "ends after 2 bytes"),
        (struct.pack(">II", 2, 1 << 30) + b"{}", "at most"),
        (struct.pack(">II", 2, 0) + b"[]", "a JSON object"),
        (struct.pack(">II", 2, 0) + b"\xff\xff", "a JSON object"),
    ],
)
def test_what_is_no_frame_is_refused(sent: bytes, said: str) -> None:
    source, target = os.pipe()
    os.write(target, sent)
    os.close(target)
    with pytest.raises(ProtocolError, match=said):
        read_frame(source)
    os.close(source)


def test_the_end_of_the_file_between_frames_is_the_end() -> None:
    source, target = os.pipe()
    os.close(target)
    assert read_frame(source) is None
    os.close(source)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ({}, "settings of the cluster"),
        ({"settings": {}}, "service.url"),
        ({"settings": {"service.url": "http://x"}}, "service.url"),
        ({"settings": {"service.url": "pulsar://x:1", "servce.url": "y"}}, "did you mean"),
    ],
)
def test_wrong_settings_end_the_process_with_an_answer(first: dict[str, Any], said: str) -> None:
    answers: list[Any] = []
    serve(
        iter([(first, b""), ({"id": 1}, b"")]).__next__, lambda header, body: answers.append((header, body))
    )
    assert len(answers) == 1
    error = answers[0][0]["error"]
    assert error["kind"] == "Invalid"
    assert said in error["message"]


def test_settings_of_the_catalog_are_taken_as_they_are() -> None:
    settings = ClusterSettings.parse(
        {
            "service.url": "pulsar://x:1",
            "ADMIN.url": "http://y:2",
            "defaultNamespace": "a/b",
            "tenants": "a",
            "systemTopics": "true",
            "deliveryGuarantee": "exactly-once",
            "pulsar.client.operationTimeoutMs": "5000",
        }
    )
    assert settings.options.service_url == "pulsar://x:1"
    assert settings.options.admin_url == "http://y:2"
    assert settings.options.operation_timeout_ms == 5000


def test_names_of_checkpoints() -> None:
    path = parse_path(f"{HERE}/state/0/a b%20\u00e9")
    assert path.parts == ("state", "0", "a b%20\u00e9")
    assert str(path.checkpoint) == HERE
    assert str(path.checkpoint.index) == "persistent://t/n/c-index"
    assert str(path.checkpoint.content) == "persistent://t/n/c-content"
    assert str(path) == f"{HERE}/state/0/a b%20\u00e9"
    assert parse_path(f"{HERE}//x/") == parse_path(f"{HERE}/x")
    assert parse_path(HERE).parts == ()


@pytest.mark.parametrize(
    "text",
    ["", "file:///x", "pulsar+checkpoint://t/n", "pulsar+checkpoint://t", f"{HERE}/../x", f"{HERE}/./x",
     "pulsar+checkpoint://t t/n/c", "pulsar+checkpoint:///n/c"],
)  # fmt: skip
def test_what_names_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"expected|may have"):
        parse_path(text)


def test_a_deadline_that_is_over_says_what_for() -> None:
    assert Deadline.after(5).left("x") > 4
    with pytest.raises(DeadlineExceeded, match=r"reading it: expected .* within 0 s.*last attempt: no route"):
        Deadline.after(0).left("reading it", "no route")
