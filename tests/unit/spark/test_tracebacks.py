"""Frames are left out where Spark's own programs write an error of this package, and nowhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql.types import StructType

from pyspark_pulsar.datasource import PulsarDataSource
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.read.batch.batch_reader import FilteringBatchReader, PulsarBatchReader
from pyspark_pulsar.read.microbatch.refused_stream import RefusedStream
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.spark.read_limits import ReadAllAvailable
from pyspark_pulsar.spark.tracebacks import HIDES_TRACEBACKS, KEEPS_TRACEBACKS, hides_tracebacks
from pyspark_pulsar.write.batch import PulsarBatchWriter
from pyspark_pulsar.write.stream import PulsarStreamWriter


@hides_tracebacks
class Reader:
    def plan(self) -> None:
        raise OptionError("planned wrongly")

    def read(self) -> Iterator[int]:
        yield 1
        raise OptionError("read wrongly")

    def fail(self) -> None:
        raise ValueError("a fault of ours")

    def _own(self) -> None:
        raise OptionError("not called by Spark")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEEPS_TRACEBACKS, raising=False)
    monkeypatch.setenv(HIDES_TRACEBACKS, "")


def in_program(name: str, call: Callable[[], Any]) -> str:
    """Return `HIDES_TRACEBACKS` after `call` has raised, called by code of the module `name`."""
    module = ModuleType(name)
    exec("def run(call):\n    return call()", module.__dict__)
    with pytest.raises((OptionError, ValueError)):
        module.run(call)
    return os.environ[HIDES_TRACEBACKS]


@pytest.mark.parametrize(
    "program",
    ["pyspark.worker", "pyspark.sql.worker.utils", "pyspark.sql.streaming.python_streaming_source_runner"],
)
def test_an_error_of_this_package_is_alone_in_sparks_programs(program: str) -> None:
    assert in_program(program, Reader().plan) == "1"
    os.environ[HIDES_TRACEBACKS] = ""
    assert in_program(program, lambda: list(Reader().read())) == "1"


def test_faults_of_the_package_keep_their_frames() -> None:
    assert in_program("pyspark.worker", Reader().fail) == ""


def test_the_users_own_process_is_left_alone() -> None:
    assert in_program("__main__", Reader().plan) == ""


def test_frames_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEEPS_TRACEBACKS, "1")
    assert in_program("pyspark.worker", Reader().plan) == ""


def test_rows_pass_unchanged() -> None:
    rows = Reader().read()
    assert next(rows) == 1
    with pytest.raises(OptionError, match="read wrongly"):
        next(rows)


def test_a_stream_that_cannot_be_made_says_why() -> None:
    """Spark would lose an error that making a reader raises, so the reader raises it when it is used."""
    source = PulsarDataSource({"service.url": "pulsar://h:1", "topik": "a"})
    module = ModuleType("pyspark.sql.streaming.python_streaming_source_runner")
    exec("def run(call):\n    return call()", module.__dict__)
    reader = module.run(lambda: source.streamReader(StructType()))
    assert isinstance(reader, RefusedStream)
    asked: list[Callable[[], object]] = [
        reader.initialOffset,
        reader.getDefaultReadLimit,
        reader.prepareForTriggerAvailableNow,
        lambda: reader.latestOffset({}, ReadAllAvailable()),
        lambda: reader.partitions({}, {}),
    ]
    for ask in asked:
        with pytest.raises(OptionError, match="unknown option 'topik'"):
            ask()
    reader.stop()
    with pytest.raises(OptionError, match="unknown option 'topik'"):
        source.streamReader(StructType())


@pytest.mark.parametrize(
    ("kind", "methods"),
    [
        (PulsarDataSource, ["schema", "reader", "streamReader", "writer", "streamWriter"]),
        (PulsarBatchReader, ["partitions", "read"]),
        (FilteringBatchReader, ["pushFilters"]),
        (
            PulsarStreamReader,
            ["latestOffset", "partitions", "read", "commit", "prepareForTriggerAvailableNow"],
        ),
        (PulsarBatchWriter, ["write", "commit", "abort"]),
        (PulsarStreamWriter, ["write", "commit", "abort"]),
    ],
)
def test_all_that_spark_calls_is_an_edge(kind: type, methods: list[str]) -> None:
    assert all(hasattr(vars(kind)[name], "__wrapped__") for name in methods)
    assert kind.__module__ in sys.modules
