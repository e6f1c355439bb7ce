"""Processes by an identity that survives the reuse of process ids, and their end.

A process id alone says nothing after a crash or a restart of the machine: the kernel gives it to the
next program. Together with the time at which the process started it names one process for good.
"""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.05
_START_TIME_FIELD = 19  # of /proc/PID/stat, counted behind the command's name; see proc(5), starttime
_ZOMBIE = "Z"


@dataclass(frozen=True)
class ProcessIdentity:
    """One process that leads its own process group. `started` is opaque; equal means same process."""

    pid: int
    started: str

    @staticmethod
    def of(pid: int) -> "ProcessIdentity | None":
        """The identity of the live process `pid`; None when there is none (a zombie is none)."""
        started = _start_of(pid)
        return None if started is None else ProcessIdentity(pid, started)

    def alive(self) -> bool:
        """Whether exactly this process still runs."""
        return _start_of(self.pid) == self.started

    def end(self, grace_seconds: float, kill_seconds: float) -> bool:
        """SIGTERM to the process group, after `grace_seconds` SIGKILL; whether it is gone at the end.

        Sends nothing when the process id belongs to another process by now.
        """
        for number, patience in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, kill_seconds)):
            if not self.alive():
                return True
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return True
            if self._gone_within(patience):
                return True
        return False

    def _gone_within(self, seconds: float) -> bool:
        give_up = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() >= give_up:
                return False
            time.sleep(_POLL_SECONDS)
        return True


def _start_of(pid: int) -> str | None:
    if Path("/proc/self/stat").exists():
        return _start_in_proc(pid)
    return _start_from_ps(pid)


def _start_in_proc(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name stands in parentheses and may itself hold blanks and parentheses.
    fields = stat.rpartition(")")[2].split()
    if fields[0] == _ZOMBIE:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot}/{fields[_START_TIME_FIELD]}"


def _start_from_ps(pid: int) -> str | None:
    command = ["ps", "-o", "state=,lstart=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    state, _, started = shown.stdout.strip().partition(" ")
    return started.strip() if started and not state.startswith(_ZOMBIE) else None
