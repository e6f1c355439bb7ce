"""The server of bench/streams.py: one local Pulsar that shares the cores with those who read from it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from integration.official import Admin
from process_use import cpu_seconds

from pyspark_pulsar.tools.standalone import LocalPulsar


@dataclass(frozen=True)
class StreamServer:
    service_url: str
    admin_url: str
    home: Path
    pid: int

    @property
    def admin(self) -> Admin:
        return Admin(self.admin_url)

    def create(self, topic: str, partitions: int) -> None:
        """One partition is a topic that is not partitioned."""
        if partitions > 1:
            self.admin.create_partitioned(topic, partitions)
        else:
            self.admin.create(topic)

    def keep(self, topic: str) -> None:
        """All that is sent to the topics of its namespace."""
        self.admin.keep_for(topic, minutes=-1)

    def close_ledger(self, topic: str) -> None:
        self.admin.unload(topic)

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def java_command(self, program: str) -> tuple[str, ...]:
        """A program beside this file, on the server's own jars."""
        # Without a configuration Log4j prints errors only, and to standard output.
        quiet = ("-Dlog4j2.level=OFF", "-Dlog4j.configurationFile=none")
        source = str(Path(__file__).parent / f"{program}.java")
        return ("java", "-Xmx512m", "-cp", f"{self.home}/lib/*", *quiet, source)


@contextlib.contextmanager
def stream_server(data: Path) -> Iterator[StreamServer]:
    with LocalPulsar(data=data) as running:
        pid = running.status().pid
        assert pid is not None
        time.sleep(2.0)  # What it does after its start is nobody's.
        yield StreamServer(running.service_url, running.admin_url, running.home, pid)
