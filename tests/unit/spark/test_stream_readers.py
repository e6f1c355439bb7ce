"""The calls of the jar to the readers of streams."""

from __future__ import annotations

import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.sql.types import StructType

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.spark.frames import unpacked
from pyspark_pulsar.spark.read_limits import ReadAllAvailable, ReadLimit, ReadMaxRows
from pyspark_pulsar.spark.stream_readers import StreamReaders

COLUMNS = StructType().add("id", "long")


class Reader:
    """A reader that answers with the arguments of the call."""

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


def opened() -> tuple[StreamReaders, int]:
    readers = StreamReaders()
    return readers, readers.open(pickle.dumps(Source()), COLUMNS.json())


def test_each_call_has_its_answer() -> None:
    Reader.stopped = False
    readers, number = opened()
    initial, limit, prepared, limited, everything, latest = (
        readers.call(number, call, values)
        for call, values in (
            ("initialOffset", []),
            ("getDefaultReadLimit", []),
            ("prepareForTriggerAvailableNow", []),
            ("latestOffset", ['{"a": 1}', "limited"]),
            ("latestOffset", ['{"a": 1}', "all"]),
            ("reportLatestOffset", []),
        )
    )
    assert (prepared, latest) == (b"", b"")
    assert json.loads(initial) == {"start": "earliest"}
    assert limit == b"ReadMaxRows(max_rows=7)"
    assert json.loads(limited) == {"from": {"a": 1}, "limit": "ReadMaxRows(max_rows=7)"}
    assert json.loads(everything) == {"from": {"a": 1}, "limit": repr(ReadAllAvailable())}
    assert not Reader.stopped
    readers.close(number)
    assert Reader.stopped
    readers.close(number)


def test_splits_are_pickled_one_by_one() -> None:
    readers, number = opened()
    answer = readers.call(number, "partitions", ['{"a": 1}', '{"a": 2}'])
    assert answer[:4] == (2).to_bytes(4, "big")
    first = int.from_bytes(answer[4:8], "big")
    assert pickle.loads(answer[8 : 8 + first]) == {"a": 1}
    assert pickle.loads(answer[12 + first :]) == {"a": 2}
    assert [pickle.loads(each) for each in unpacked(answer)] == [{"a": 1}, {"a": 2}]


def test_an_error_stops_the_reader() -> None:
    Reader.stopped = False
    readers, number = opened()
    with pytest.raises(ValueError, match="not 5"):
        readers.call(number, "commit", ['{"at": 5}'])
    assert Reader.stopped
    with pytest.raises(PulsarError, match="expected an open reader, got none"):
        readers.call(number, "initialOffset", [])


def test_readers_are_apart() -> None:
    readers, number = opened()
    other = readers.open(pickle.dumps(Source()), COLUMNS.json())
    assert other != number
    readers.close(number)
    assert json.loads(readers.call(other, "initialOffset", [])) == {"start": "earliest"}


def test_a_reader_is_closed_after_the_call_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end, ends = threading.Event(), threading.Event(), []

    def waiting(self: Reader) -> dict[str, Any]:
        begun.set()
        assert may_end.wait(30)
        ends.append(self.stopped)
        return {}

    monkeypatch.setattr(Reader, "initialOffset", waiting)
    Reader.stopped = False
    readers, number = opened()
    with ThreadPoolExecutor(2) as pool:
        call = pool.submit(readers.call, number, "initialOffset", [])
        assert begun.wait(30)
        close = pool.submit(readers.close, number)
        may_end.set()
        assert call.result(30) == b"{}"
        close.result(30)
    assert ends == [False]
    assert Reader.stopped
