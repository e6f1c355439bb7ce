"""Identities of processes that stay unique when the kernel reuses process ids.

A process id alone is ambiguous after a crash or a restart of the machine, because the kernel can assign the id to
another program. A process id together with the start time identifies one process forever.
"""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.05
_START_TIME_FIELD = 19  # index in /proc/PID/stat after the command's name; see `starttime` in proc(5)
_ZOMBIE = "Z"


@dataclass(frozen=True)
class ProcessIdentity:
    """A process that leads its own process group.

    `started` is an opaque form of the start time. Equal values of both fields mean the same process.
    """

    pid: int
    started: str

    @staticmethod
    def find(pid: int) -> "ProcessIdentity | None":
        """Return the identity of the process `pid`, or None if that process is not alive. A zombie is not alive."""
        started = _start_of(pid)
        return None if started is None else ProcessIdentity(pid, started)

    def alive(self) -> bool:
        """Return whether exactly this process still runs."""
        return _start_of(self.pid) == self.started

    def end(self, grace_seconds: float, kill_seconds: float) -> bool:
        """Send SIGTERM to the process group, then SIGKILL, and return whether the process is gone.

        No signal is sent if the process id belongs to another process by now.

        Args:
            grace_seconds: The longest wait after SIGTERM.
            kill_seconds: The longest wait after SIGKILL.

        """
        for number, seconds in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, kill_seconds)):
            if not self.alive():
                return True
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return True
            if self._gone_within(seconds):
                return True
        return False

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() >= deadline:
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
    # The command's name is in parentheses, and the name itself can contain blanks and parentheses.
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
