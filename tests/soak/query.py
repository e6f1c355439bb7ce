"""The query under test: a process that can be killed at any moment, its checkpoint, and the Python workers below it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from pyspark_pulsar.message_id import Position

_PROGRAMS = Path(__file__).parent.parent / "programs"
_POLL_SECONDS = 0.05
_TASKS = "pyspark.daemon pyspark.worker"
_TAIL, _LOOK_BACK = 4000, 100_000


class Query:
    """Runs of one query on one checkpoint, one after the other, each in a process group of its own."""

    def __init__(self, folder: Path, program: str, *arguments: str) -> None:
        """Starts nothing. `folder` is for all that the query leaves behind; the program in programs/ is given its
        checkpoint there, and then `arguments`."""
        self.log = folder / "driver.log"
        self._checkpoint = folder / "checkpoint"
        self._command = [sys.executable, str(_PROGRAMS / program), str(self._checkpoint), *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self._committed_before = 0

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended without having been killed."""
        return self._process is not None and self._process.poll() is not None

    def start(self, *flags: str) -> None:
        assert self._process is None, "the query already runs"
        self._committed_before = self.committed()
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                [*self._command, *flags],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """End driver and workers as a crash of the machine does; nothing when no run is left."""
        process, self._process = self._process, None
        if process is not None:
            # The workers of a driver that is gone belong to its group still.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                assert process.poll() is not None
            process.wait(timeout=30)

    def await_commits(self, count: int, seconds: float) -> bool:
        """Whether this run has committed so many micro-batches, within so long and before it ended."""
        give_up = time.monotonic() + seconds
        while self.committed() < self._committed_before + count:
            if self.has_ended or time.monotonic() > give_up:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def kill_a_worker(self, chance: random.Random, seconds: float) -> bool:
        """Kill one of the Python workers that run tasks; False when there was none within `seconds`."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up and not self.has_ended:
            workers = self._workers()
            if workers:
                try:
                    os.kill(chance.choice(workers), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                return True
            time.sleep(_POLL_SECONDS)
        return False

    def kill_workers(self) -> None:
        """All that run tasks at this moment."""
        for worker in self._workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def _workers(self) -> list[int]:
        """Process ids of what Spark has forked for tasks, its daemon's children.

        Other daemons fork what plans a query; Spark does not repeat that when it is killed.
        """
        assert self._process is not None
        listing = subprocess.run(
            ["ps", "-o", "pid=,ppid=,args=", "-g", str(self._process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
        daemons = {pid for pid, _, args in rows if _TASKS in args}
        return [int(pid) for pid, parent, _ in rows if parent in daemons]

    def read_what_is_there(self, seconds: float) -> str | None:
        """Run with Trigger.AvailableNow up to the present ends; what went wrong, or None."""
        self.start("--available-now")
        assert self._process is not None
        try:
            code = self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"the query did not reach the end within {seconds:.0f} s"
        finally:
            self.kill()
        return None if code == 0 else f"the last run of the query failed: {self.end_of_log()}"

    def end_of_log(self) -> str:
        """Without Java's stack traces, which hide what happened."""
        lines = self.log.read_bytes()[-_LOOK_BACK:].decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if not line.startswith("\tat "))[-_TAIL:]

    def committed(self) -> int:
        """The number of micro-batches that Spark's checkpoint has as done, of which it keeps the last hundred."""
        return max(self._commits(), default=-1) + 1

    def positions(self) -> dict[str, Position]:
        """Partition's name to the position up to which the query will never read again."""
        commits = self._commits()
        if not commits:
            return {}
        offsets = self._checkpoint / "offsets" / str(max(commits))
        document = json.loads(offsets.read_text(encoding="utf-8").splitlines()[-1])
        return {name: Position.parse(text) for name, text in document["positions"].items()}

    def _commits(self) -> list[int]:
        return [int(each.name) for each in (self._checkpoint / "commits").glob("*") if each.name.isdigit()]
