"""The start of a server's process, and a check of the JDK.

On request, the server ends when the process that started the server ends.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark_pulsar.errors import PrerequisiteMissing, StandaloneFailed
from pyspark_pulsar.tools.standalone import watchdog
from pyspark_pulsar.tools.standalone.process import ProcessIdentity
from pyspark_pulsar.tools.standalone.server_log import end_of_log, rotate_log

_LEAST_JAVA = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def check_java() -> None:
    """Raise PrerequisiteMissing if the `java` that `bin/pulsar` would run is missing or too old."""
    java_home = os.environ.get("JAVA_HOME")
    command = str(Path(java_home) / "bin" / "java") if java_home else "java"
    java = shutil.which(command)
    remedy = (
        f"Install JDK {_LEAST_JAVA} or later, for example by `apt-get install openjdk-17-jdk-headless` or `brew "
        f"install openjdk@17`. Set JAVA_HOME if this JDK is not the first on the PATH."
    )
    if java is None:
        msg = f"the Pulsar server needs Java {_LEAST_JAVA} or later, and {command} was not found. {remedy}"
        raise PrerequisiteMissing(msg)
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = _VERSION.search(shown.stderr + shown.stdout)
    if version is None or int(version[1]) < _LEAST_JAVA:
        installed = version[1] if version else "an unknown version"
        msg = f"the Pulsar server needs Java {_LEAST_JAVA} or later, got {installed} at {java}. {remedy}"
        raise PrerequisiteMissing(msg)


class ServerProcess:
    """A server process that this process started and must reap."""

    def __init__(
        self, command: list[str], environment: Mapping[str, str], log: Path, *, with_caller: bool
    ) -> None:
        """Start a command in its own session and process group, with its output in a new log.

        Args:
            command: The program and its arguments.
            environment: All environment variables of the command.
            log: The file for the output.
            with_caller: Also start a watchdog that ends the command when this process dies.

        Raises:
            StandaloneFailed: The command ended immediately.

        """
        if with_caller:
            command = [sys.executable, "-I", "-S", watchdog.__file__, str(os.getpid()), *command]
        rotate_log(log)
        with log.open("ab") as output:
            self._child = subprocess.Popen(  # noqa: S603 - our own command
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if with_caller else output,
                stderr=output,
                start_new_session=True,
            )
        pid = self._child.pid
        if self._child.stdout is not None:
            with self._child.stdout as output_of_watchdog:
                pid = int(output_of_watchdog.readline() or 0)
        identity = ProcessIdentity.find(pid) if pid else None
        if identity is None:
            self._child.wait()
            msg = f"the Pulsar server ended immediately. Read the end of its log {log}:\n{end_of_log(log)}"
            raise StandaloneFailed(msg)
        self.identity = identity

    def reap(self, seconds: float) -> None:
        """Collect the exit code of an ended server, so that no zombie remains."""
        self._child.wait(seconds)
