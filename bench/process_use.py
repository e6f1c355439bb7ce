"""CPU and memory of a process and its children, from Linux's process files."""

import contextlib
import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(root: int) -> float:
    """Return the user and system CPU seconds of the process and all its descendants, including ended descendants."""
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
    """Return the CPU seconds of all threads of this process.

    The resolution is finer than the ticks of Linux's process files.
    """
    return time.process_time()


def resident_mebibytes(*, peak: bool) -> float:
    """Return the current or the peak resident memory of this process."""
    wanted = "VmHWM:" if peak else "VmRSS:"
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(wanted):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no memory in /proc/self/status")


def processes_below(root: int, port: int) -> list[dict[str, float | str]]:
    """List the process and its children: program name, resident MiB, and the number of TCP connections to a `port`.

    Processes that end during the call are left out.
    """
    parents = _parents()
    sockets = _sockets_to(port)
    processes: list[dict[str, float | str]] = []
    for process in [root, *(child for child in parents if child != root and _is_below(child, root, parents))]:
        with contextlib.suppress(OSError):
            folder = Path(f"/proc/{process}")
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
            links = [str(link.readlink()) for link in (folder / "fd").iterdir()]
            processes.append(
                {
                    "name": status["Name"].strip(),
                    "mebibytes": int(status.get("VmRSS", "0 kB").split()[0]) / 1024,
                    "connections": len(sockets.intersection(links)),
                }
            )
    return processes


def memory_below(root: int) -> dict[str, float]:
    """Return the MiB of memory of the process and its children, by the program's name.

    Shared memory is divided equally among the processes that share the memory. For a JVM all resident memory counts,
    because a JVM shares little, and the shares are slow to read.
    """
    parents = _parents()
    taken: dict[str, float] = {}
    for process in [root, *(child for child in parents if child != root and _is_below(child, root, parents))]:
        with contextlib.suppress(OSError):
            folder = Path(f"/proc/{process}")
            name = (folder / "comm").read_text().strip()
            file, wanted = ("status", "VmRSS:") if name == "java" else ("smaps_rollup", "Pss:")
            lines = [each for each in (folder / file).read_text().splitlines() if each.startswith(wanted)]
            kind = "python" if name.startswith("python") else name
            taken[kind] = taken.get(kind, 0.0) + sum(int(line.split()[1]) for line in lines) / 1024
    return taken


def _parents() -> dict[int, int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return parents


def _sockets_to(port: int) -> set[str]:
    """Return established connections, with their names in /proc/PID/fd."""
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "01" and int(fields[2].rpartition(":")[2], 16) == port:
                sockets.add(f"socket:[{fields[9]}]")
    return sockets


def load_average() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]
