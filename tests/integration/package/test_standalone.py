"""The local Pulsar as its users meet it: the command, the context manager, and what can go wrong."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pulsar as pulsar_client
import pytest
from integration.official import open_client

from pyspark_pulsar.errors import StandaloneFailed
from pyspark_pulsar.tools.standalone import InstanceState, LocalPulsar

_TOPIC = "persistent://public/default/kept"


def _command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pyspark_pulsar.tools.cli", "standalone", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def _status(data: Path) -> dict[str, str | int | None]:
    shown: dict[str, str | int | None] = json.loads(_command("status", "--data", str(data), "--json").stdout)
    return shown


def _processes_of(data: Path) -> list[str]:
    """The command lines, of all processes of this machine, that name the data folder."""
    shown = subprocess.run(["ps", "-ewwo", "pid=,args="], capture_output=True, text=True, check=True)
    return [line for line in shown.stdout.splitlines() if f"{data}/metadata" in line]


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "instance"
    yield folder
    LocalPulsar(data=folder).stop()


def _send(service_url: str, payload: bytes) -> None:
    client = open_client(service_url)
    client.create_producer(_TOPIC).send(payload)
    client.close()


def _payloads(service_url: str) -> list[bytes]:
    client = open_client(service_url)
    reader = client.create_reader(_TOPIC, pulsar_client.MessageId.earliest)
    payloads = []
    while reader.has_message_available():
        payloads.append(reader.read_next(60_000).data())
    client.close()
    return payloads


def test_the_life_of_an_instance(data: Path) -> None:
    assert _status(data)["state"] == "stopped"
    started = _command("start", "--data", str(data))
    assert started.returncode == 0, started.stderr
    assert "Pulsar is ready after" in started.stdout
    first = _status(data)
    assert first["state"] == "running"
    assert str(first["service_url"]) in started.stdout
    assert Path(str(first["log"])).exists()
    assert len(_processes_of(data)) == 1
    _send(str(first["service_url"]), b"kept")

    again = _command("start", "--data", str(data))
    assert again.returncode == 0
    assert "already runs" in again.stdout
    assert _status(data) == first

    stopped = _command("stop", "--data", str(data))
    assert stopped.returncode == 0, stopped.stderr
    assert "is stopped" in stopped.stdout
    assert _processes_of(data) == []
    assert _status(data)["state"] == "stopped"
    assert "No Pulsar runs" in _command("stop", "--data", str(data)).stdout

    assert _command("start", "--data", str(data)).returncode == 0
    second = _status(data)
    assert second["service_url"] == first["service_url"]
    assert second["pid"] != first["pid"]
    assert _payloads(str(second["service_url"])) == [b"kept"]


def test_two_side_by_side_on_the_loopback_only(pulsar: LocalPulsar, data: Path) -> None:
    with LocalPulsar(data=data) as other:
        assert other.service_url != pulsar.service_url
        _send(pulsar.service_url, b"one")
        _send(other.service_url, b"two")
        assert _payloads(pulsar.service_url) == [b"one"]
        assert _payloads(other.service_url) == [b"two"]
        pid = other.status().pid
        assert pid is not None
        assert _listens(pid) == {"127.0.0.1"}
        with pytest.raises(StandaloneFailed, match="a server already runs"), LocalPulsar(data=data):
            pass
        assert other.status().state is InstanceState.RUNNING
    assert other.status().state is InstanceState.STOPPED
    assert _processes_of(data) == []
    with pytest.raises(StandaloneFailed, match="no server runs"):
        _ = other.service_url


def _listens(pid: int) -> set[str]:
    """Addresses on which a process listens; see proc_pid_net(5) for the format of the tables."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        # The process may close it in between.
        with contextlib.suppress(OSError):
            inodes.add(str(link.readlink()))
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                raw = bytes.fromhex(fields[1].split(":")[0])[-4:]
                addresses.add(socket.inet_ntoa(raw[::-1]))
    return addresses


def test_transactions_are_on_and_idle_topics_stay(pulsar: LocalPulsar) -> None:
    conf = (pulsar.data / "standalone.conf").read_text().splitlines()
    assert "transactionCoordinatorEnabled=true" in conf
    shown = subprocess.run(
        [pulsar.home / "bin" / "pulsar-admin", "transactions", "coordinators-list"],
        env=pulsar.tool_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "127.0.0.1" in shown.stdout


def test_a_taken_port_is_named_before_anything_starts(data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        failed = _command("start", "--data", str(data), "--broker-port", str(port))
    assert failed.returncode == 1
    assert failed.stderr.startswith(f"Error: port {port} on 127.0.0.1 is taken")
    assert _processes_of(data) == []


def test_a_failed_start_shows_the_reason_and_leaves_no_process(data: Path) -> None:
    failed = _command("start", "--data", str(data), "--set", "managedLedgerStorageClassName=no.such.Class")
    assert failed.returncode == 1
    assert "no.such.Class" in failed.stderr
    assert str(data / "server.log") in failed.stderr
    assert "Traceback" not in failed.stderr
    assert _processes_of(data) == []
    assert _status(data)["state"] == "stopped"


def test_a_start_that_takes_too_long_leaves_no_process(data: Path) -> None:
    server = LocalPulsar(data=data, start_deadline_seconds=0.5)
    with pytest.raises(StandaloneFailed, match="not healthy after"), server:
        pass
    assert _processes_of(data) == []


def test_stop_leaves_a_foreign_process_alone(data: Path) -> None:
    data.mkdir()
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as foreign:
        record = {
            "format": 1,
            "process": {"pid": foreign.pid, "started": "before the machine was restarted"},
            "broker_port": 6650,
            "web_port": 8080,
            "version": "4.0.8",
            "transactions": True,
        }
        (data / "instance.json").write_text(json.dumps(record))
        assert _status(data)["state"] == "stopped"
        assert "No Pulsar runs" in _command("stop", "--data", str(data)).stdout
        time.sleep(0.3)
        assert foreign.poll() is None
        foreign.kill()


def test_the_server_of_a_killed_program_ends(data: Path) -> None:
    program = (
        "import sys, time\n"
        "from pyspark_pulsar.tools.standalone import LocalPulsar\n"
        "with LocalPulsar(data=sys.argv[1]) as server:\n"
        "    print(server.status().pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program, str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        try:
            assert int(parent.stdout.readline()) > 0
            assert len(_processes_of(data)) == 2  # the server and its watchdog
        finally:
            parent.send_signal(signal.SIGKILL)
    give_up = time.monotonic() + 30
    while _processes_of(data) and time.monotonic() < give_up:
        time.sleep(0.1)
    assert _processes_of(data) == []
    assert LocalPulsar(data=data).status().state is InstanceState.STOPPED
