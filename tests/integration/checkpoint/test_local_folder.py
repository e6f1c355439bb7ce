"""A checkpoint in a folder of this machine: our writer and Spark's own, on the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pyspark_pulsar.session.checkpoints import FILE_MANAGER_CLASS

_SETTING = "spark.sql.streaming.checkpointFileManagerClass"
_SPARKS = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"


class Files:
    """A file manager in the session's JVM, and the calls that the tests need."""

    def __init__(self, spark: SparkSession, class_name: str, folder: Path) -> None:
        self._jvm: Any = spark._jvm
        self._folder = folder
        conf = spark._jsparkSession.sessionState().newHadoopConf()
        conf.set(_SETTING, class_name)
        manager = self._jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
        self._manager = manager.create(self._path(""), conf)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(str(self._folder / name))

    def begin(self, name: str, content: bytes, *, overwrite: bool = False) -> Any:
        output = self._manager.createAtomic(self._path(name), overwrite)
        output.write(bytearray(content))
        return output

    def write(self, name: str, content: bytes, *, overwrite: bool = False) -> None:
        self.begin(name, content, overwrite=overwrite).close()

    def read(self, name: str) -> bytes:
        stream = self._manager.open(self._path(name))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def names(self) -> list[str]:
        return sorted(status.getPath().getName() for status in self._manager.list(self._path("")))


@pytest.fixture
def ours(spark: SparkSession, tmp_path: Path) -> Files:
    return Files(spark, FILE_MANAGER_CLASS, tmp_path)


@pytest.fixture
def sparks(spark: SparkSession, tmp_path: Path) -> Files:
    return Files(spark, _SPARKS, tmp_path)


def test_a_file_appears_when_it_is_complete(ours: Files, sparks: Files, tmp_path: Path) -> None:
    output = ours.begin("deep/7", b"v1\nseven")
    assert not (tmp_path / "deep" / "7").exists()
    output.close()
    output.close()
    assert (tmp_path / "deep" / "7").read_bytes() == b"v1\nseven" == sparks.read("deep/7")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["7"]


def test_the_first_of_two_writers_has_the_file(ours: Files, sparks: Files, tmp_path: Path) -> None:
    """Both had begun before: two drivers of one query."""
    first, second = ours.begin("7", b"first"), ours.begin("7", b"second")
    first.close()
    with pytest.raises(Py4JJavaError, match=r"org\.apache\.hadoop\.fs\.FileAlreadyExistsException"):
        second.close()
    assert ours.names() == ["7"]
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        sparks.write("7", b"third")
    assert ours.read("7") == b"first"


def test_what_is_cancelled_was_never_there(ours: Files, tmp_path: Path) -> None:
    output = ours.begin("7", b"half")
    output.cancel()
    output.close()
    assert list(tmp_path.iterdir()) == []


def test_each_continues_what_the_other_wrote(ours: Files, sparks: Files, tmp_path: Path) -> None:
    """Hadoop keeps a checksum of earlier content, and would report the new content as damaged."""
    sparks.write("7", b"by Spark")
    assert (tmp_path / ".7.crc").exists()
    ours.write("7", b"by the jar", overwrite=True)
    assert sparks.read("7") == ours.read("7") == b"by the jar"
    sparks.write("7", b"by Spark again", overwrite=True)
    assert ours.read("7") == b"by Spark again"
    assert ours.names() == ["7"]
