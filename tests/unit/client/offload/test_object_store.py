"""Tests of reads from tiered storage: pieces, time limits, and errors without secrets."""

from __future__ import annotations

import builtins
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError

from pyspark_pulsar.client.offload import object_store as module
from pyspark_pulsar.client.offload.object_store import STEP, open_stored_bytes, read_in_steps
from pyspark_pulsar.client.offload.policy import TieredStore
from pyspark_pulsar.errors import (
    LedgerUnavailable,
    OptionError,
    PrerequisiteMissing,
    TieredStorageUnavailable,
)


def test_pieces_are_in_order_and_one_is_fetched_ahead() -> None:
    asked: list[tuple[int, int]] = []

    def read(start: int, end: int) -> bytes:
        asked.append((start, end))
        return bytes([len(asked)])

    end = 5 + 3 * STEP + 1
    assert b"".join(read_in_steps(read, 5, end)) == bytes([1, 2, 3, 4])
    assert asked[0] == (5, 5 + STEP)
    assert asked[-1] == (end - 1, end)
    assert list(read_in_steps(read, 7, 7)) == []
    asked.clear()
    ranges = read_in_steps(read, 0, 100 * STEP)
    next(ranges)
    time.sleep(0.2)
    assert len(asked) <= 3
    ranges.close()
    time.sleep(0.2)
    assert len(asked) <= 4
    assert not [thread for thread in threading.enumerate() if thread.name == "pulsar-tiered"]


def test_a_failure_is_raised_after_the_pieces_before_it() -> None:
    def read(start: int, _: int) -> bytes:
        if start:
            raise LedgerUnavailable("gone")
        return b"first"

    ranges = read_in_steps(read, 0, 3 * STEP)
    assert next(ranges) == b"first"
    with pytest.raises(LedgerUnavailable, match="gone"):
        next(ranges)


def test_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "data").write_bytes(b"0123456789")
    folder = open_stored_bytes(TieredStore(tmp_path.as_uri()))
    assert folder.size("x/data", "here") == 10
    assert folder.read("x/data", 2, 5, "here") == b"234"
    assert folder.whole("x/data", "here") == b"0123456789"
    with pytest.raises(LedgerUnavailable, match=r"here: expected .*x/data, got: 2 bytes from byte 8"):
        folder.read("x/data", 8, 20, "here")
    for ask in (lambda: folder.size("x/none", "here"), lambda: folder.read("x/none", 0, 1, "here")):
        with pytest.raises(LedgerUnavailable, match="the copy does not exist") as failed:
            ask()
        assert not isinstance(failed.value, TieredStorageUnavailable)


def test_a_file_system_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "data")  # opening a FIFO waits for a writer
    folder = open_stored_bytes(TieredStore(tmp_path.as_uri(), patience_seconds=0.3))
    with pytest.raises(TieredStorageUnavailable, match=r"no answer within 0\.3 s"):
        folder.read("data", 0, 1, "here")
    with (tmp_path / "data").open("wb"):
        pass


def test_settings_that_obstore_does_not_know_are_named_without_their_values() -> None:
    with pytest.raises(OptionError, match="got unknown settings nonsense") as refused:
        open_stored_bytes(TieredStore("s3://b", (("nonsense", "SECRET"), ("region", "r"))))
    assert "SECRET" not in str(refused.value)
    with pytest.raises(OptionError, match="expected true or false for allow_http"):
        open_stored_bytes(TieredStore("s3://b", (("allow_http", "perhaps"),)))


def test_a_place_that_needs_more_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AZURE")]:
        monkeypatch.delenv(name)
    with pytest.raises(TieredStorageUnavailable, match="the setting account_name is missing"):
        open_stored_bytes(TieredStore("az://c"))


def test_without_obstore_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("obstore"):
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(PrerequisiteMissing, match=r"pip install 'pyspark-pulsar\[tiered\]'"):
        open_stored_bytes(TieredStore("s3://without-obstore"))


def test_a_request_that_the_store_answered_is_not_repeated() -> None:
    said = (
        "Generic S3 error: Error performing GET http://h/b/k?X-Amz-Signature=SECRET in 1ms - Server returned non-2xx "
        "status code: 403 Forbidden: <Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>SECRET</AWSAccessKeyId>"
        "<StringToSign>SECRET</StringToSign></Error>"
    )
    for fault in (GenericError(said), PermissionDeniedError(said)):
        text = module._reason(fault)
        assert "(403 Forbidden, SignatureDoesNotMatch)" in text
        assert "SECRET" not in text
    assert module._reason(ValueError("SECRET")) == "Value"
