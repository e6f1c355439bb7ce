"""What processes have used, from /proc: CPU of a process and all below it, resident memory of one."""

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(root: int) -> float:
    """User and system time of the process and of all processes below it, ended (and waited for) or not."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            spent[int(entry.name)] = sum(int(field) for field in fields[11:15])
    return sum(ticks for process, ticks in spent.items() if _is_below(process, root, parents)) / _TICKS


def _is_below(process: int, root: int, parents: dict[int, int]) -> bool:
    while process != root:
        if process not in parents:
            return False
        process = parents[process]
    return True


def own_cpu_seconds() -> float:
    """Of this process alone, all threads; finer than the ticks of /proc."""
    return time.process_time()


def resident_mebibytes(*, peak: bool) -> float:
    """Of this process: now, or the most since it began."""
    wanted = "VmHWM:" if peak else "VmRSS:"
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(wanted):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no memory in /proc/self/status")


def load_average() -> float:
    """Of the last minute."""
    return os.getloadavg()[0]
