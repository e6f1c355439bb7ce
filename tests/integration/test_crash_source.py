"""kill -9 of Python workers and of the driver, in mid-stream, again and again: every row once.

The stream runs as a process of its own into parquet files (an exactly-once sink), while a producer never
stops. After the last crash the rows are compared by count, distinct count and order per key. The negative
control shows that the same comparison finds repeated and lost rows.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pulsar as official
import pytest
from pyspark.sql import SparkSession

from pyspark_pulsar.standalone import LocalPulsar

PROGRAM = Path(__file__).parent.parent / "programs" / "stream_to_files.py"
ROUNDS = 10
KEYS = 7
_DEADLINE_SECONDS = 240.0


class Numbers(threading.Thread):
    """Sends "0", "1", "2", ... in batched entries, each under the key number % KEYS, until told to stop."""

    def __init__(self, service_url: str, topic: str) -> None:
        super().__init__(name="numbers", daemon=True)
        self._client = official.Client(service_url)
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


class Stream:
    """One run of the program, in a process group of its own."""

    def __init__(self, pulsar: LocalPulsar, topic: str, scratch: Path, *flags: str) -> None:
        self._commits = scratch / "checkpoint" / "commits"
        self._log = (scratch / "driver.log").open("a")
        self._process = subprocess.Popen(
            [
                sys.executable,
                PROGRAM,
                pulsar.service_url,
                topic,
                scratch / "checkpoint",
                scratch / "rows",
                *flags,
            ],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def committed(self) -> int:
        return sum(1 for each in self._commits.glob("*") if each.name.isdigit())

    def await_commits(self, more: int) -> None:
        """Wait until this many more micro-batches are committed."""
        goal = self.committed() + more
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while self.committed() < goal:
            assert self._process.poll() is None, f"the driver ended; see {self._log.name}"
            assert time.monotonic() < deadline, (
                f"no micro-batch for {_DEADLINE_SECONDS} s; see {self._log.name}"
            )
            time.sleep(0.05)

    def workers(self) -> list[int]:
        """Process ids of the Python workers that Spark has forked for tasks."""
        listing = subprocess.run(
            ["ps", "-o", "pid=,ppid=,args=", "-g", str(self._process.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
        daemons = {pid for pid, _, args in rows if "pyspark.daemon" in args}
        return [int(pid) for pid, parent, _ in rows if parent in daemons]

    def kill_a_worker(self, chance: random.Random) -> bool:
        workers = self.workers()
        if not workers:
            return False
        try:
            os.kill(chance.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=30)
        self._log.close()

    def end(self) -> None:
        """Wait for a run with --available-now."""
        assert self._process.wait(timeout=_DEADLINE_SECONDS) == 0, Path(self._log.name).read_text()[-3000:]
        self._log.close()


def faults(rows: list[tuple[str, str, tuple[int, int, int]]], expected: int) -> list[str]:
    """What is wrong with (value, key, position) rows, which should be the numbers below `expected`, each once,
    and in order of position for each key."""
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


@pytest.fixture
def numbers(pulsar: LocalPulsar, topic: str) -> Iterator[Numbers]:
    thread = Numbers(pulsar.service_url, topic)
    thread.start()
    yield thread
    if thread.is_alive():
        thread.finish()


def test_kill_workers_and_drivers(
    spark: SparkSession, pulsar: LocalPulsar, topic: str, numbers: Numbers, tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201
    chance = random.Random(seed)
    killed_workers = 0
    for _ in range(ROUNDS):
        stream = Stream(pulsar, topic, tmp_path)
        try:
            stream.await_commits(1)
            time.sleep(chance.uniform(0.0, 0.5))
            while not stream.kill_a_worker(chance):
                time.sleep(0.01)
            killed_workers += 1
            stream.await_commits(1)
            time.sleep(chance.uniform(0.0, 1.0))
        finally:
            stream.kill()
    expected = numbers.finish()
    Stream(pulsar, topic, tmp_path, "--available-now").end()
    assert killed_workers == ROUNDS
    assert expected > 0
    assert faults(stored_rows(spark, tmp_path), expected) == []


def test_the_comparison_finds_a_lost_checkpoint(
    spark: SparkSession, pulsar: LocalPulsar, topic: str, numbers: Numbers, tmp_path: Path
) -> None:
    """Negative control: without the offsets, a second run repeats the rows of the first."""
    stream = Stream(pulsar, topic, tmp_path)
    stream.await_commits(2)
    stream.kill()
    expected = numbers.finish()
    # The file sink skips batch ids that it has seen, so both memories go; the files stay.
    for folder in (tmp_path / "checkpoint", tmp_path / "rows" / "_spark_metadata"):
        subprocess.run(["rm", "-r", folder], check=True)
    Stream(pulsar, topic, tmp_path, "--available-now").end()
    subprocess.run(["rm", "-r", tmp_path / "rows" / "_spark_metadata"], check=True)
    found = faults(stored_rows(spark, tmp_path), expected)
    assert any("repeated" in fault for fault in found), found


def test_the_comparison_finds_lost_rows() -> None:
    rows = [(str(number), f"k{number % KEYS}", (1, number, 0)) for number in range(100)]
    assert faults(rows, 100) == []
    assert faults(rows[:50] + rows[51:], 100) == ["count 99, expected 100", "1 missing, first 50"]
    assert faults([*rows, rows[3]], 100) == ["count 101, expected 100", "1 repeated, first 3"]
    swapped = [(str(number), f"k{number % KEYS}", (1, -number, 0)) for number in range(100)]
    assert len(faults(swapped, 100)) == KEYS
