"""Stream readers in the driver's process (`spark.driver_process`), which the jar calls by number.

    call                            values                          answer's body
    open_stream                                                     none; the result is the reader's number
    initialOffset                                                   an offset
    latestOffset                    an offset, "all" or "limited"   an offset
    getDefaultReadLimit                                             "all", or the limit of the options
    prepareForTriggerAvailableNow                                   nothing
    reportLatestOffset                                              an offset, or nothing
    partitions                      two offsets                     the splits, each pickled (`spark.frames.packed`)
    commit                          an offset                       nothing
    close_stream                                                    nothing

Offsets are JSON. The body of `open_stream` is the data source in Spark's pickled form. The argument `columns` of
`open_stream` is the schema of the stream, in Spark's JSON form. A reader stops after its first error.

Spark has its own program for stream readers. In Spark 4.1, Spark's program passes neither limits nor the query's
present offset to a reader.
"""

from __future__ import annotations

import itertools
import json
import pickle
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.spark.frames import packed
from pyspark_pulsar.spark.read_limits import ReadAllAvailable

ALL: Final = "all"
"""The value of a limit for a read without a limit."""

_NUMBER_BITS: Final = 48


class StreamReaders:
    """Stream readers by number. Threads may share an instance. Calls of one reader run one after another."""

    def __init__(self) -> None:
        # Numbers begin at a random value, because a restarted process must not reuse a number of the earlier process.
        self._numbers = itertools.count(secrets.randbits(_NUMBER_BITS))
        self._readers: dict[int, tuple[Any, threading.Lock]] = {}

    def open(self, source: bytes, columns: str) -> int:
        """Create a reader, and return its number.

        The bytes in `source` are unpickled, so they must come from this user's own driver.
        """
        from pyspark.sql.types import StructType

        reader = pickle.loads(source).streamReader(StructType.fromJson(json.loads(columns)))  # noqa: S301
        number = next(self._numbers)
        self._readers[number] = reader, threading.Lock()
        return number

    def call(self, number: int, call: str, values: Sequence[str]) -> bytes:
        """Call a reader, and return the body of the answer. If the reader raises an error, stop the reader."""
        reader, lock = self._readers.get(number, (None, threading.Lock()))
        with lock:
            if number not in self._readers:
                raise PulsarError(
                    f"stream {number}: expected an open reader, got none, because its process ended or an earlier call "
                    f"failed; restart the query"
                )
            try:
                return CALLS[call](reader, *values)
            except BaseException:
                del self._readers[number]
                reader.stop()
                raise

    def close(self, number: int) -> None:
        """Wait for a running call of a reader, and stop the reader. Do nothing if the reader has stopped already."""
        reader, lock = self._readers.get(number, (None, threading.Lock()))
        with lock:
            if self._readers.pop(number, None) is not None:
                reader.stop()


def _initial_offset(reader: Any) -> bytes:
    return _json(reader.initialOffset())


def _latest_offset(reader: Any, start: str, limit: str) -> bytes:
    requested = ReadAllAvailable() if limit == ALL else reader.getDefaultReadLimit()
    return _json(reader.latestOffset(json.loads(start), requested))


def _default_read_limit(reader: Any) -> bytes:
    limit = reader.getDefaultReadLimit()
    return (ALL if isinstance(limit, ReadAllAvailable) else str(limit)).encode()


def _prepare(reader: Any) -> bytes:
    reader.prepareForTriggerAvailableNow()
    return b""


def _report_latest_offset(reader: Any) -> bytes:
    offset = reader.reportLatestOffset()
    return b"" if offset is None else _json(offset)


def _partitions(reader: Any, start: str, end: str) -> bytes:
    return packed(_pickle(each) for each in reader.partitions(json.loads(start), json.loads(end)))


def _pickle(split: Any) -> bytes:
    """Pickle a split in Spark's way for workers, with functions of this package by value (`spark.shipped_objects`)."""
    from pyspark import cloudpickle

    pickled: bytes = cloudpickle.dumps(split)  # type: ignore[no-untyped-call]
    return pickled


def _commit(reader: Any, end: str) -> bytes:
    reader.commit(json.loads(end))
    return b""


CALLS: Final[Mapping[str, Callable[..., bytes]]] = {
    "initialOffset": _initial_offset,
    "latestOffset": _latest_offset,
    "getDefaultReadLimit": _default_read_limit,
    "prepareForTriggerAvailableNow": _prepare,
    "reportLatestOffset": _report_latest_offset,
    "partitions": _partitions,
    "commit": _commit,
}
"""The functions for the calls of an open reader. Each function returns the body of the answer."""


def _json(offset: Any) -> bytes:
    return json.dumps(offset).encode()
