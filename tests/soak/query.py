"""The query under test: a process that can be killed at any moment, with its checkpoint and its Python workers."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fixtures.spark_cluster import SparkCluster
from programs.killable import STARTED
from soak.checkpoint import Checkpoint, InFolder

from pyspark_pulsar.model.position import Position

_PROGRAMS = Path(__file__).parent.parent / "programs"
_POLL_SECONDS = 0.05
_TASKS = "pyspark.daemon pyspark.worker"
_EXECUTOR = "CoarseGrainedExecutorBackend"
_TAIL, _LOOK_BACK = 4000, 100_000


@dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    command: str


class Query:
    """Runs of one query on one checkpoint, one after the other, each in a process group of its own."""

    def __init__(
        self,
        folder: Path,
        program: str,
        *arguments: str,
        cluster: SparkCluster | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        """Prepare a query without starting it.

        Args:
            folder: the folder for all files of the query.
            program: the program in programs/.
            arguments: the program's arguments after the checkpoint, which is in `folder` by default.
            cluster: the cluster that runs the query's tasks, or None to run them in the query's own process.
        """
        self._cluster = cluster
        self.log = folder / "driver.log"
        self._checkpoint = checkpoint or InFolder(folder / "checkpoint")
        self._command = [sys.executable, str(_PROGRAMS / program), self._checkpoint.location, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self._committed_before = 0
        self.interrupted_epochs = 0
        """The number of epochs that `await_epoch` has found interrupted."""
        self._log_begin = 0

    @property
    def has_ended(self) -> bool:
        """Return whether the run has ended without a kill."""
        return self._process is not None and self._process.poll() is not None

    @property
    def has_started(self) -> bool:
        """Return whether the run has started its streaming query."""
        return STARTED.encode() in self.log.read_bytes()[self._log_begin :]

    def start(self, *flags: str) -> None:
        assert self._process is None, "the query already runs"
        self._committed_before = self.committed()
        with self.log.open("a") as log:
            self._log_begin = log.tell()
            self._process = subprocess.Popen(
                [*self._command, *flags],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill the driver and its local workers, as in a crash of the machine. Do nothing if no run is active.

        Executors of a cluster end by themselves a moment later. Until then, the executors still run tasks.
        """
        process, self._process = self._process, None
        if process is not None:
            # The workers of a dead driver still belong to its group.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                assert process.poll() is not None
            process.wait(timeout=30)

    def await_commits(self, count: int, seconds: float) -> bool:
        """Return whether this run commits `count` micro-batches within `seconds` and before it ends."""
        return self._await_committed(self._committed_before + count, seconds)

    def await_next_commit(self, seconds: float) -> bool:
        """Return whether one more micro-batch is committed within `seconds` and before the run ends."""
        return self._await_committed(self.committed() + 1, seconds)

    def await_epoch(self, seconds: float) -> bool:
        """Wait until a micro-batch is planned and not committed. Return False if none was running within `seconds`."""
        give_up = time.monotonic() + seconds
        while max(self._numbers("offsets"), default=-1) <= max(self._commits(), default=-1):
            if self.has_ended or time.monotonic() > give_up:
                return False
            time.sleep(_POLL_SECONDS)
        self.interrupted_epochs += 1
        return True

    def kill_a_worker(self, chance: random.Random, seconds: float) -> bool:
        """Kill one of the Python workers that run tasks. Return False if no such worker existed within `seconds`."""
        return self._kill_one(self._workers, chance, seconds)

    def kill_an_executor(self, chance: random.Random, seconds: float) -> bool:
        """Kill one of the cluster's executors. Return False if no executor existed within `seconds`."""
        return self._kill_one(self._executors, chance, seconds)

    def kill_workers(self) -> None:
        """Kill all processes that run tasks at this moment."""
        for worker in self._workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def _await_committed(self, count: int, seconds: float) -> bool:
        give_up = time.monotonic() + seconds
        while self.committed() < count:
            if self.has_ended or time.monotonic() > give_up:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _workers(self) -> list[int]:
        """Return the ids of the processes that the daemon of Spark has forked for tasks.

        Other daemons fork the planning processes, which Spark does not restart after a kill.
        """
        processes = self._processes()
        daemons = {process.pid for process in processes if _TASKS in process.command}
        return [process.pid for process in processes if process.parent in daemons]

    def _executors(self) -> list[int]:
        return [process.pid for process in self._processes() if _EXECUTOR in process.command]

    def _processes(self) -> list[_Process]:
        """Return the query's process and all processes that it or its cluster's workers have started."""
        assert self._process is not None
        shown = subprocess.run(
            ["ps", "-e", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=False
        )
        lines = (line.split(None, 2) for line in shown.stdout.splitlines())
        processes = [_Process(int(line[0]), int(line[1]), line[2]) for line in lines if len(line) == 3]
        workers = self._cluster.workers if self._cluster is not None else ()
        family = {self._process.pid, *(worker.pid for worker in workers)}
        while grown := {process.pid for process in processes if process.parent in family} - family:
            family |= grown
        return [process for process in processes if process.pid in family]

    def _kill_one(self, choices: Callable[[], list[int]], chance: random.Random, seconds: float) -> bool:
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up and not self.has_ended:
            pids = choices()
            if pids:
                try:
                    os.kill(chance.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                return True
            time.sleep(_POLL_SECONDS)
        return False

    def read_what_is_there(self, seconds: float) -> str | None:
        """Run with Trigger.AvailableNow up to the present ends. Return the error, or None if the run succeeded."""
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
        """Return the end of the log without Java's stack traces, which hide the events."""
        lines = self.log.read_bytes()[-_LOOK_BACK:].decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if not line.startswith("\tat "))[-_TAIL:]

    def committed(self) -> int:
        """Return the number of completed micro-batches in Spark's checkpoint, which keeps the last hundred."""
        return max(self._commits(), default=-1) + 1

    def positions(self) -> dict[str, Position]:
        """Return the position of each partition, by its name. The query never reads again before these positions."""
        commits = self._commits()
        if not commits:
            return {}
        document = json.loads(self._checkpoint.text(f"offsets/{max(commits)}").splitlines()[-1])
        return {name: Position.parse(text) for name, text in document["positions"].items()}

    def _commits(self) -> list[int]:
        return self._numbers("commits")

    def _numbers(self, log: str) -> list[int]:
        return [int(name) for name in self._checkpoint.names(log) if name.isdigit()]
