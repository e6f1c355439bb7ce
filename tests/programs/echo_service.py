"""A service for tests of the channel between the JVM and Python. The jar starts `python -m echo_service`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.spark.service import Answer, describe_error, find_call, run

_SIGNAL_SECONDS = 5.0


class EchoService:
    idle_seconds: float | None = None
    threads = 1

    def __init__(self) -> None:
        self._resumed: list[str] = []

    def start(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        if "wrong" in settings:
            raise OptionError(f"the setting {settings['wrong']} is wrong")
        self.threads = settings["threads"]
        return {"pid": os.getpid()}

    def open(self) -> None:
        pass

    def answer(self, call: str, arguments: Mapping[str, Any], body: bytes) -> Answer:
        calls = {
            "echo": self._echo,
            "sleep": self._sleep,
            "die": self._die,
            "stop": self._stop,
            "resume": self._resume,
            "resumed": self._list_resumed,
        }
        return find_call(calls, call)(arguments, body)

    def error(self, call: str, fault: Exception) -> dict[str, str]:
        return describe_error(fault, lambda _: "Invalid")

    def close(self) -> None:
        pass

    def _echo(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        return {"pid": os.getpid(), "arguments": arguments}, body

    def _sleep(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        """Touch `mark`, and answer after `seconds`."""
        Path(arguments["mark"]).touch()
        time.sleep(arguments["seconds"])
        return self._echo(arguments, body)

    def _die(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        """Create `mark` and end the process if `mark` does not exist, otherwise answer."""
        mark = Path(arguments["mark"])
        if not mark.exists():
            mark.touch()
            os.write(sys.stderr.fileno(), b"the disk is full\n")
            os._exit(7)
        return self._echo(arguments, body)

    def _stop(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        """Create `mark` and stop the whole process with SIGSTOP if `mark` does not exist, otherwise answer."""
        mark = Path(arguments["mark"])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
            # The signal may reach another thread first.
            time.sleep(_SIGNAL_SECONDS)
        return self._echo(arguments, body)

    def _resume(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        self._resumed.append(arguments["what"])
        return None, b""

    def _list_resumed(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        return sorted(self._resumed), b""


if __name__ == "__main__":
    run(EchoService())
