"""A streaming query whose driver and workers are killed while it writes exactly-once.

The sink reaches the broker through a forwarder that sees each command, so that the whole process group dies just
before a step of the protocol.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pulsar as official_client
import pytest
from fixtures.forwarder import Forwarder, Seen
from integration.official import Admin, messages_of
from integration.streams import send_numbers

from pyspark_pulsar.client.commands import ADD_PARTITION_TO_TXN, END_TXN, NEW_TXN
from pyspark_pulsar.standalone import LocalPulsar

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "stream_to_topic.py"
ROWS = 300
END_TXN_RESPONSE = 57
SEND_RECEIPT = 7
_DEADLINE_SECONDS = 240


class Query:
    """One run of the program, in a process group of its own."""

    def __init__(self, pulsar: LocalPulsar, source: str, sink_url: str, topic: str, scratch: Path) -> None:
        self._log = (scratch / "driver.log").open("a")
        arguments = [pulsar.service_url, source, sink_url, topic, str(scratch / "checkpoint")]
        self._process = subprocess.Popen(
            [sys.executable, PROGRAM, *arguments],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)

    def kill_workers(self) -> None:
        """All Python workers that Spark has forked for tasks; it runs their tasks again."""
        listing = subprocess.run(
            ["ps", "-o", "pid=,ppid=,args=", "-g", str(self._process.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
        daemons = {pid for pid, _, args in rows if "pyspark.daemon" in args}
        for pid, parent, _ in rows:
            if parent in daemons:
                os.kill(int(pid), signal.SIGKILL)

    def end(self) -> int:
        try:
            return self._process.wait(timeout=_DEADLINE_SECONDS)
        finally:
            if self._process.poll() is None:
                self.kill()
                self._process.wait(timeout=30)
            self._log.close()

    def said(self) -> str:
        return Path(self._log.name).read_text()


class Killer:
    """Kills the query, or its workers, when it has seen the n-th command of a kind, on whatever connection."""

    def __init__(self, command: int, nth: int, *, workers: bool = False) -> None:
        self._command = command
        self._left = nth
        self._workers = workers
        self._lock = threading.Lock()
        self.query: Query | None = None
        self.killed = False

    def __call__(self, seen: Seen) -> None:
        if seen.command != self._command:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0 and self.query is not None:
                self.killed = True
                if self._workers:
                    self.query.kill_workers()
                else:
                    self.query.kill()


@pytest.mark.parametrize(
    ("command", "nth"),
    [
        (NEW_TXN, 1),
        (ADD_PARTITION_TO_TXN, 1),
        (SEND_RECEIPT, 5),
        (END_TXN, 1),
        (END_TXN_RESPONSE, 1),
    ],
)
def test_killed_driver(
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    topic: str,
    tmp_path: Path,
    command: int,
    nth: int,
) -> None:
    source = f"{topic}-source"
    admin.create_partitioned(topic, 2)
    send_numbers(official, source, range(ROWS))
    killer = Killer(command, nth)
    with Forwarder(pulsar.service_url, killer) as forwarder:
        query = killer.query = Query(pulsar, source, forwarder.service_url, topic, tmp_path)
        assert query.end() == -signal.SIGKILL, query.said()[-3000:]
    assert killer.killed
    again = Query(pulsar, source, pulsar.service_url, topic, tmp_path)
    assert again.end() == 0, again.said()[-3000:]
    found = Counter(int(message.data()) for message in messages_of(official, topic))
    assert found == Counter(range(ROWS))


@pytest.mark.parametrize(("command", "nth"), [(ADD_PARTITION_TO_TXN, 1), (SEND_RECEIPT, 4)])
def test_killed_workers(
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    topic: str,
    tmp_path: Path,
    command: int,
    nth: int,
) -> None:
    """The first attempt's transaction is aborted, the second's rows are there, and a reader is not held up."""
    source = f"{topic}-source"
    admin.create_partitioned(topic, 2)
    send_numbers(official, source, range(ROWS))
    killer = Killer(command, nth, workers=True)
    with Forwarder(pulsar.service_url, killer) as forwarder:
        query = killer.query = Query(pulsar, source, forwarder.service_url, topic, tmp_path)
        assert query.end() == 0, query.said()[-3000:]
    assert killer.killed
    found = Counter(int(message.data()) for message in messages_of(official, topic))
    assert found == Counter(range(ROWS))
