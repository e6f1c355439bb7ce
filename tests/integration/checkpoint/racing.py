"""Two drivers of one query on one checkpoint, which start at the same moment, again and again."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulsar as official_client
from integration.checkpoint.checkpoints import (
    PROGRAMS,
    PROVIDERS,
    SECONDS,
    location,
    send_numbers,
)
from programs.killable import ROUND, STARTED

ROWS = 40
"""The new numbers of a round; the same number of earlier ones is sent again."""
FENCED = (
    "has taken the checkpoint over",
    "expected the owner",
    "to be the only writer",
    "TransactionConflict",
    "Concurrent update to the log",
)
"""Errors of the loser: from the checkpoint, the sink's journal, or Spark if the other driver wrote the batch."""


class Driver:
    """An application that runs a query several times; each run reads the available messages."""

    def __init__(self, setting: dict[str, Any], log: Path) -> None:
        self.log = log
        self._log_begin = 0
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAMS / "stream_with_state.py"), json.dumps(setting), "--rounds"],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._follow, daemon=True).start()

    def await_started(self) -> None:
        self._await(STARTED)

    def go(self) -> None:
        self._log_begin = self.log.stat().st_size
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def outcome(self) -> str | None:
        """Return why the round failed; None if it did not."""
        failed: str | None = json.loads(self._await(ROUND).removeprefix(ROUND))["failed"]
        return failed

    def was_fenced(self, failed: str) -> bool:
        """Return whether this was the reason for the failed round. Only the log names the cause of a task's
        failure.
        """
        said = failed + self.log.read_bytes()[self._log_begin :].decode(errors="replace")
        return any(text in said for text in FENCED)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait(30)

    def _await(self, begin: str) -> str:
        while True:
            line = self._lines.get(timeout=SECONDS)
            assert line is not None, self.log.read_text()[-3000:]
            if line.startswith(begin):
                return line.strip()

    def _follow(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)


def race(
    service_url: str,
    client: official_client.Client,
    topic: str,
    name: str,
    folder: Path,
    rounds: int,
    say: Callable[[str], None],
) -> tuple[int, Counter[str]]:
    """Return the numbers that were sent to `topic`, and the wins of each driver. Both write to
    `<topic>-sink`.
    """
    query = {
        "checkpoint": location(name),
        "conf": PROVIDERS["rocksdb-2"],
        "source": {"service.url": service_url, "topic": topic, "startingOffsets": "earliest"},
        "sink": {"service.url": service_url, "topic": f"{topic}-sink"},
    }
    setting = {"cluster": {"service.url": service_url}, "queries": [query]}
    drivers = {each: Driver(setting, folder / f"driver-{each}.log") for each in ("a", "b")}
    won: Counter[str] = Counter()
    sent = 0
    try:
        for driver in drivers.values():
            driver.await_started()
        for number in range(rounds):
            send_numbers(client, topic, [*range(sent, sent + ROWS), *range(max(0, sent - ROWS), sent)])
            sent += ROWS
            for driver in drivers.values():
                driver.go()
            outcomes = {each: driver.outcome() for each, driver in drivers.items()}
            for each, failed in outcomes.items():
                assert failed is None or drivers[each].was_fenced(failed), f"round {number}: {failed}"
                won[each] += failed is None
            winners = [each for each, failed in outcomes.items() if failed is None]
            # One driver owned the checkpoint and the other the sink's journal; the next driver to start finds
            # a consistent state.
            won["neither"] += not winners
            say(f"round {number}: {', '.join(winners) or 'neither'}")
        alone = drivers["a"]
        alone.go()
        failed = alone.outcome()
        assert failed is None, f"alone: {failed}"
    finally:
        for driver in drivers.values():
            driver.kill()
    return sent, won
