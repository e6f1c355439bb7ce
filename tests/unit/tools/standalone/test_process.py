import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyspark_pulsar.tools.standalone import watchdog
from pyspark_pulsar.tools.standalone.process import ProcessIdentity

_SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
_STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)",
]


def _start(command: list[str]) -> "subprocess.Popen[str]":
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    return child


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[str]"]:
    with _start(_SLEEP) as child:
        yield child
        child.kill()


def test_a_process_is_itself(sleeper: "subprocess.Popen[str]") -> None:
    identity = ProcessIdentity.find(sleeper.pid)
    assert identity is not None
    assert identity == ProcessIdentity.find(sleeper.pid)
    assert identity.alive()
    assert identity != ProcessIdentity.find(os.getpid())


def test_end_is_graceful_and_leaves_no_live_process(sleeper: "subprocess.Popen[str]") -> None:
    identity = ProcessIdentity.find(sleeper.pid)
    assert identity is not None
    assert identity.end(10, 10)
    assert not identity.alive()  # a zombie until its parent waits for it
    assert ProcessIdentity.find(sleeper.pid) is None
    assert sleeper.wait(10) == -signal.SIGTERM
    assert identity.end(0, 0)


def test_a_process_that_ignores_the_request_is_killed() -> None:
    with _start(_STUBBORN) as child:
        identity = ProcessIdentity.find(child.pid)
        assert identity is not None
        assert identity.end(0.3, 10)
        assert child.wait(10) == -signal.SIGKILL


def test_a_foreign_process_with_the_same_id_is_left_alone(sleeper: "subprocess.Popen[str]") -> None:
    identity = ProcessIdentity(sleeper.pid, "started at another time")
    assert not identity.alive()
    assert identity.end(0.1, 0.1)
    time.sleep(0.2)
    assert sleeper.poll() is None


def _watched() -> tuple["subprocess.Popen[str]", int]:
    """A parent that starts a watchdog over a sleeping command, and the process id of that command."""
    command = [sys.executable, "-I", "-S", watchdog.__file__]
    code = (
        "import os, subprocess, sys, time\n"
        f"dog = subprocess.Popen([*{command!r}, str(os.getpid()), *{_SLEEP!r}], stdout=subprocess.PIPE,\n"
        "    stderr=subprocess.DEVNULL, start_new_session=True)\n"
        "print(int(dog.stdout.readline()), flush=True)\n"
        "sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


@pytest.mark.parametrize("death", ["killed", "ends"])
def test_the_watchdog_ends_the_command_with_its_parent(death: str) -> None:
    parent, pid = _watched()
    command = ProcessIdentity.find(pid)
    assert command is not None
    assert command.alive()
    with parent:  # leaving the block closes its standard input, at which it ends by itself
        if death == "killed":
            parent.kill()
    give_up = time.monotonic() + 15
    while command.alive() and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not command.alive()


def test_the_watchdog_ends_with_its_command(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", watchdog.__file__, str(os.getpid())]
    command += [sys.executable, "-c", "import sys; print('to the log'); sys.exit(3)"]
    with (tmp_path / "log").open("wb") as log:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, check=False, timeout=30)
    assert ended.returncode == 3
    assert int(ended.stdout) > 0
    assert (tmp_path / "log").read_text() == "to the log\n"
