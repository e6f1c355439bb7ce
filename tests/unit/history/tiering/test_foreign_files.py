"""Files of another topic are never committed to a table."""

from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.history.tiering.commit import commit_parts
from pyspark_pulsar.history.tiering.writing import spark_writers
from pyspark_pulsar.model.topic import TopicName, TopicPartition

ORDERS, OTHERS = TopicName.parse("orders"), TopicName.parse("others")


class Table:
    name = "orders"
    positions = SimpleNamespace(with_partitions=lambda changed: changed)

    def __init__(self) -> None:
        self.committed: list[Any] = []

    def commit(self, files: list[Any], _: Any) -> None:
        self.committed.append(files)


def test_a_round_refuses_them() -> None:
    files = [
        SimpleNamespace(partition=TopicPartition(topic, 0), rows=1, size=1) for topic in (ORDERS, OTHERS)
    ]
    table = Table()
    with pytest.raises(ProtocolError, match=r"expected files of .*orders, got files of .*others"):
        commit_parts(ORDERS, table, {}, files)  # type: ignore[arg-type]
    assert table.committed == []
    commit_parts(ORDERS, table, {}, files[:1])  # type: ignore[arg-type]
    assert table.committed == [files[:1]]


def test_one_job_runs_at_a_time_whatever_thread_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds of one session would register their data sources under one name, and one would use the
    other's files.
    """
    registered: list[object] = []

    class Session:
        """A job during whose start another thread requests one."""

        @property
        def dataSource(self) -> Any:  # noqa: N802 -- Spark's name
            return SimpleNamespace(register=registered.append)

        @property
        def read(self) -> Any:
            assert not spark_writers._ONE_JOB.acquire(blocking=False)
            return SimpleNamespace(format=lambda _: SimpleNamespace(load=self.load))

        def load(self) -> Any:
            return SimpleNamespace(collect=list)

    monkeypatch.setattr(spark_writers, "_source", lambda tasks: tasks)
    with pytest.raises(KeyError):
        spark_writers.SparkWriters(Session()).write([object()])  # type: ignore[arg-type, list-item]
    assert len(registered) == 1
    assert spark_writers._ONE_JOB.acquire(blocking=False)
    spark_writers._ONE_JOB.release()
