"""Repeated kills (SIGKILL) of Python workers and of the driver in a running stream: every row is stored once.

The stream runs as a process of its own into parquet files (an exactly-once sink), while a producer never
stops. After the last crash the rows are compared by count, distinct count and order per key. The negative
control shows that the same comparison finds repeated and lost rows.
"""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pulsar as official
import pytest
from integration.official import open_client
from pyspark.sql import SparkSession
from soak.query import Query

from pyspark_pulsar.tools.standalone import LocalPulsar

ROUNDS = 5
KEYS = 7
_DEADLINE_SECONDS = 240.0


class Numbers(threading.Thread):
    """A thread that sends "0", "1", "2", ... in batched entries, each with the key number % KEYS, until
    `finish`.
    """

    def __init__(self, service_url: str, topic: str) -> None:
        super().__init__(name="numbers", daemon=True)
        self._client = open_client(service_url)
        self._producer = self._client.create_producer(
            topic, schema=official.schema.StringSchema(), batching_max_messages=50
        )
        self._halt = threading.Event()
        self.sent = 0

    def run(self) -> None:
        while not self._halt.is_set():
            for _ in range(20):
                self._producer.send_async(str(self.sent), None, partition_key=f"k{self.sent % KEYS}")
                self.sent += 1
            self._producer.flush()
            time.sleep(0.02)

    def finish(self) -> int:
        self._halt.set()
        self.join()
        self._producer.flush()
        self._client.close()
        return self.sent


def faults(rows: list[tuple[str, str, tuple[int, int, int]]], expected: int) -> list[str]:
    """List the faults of (value, key, position) rows.

    The rows should be the numbers below `expected`, each once, and in order of position for each key.
    """
    found = Counter(value for value, _, _ in rows)
    wrong = [f"count {len(rows)}, expected {expected}"] if len(rows) != expected else []
    missing = [number for number in range(expected) if str(number) not in found]
    repeated = [value for value, times in found.items() if times > 1]
    wrong += [f"{len(missing)} missing, first {missing[0]}"] if missing else []
    wrong += [f"{len(repeated)} repeated, first {min(repeated, key=int)}"] if repeated else []
    by_key: dict[str, list[int]] = defaultdict(list)
    for value, key, _ in sorted(rows, key=lambda row: row[2]):
        by_key[key].append(int(value))
    wrong += [f"{key} out of order" for key, values in by_key.items() if values != sorted(values)]
    return wrong


def stored_rows(spark: SparkSession, scratch: Path) -> list[tuple[str, str, tuple[int, int, int]]]:
    frame = spark.read.parquet(str(scratch / "rows"))
    return [(row.value, row.key, (row.id.ledger, row.id.entry, row.id.batchIndex)) for row in frame.collect()]


def query_of(pulsar: LocalPulsar, topic: str, folder: Path) -> Query:
    return Query(folder, "stream_to_files.py", pulsar.service_url, topic, str(folder / "rows"))


def finish(query: Query) -> None:
    failed = query.read_what_is_there(_DEADLINE_SECONDS)
    assert failed is None, failed


@pytest.fixture
def numbers(pulsar: LocalPulsar, topic: str) -> Iterator[Numbers]:
    thread = Numbers(pulsar.service_url, topic)
    thread.start()
    yield thread
    if thread.is_alive():
        thread.finish()


def test_killed_workers_and_drivers_lose_and_repeat_no_row(
    spark: SparkSession, pulsar: LocalPulsar, topic: str, numbers: Numbers, tmp_path: Path, rng: random.Random
) -> None:
    killed_workers = 0
    query = query_of(pulsar, topic, tmp_path)
    try:
        for _ in range(ROUNDS):
            query.start()
            assert query.await_commits(1, _DEADLINE_SECONDS), query.end_of_log()
            time.sleep(rng.uniform(0.0, 0.5))
            killed_workers += query.kill_a_worker(rng, _DEADLINE_SECONDS)
            assert query.await_commits(2, _DEADLINE_SECONDS), query.end_of_log()
            time.sleep(rng.uniform(0.0, 1.0))
            assert not query.has_ended, query.end_of_log()
            query.kill()
    finally:
        query.kill()
    expected = numbers.finish()
    finish(query)
    assert killed_workers == ROUNDS
    assert expected > 0
    assert faults(stored_rows(spark, tmp_path), expected) == []

    # As the negative control, a run without offsets repeats the rows of earlier runs. The file sink skips batch ids
    # that it has seen, so both records are deleted; the files stay.
    for folder in (tmp_path / "checkpoint", tmp_path / "rows" / "_spark_metadata"):
        subprocess.run(["rm", "-r", folder], check=True)
    finish(query)
    subprocess.run(["rm", "-r", tmp_path / "rows" / "_spark_metadata"], check=True)
    found = faults(stored_rows(spark, tmp_path), expected)
    assert any("repeated" in fault for fault in found), found


def test_the_comparison_detects_lost_rows() -> None:
    rows = [(str(number), f"k{number % KEYS}", (1, number, 0)) for number in range(100)]
    assert faults(rows, 100) == []
    assert faults(rows[:50] + rows[51:], 100) == ["count 99, expected 100", "1 missing, first 50"]
    assert faults([*rows, rows[3]], 100) == ["count 101, expected 100", "1 repeated, first 3"]
    swapped = [(str(number), f"k{number % KEYS}", (1, -number, 0)) for number in range(100)]
    assert len(faults(swapped, 100)) == KEYS
