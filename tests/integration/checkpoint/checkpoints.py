"""Shared parts of the tests of checkpoints in Pulsar: names, settings, numbers to count, and comparisons of
results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pulsar as official_client
from integration.official import await_true
from programs.killable import STARTED

PROGRAMS: Final = Path(__file__).parents[2] / "programs"
SECONDS: Final = 240.0

_STREAMING: Final = "spark.sql.streaming"
_PROVIDERS: Final = "org.apache.spark.sql.execution.streaming.state"
_NO_CHECKSUM_FILES: Final = {f"{_STREAMING}.checkpoint.fileChecksum.enabled": "false"}
PROVIDERS: Final[dict[str, dict[str, str]]] = {
    **{
        f"rocksdb-{version}": {
            **_NO_CHECKSUM_FILES,
            f"{_STREAMING}.stateStore.providerClass": f"{_PROVIDERS}.RocksDBStateStoreProvider",
            f"{_STREAMING}.stateStore.checkpointFormatVersion": str(version),
            f"{_STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        }
        for version in (1, 2)
    },
    # Spark refuses format 2 for it.
    "default-1": {
        **_NO_CHECKSUM_FILES,
        f"{_STREAMING}.stateStore.providerClass": f"{_PROVIDERS}.HDFSBackedStateStoreProvider",
        f"{_STREAMING}.stateStore.checkpointFormatVersion": "1",
    },
}
"""Session settings for each state store provider, in each of its formats."""


def new_name() -> str:
    return f"c-{uuid.uuid4().hex[:12]}"


def location(name: str) -> str:
    return f"pulsar+checkpoint://public/default/{name}"


def of_session(conf: dict[str, str]) -> dict[str, str]:
    """Return the settings as a running session needs them: Spark passes its settings to Hadoop unchanged."""
    return {key.removeprefix("spark.hadoop."): value for key, value in conf.items()}


def send_numbers(client: official_client.Client, topic: str, numbers: Iterable[int]) -> None:
    """Send the numbers in this order, in batched entries."""
    producer = client.create_producer(topic)
    for number in numbers:
        producer.send_async(str(number).encode(), lambda *_: None)
    producer.flush()
    producer.close()


def faults(rows: list[dict[str, int]], numbers: int) -> list[str]:
    """Return the faults of rows that tests/programs/stream_with_state.py wrote, in their order.

    The program read the numbers below `numbers`, first in order, and later again. The faults are of count,
    distinct count, and order in each part.
    """
    found = [row["number"] for row in rows]
    wrong = [] if len(found) == numbers else [f"count {len(found)}, expected {numbers}"]
    missing, strange = set(range(numbers)) - set(found), set(found) - set(range(numbers))
    repeated = sorted(number for number, times in Counter(found).items() if times > 1)
    wrong += [f"{len(missing)} missing, first {min(missing)}"] if missing else []
    wrong += [f"{len(strange)} unknown, first {min(strange)}"] if strange else []
    wrong += [f"{len(repeated)} repeated, first {repeated[0]}"] if repeated else []
    for part in {row["part"] for row in rows}:
        of_part = [row["number"] for row in rows if row["part"] == part]
        wrong += [f"part {part} out of order"] if of_part != sorted(of_part) else []
    return wrong


class Program:
    """Runs of tests/programs/stream_with_state.py, one after the other, each in a process group of its own."""

    def __init__(self, folder: Path, setting: dict[str, Any], program: str = "stream_with_state.py") -> None:
        self.log = folder / f"driver-{uuid.uuid4().hex[:6]}.log"
        self._command = [sys.executable, str(PROGRAMS / program), json.dumps(setting)]
        self._process: subprocess.Popen[bytes] | None = None
        self._begin = 0
        self._ends = False

    def start(self, *flags: str, **environment: str) -> None:
        with self.log.open("a") as log:
            self._begin = log.tell()
            self._ends = "--available-now" in flags
            self._process = subprocess.Popen(
                [*self._command, *flags],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        # At its end the whole group is gone, JVM and workers.

    def await_started(self) -> None:
        await_true("the queries run", lambda: STARTED in self.log_text() or self.has_ended(), seconds=SECONDS)
        # A query that reads only the available messages may have ended already.
        assert not self.has_ended() or self._is_done(), self.end_of_log()

    def has_ended(self) -> bool:
        assert self._process is not None
        return self._process.poll() is not None

    def _is_done(self) -> bool:
        assert self._process is not None
        return self._ends and self._process.poll() == 0 and STARTED in self.log_text()

    def wait(self) -> int:
        """Return the exit code, after the program has ended by itself."""
        assert self._process is not None
        try:
            return self._process.wait(SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            try:
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                assert process.poll() is not None
            process.wait(30)

    def log_text(self) -> str:
        """Return the log of this run."""
        return self.log.read_bytes()[self._begin :].decode(errors="replace")

    def end_of_log(self) -> str:
        lines = [line for line in self.log_text().splitlines() if not line.lstrip().startswith("at ")]
        return "\n".join(lines[-60:])
