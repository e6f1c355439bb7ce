"""The conversation of the jar with a stream's reader, as bytes."""

from __future__ import annotations

import io
import json
import pickle
from typing import Any

import pytest
from pyspark.sql.types import StructType

from pyspark_pulsar.spark.read_limits import ReadAllAvailable, ReadLimit, ReadMaxRows
from pyspark_pulsar.spark.stream_program import main

COLUMNS = StructType().add("id", "long")


class Reader:
    """Answers with what it was asked."""

    stopped = False

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"start": "earliest"}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(7)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        return {"from": start, "limit": repr(limit)}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
        return [start, end]

    def commit(self, end: dict[str, Any]) -> None:
        raise ValueError(f"not {end['at']}")

    def stop(self) -> None:
        Reader.stopped = True


class Source:
    def streamReader(self, schema: StructType) -> Reader:  # noqa: N802
        assert schema == COLUMNS
        return Reader()


def framed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def conversation(*calls: tuple[str, list[str]]) -> list[bytes]:
    """The answers; the first one is that the reader is there."""
    requests = framed(
        pickle.dumps(Source()),
        COLUMNS.json().encode(),
        *(json.dumps([*each, "WARN,WARN"]).encode() for each in calls),
    )
    answers = io.BytesIO()
    try:
        main(io.BytesIO(requests), answers)
    finally:
        answers.seek(0)
    parts = []
    while head := answers.read(4):
        parts.append(answers.read(int.from_bytes(head, "big")))
    return parts


def test_each_call_has_its_answer() -> None:
    Reader.stopped = False
    begun, initial, limit, prepared, limited, everything, latest = conversation(
        ("initialOffset", []),
        ("getDefaultReadLimit", []),
        ("prepareForTriggerAvailableNow", []),
        ("latestOffset", ['{"a": 1}', "limited"]),
        ("latestOffset", ['{"a": 1}', "all"]),
        ("reportLatestOffset", []),
    )
    assert (begun, prepared, latest) == (b"", b"", b"")
    assert json.loads(initial) == {"start": "earliest"}
    assert limit == b"ReadMaxRows(max_rows=7)"
    assert json.loads(limited) == {"from": {"a": 1}, "limit": "ReadMaxRows(max_rows=7)"}
    assert json.loads(everything) == {"from": {"a": 1}, "limit": repr(ReadAllAvailable())}
    assert Reader.stopped


def test_splits_are_pickled_one_by_one() -> None:
    _, answer = conversation(("partitions", ['{"a": 1}', '{"a": 2}']))
    assert answer[:4] == (2).to_bytes(4, "big")
    first = int.from_bytes(answer[4:8], "big")
    assert pickle.loads(answer[8 : 8 + first]) == {"a": 1}
    assert pickle.loads(answer[12 + first :]) == {"a": 2}


def test_what_is_raised_ends_the_conversation() -> None:
    Reader.stopped = False
    with pytest.raises(ValueError, match="not 5"):
        conversation(("commit", ['{"at": 5}']), ("initialOffset", []))
    assert Reader.stopped
