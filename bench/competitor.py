"""The benchmark's side of a process that runs jobs, such as bench/segment_reader.py."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from process_use import cpu_seconds

SEGMENT_READER = (sys.executable, str(Path(__file__).parent / "segment_reader.py"))
Measures = dict[str, float]


class Competitor:
    """A measured program, whose process runs from the `with` statement to its end."""

    def __init__(self, command: Sequence[str] = SEGMENT_READER) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, job: Mapping[str, Any] | str) -> None:
        """Send a job as a line of JSON; a string is sent unchanged."""
        assert self._process.stdin is not None
        self._process.stdin.write((job if isinstance(job, str) else json.dumps(job)) + "\n")
        self._process.stdin.flush()

    def finish(self) -> Measures:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the reading process has failed; see what it printed"
        return dict(json.loads(line))

    def run(self, job: Mapping[str, Any] | str, **servers: Callable[[], float]) -> Measures:
        """Run a job and return the job's measures: `cpu` includes child processes, `servers` are further counters."""
        before = {name: read() for name, read in servers.items()}
        cpu = cpu_seconds(self._process.pid)
        self.start(job)
        answer = self.finish()
        answer["cpu"] = cpu_seconds(self._process.pid) - cpu
        return answer | {name: read() - before[name] for name, read in servers.items()}


def medians(runs: list[Measures]) -> Measures:
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}
