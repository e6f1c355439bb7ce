"""A program of `spark.driver_process`: the conversation of the jar with a stream's reader.

The jar sends the data source as Spark has pickled it, then the columns that the stream reads, as Spark writes a
schema in JSON. The answer is empty. From there on each request is a call, `[name, [arguments], levels]` in JSON, with
the levels of the session's log (`spark.logging.follow_levels`), and the answer is what the call returns:

    call                            arguments                       answer
    initialOffset                                                   an offset
    latestOffset                    an offset, "all" or "limited"   an offset
    getDefaultReadLimit                                             "all", or what the options limit
    prepareForTriggerAvailableNow                                   nothing
    reportLatestOffset                                              an offset, or nothing
    partitions                      two offsets                     u32 count, then each pickled, with a u32 length
    commit                          an offset                       nothing

Offsets are JSON. All that is sent has a u32 length before it (big endian). What is raised ends the conversation; in
place of the answer's length then stands the number by which Spark's programs say so (`spark.driver_process`).

Spark has a program for it as well, which in 4.1 knows neither limits nor where the query stands.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

from pyspark_pulsar.spark.logging import follow_levels
from pyspark_pulsar.spark.program_frames import frame, number, read_frame
from pyspark_pulsar.spark.read_limits import ReadAllAvailable

ALL: Final = "all"
"""The limit that is none."""


def main(requests: BinaryIO, answers: BinaryIO) -> None:
    """Reads what this user's own driver has pickled, and nothing else."""
    from pyspark.sql.types import StructType

    source = pickle.loads(read_frame(requests))  # noqa: S301
    columns = StructType.fromJson(json.loads(read_frame(requests)))
    reader = source.streamReader(columns)
    try:
        _send(answers, b"")
        while request := read_frame(requests):
            call, arguments, levels = json.loads(request)
            follow_levels(levels)
            _send(answers, _CALLS[call](reader, *arguments))
    finally:
        reader.stop()


def _initial_offset(reader: Any) -> bytes:
    return _json(reader.initialOffset())


def _latest_offset(reader: Any, start: str, limit: str) -> bytes:
    asked = ReadAllAvailable() if limit == ALL else reader.getDefaultReadLimit()
    return _json(reader.latestOffset(json.loads(start), asked))


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
    pickled = [_pickled(each) for each in reader.partitions(json.loads(start), json.loads(end))]
    return number(len(pickled)) + b"".join(map(frame, pickled))


def _pickled(split: Any) -> bytes:
    """As Spark pickles what goes to workers: functions of ours go along by value (`spark.shipped`)."""
    from pyspark import cloudpickle

    pickled: bytes = cloudpickle.dumps(split)  # type: ignore[no-untyped-call]
    return pickled


def _commit(reader: Any, end: str) -> bytes:
    reader.commit(json.loads(end))
    return b""


_CALLS: Final[Mapping[str, Callable[..., bytes]]] = {
    "initialOffset": _initial_offset,
    "latestOffset": _latest_offset,
    "getDefaultReadLimit": _default_read_limit,
    "prepareForTriggerAvailableNow": _prepare,
    "reportLatestOffset": _report_latest_offset,
    "partitions": _partitions,
    "commit": _commit,
}


def _json(offset: Any) -> bytes:
    return json.dumps(offset).encode()


def _send(answers: BinaryIO, answer: bytes) -> None:
    answers.write(frame(answer))
    answers.flush()
