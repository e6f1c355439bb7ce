"""`pyspark-pulsar doctor`: the tests cause each fault, and its line has the remedy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.tools.standalone.settings import choose_port

Doctor = Callable[..., tuple[int, dict[str, dict[str, Any]]]]


@pytest.fixture
def doctor(pulsar: LocalPulsar) -> Doctor:
    """`doctor(*arguments, **environment)`: exit code, and findings by what they are about."""

    def run(*arguments: str, **environment: str) -> tuple[int, dict[str, dict[str, Any]]]:
        given = [*arguments]
        for flag, value in (("--service-url", pulsar.service_url), ("--admin-url", pulsar.admin_url)):
            if flag not in given:
                given += [flag, value]
        told = {"PYSPARK_PYTHON": sys.executable, **environment}
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from pyspark_pulsar.tools.cli import main; main()",
                "doctor",
                "--json",
                *given,
            ],
            env={**os.environ, **told},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        findings = [json.loads(line) for line in done.stdout.splitlines()]
        assert findings, done.stderr
        for each in findings:
            assert (each["state"] in ("ok", "not asked")) == (each["advice"] == ""), each
        return done.returncode, {each["subject"]: each for each in findings}

    return run


def test_all_is_well(filled: str, doctor: Doctor, pulsar: LocalPulsar) -> None:
    code, found = doctor(filled, "--write", "--spark", "local[2]")
    assert {each["state"] for each in found.values()} == {"ok"}, found
    assert code == 0
    assert found["Pulsar"]["found"].startswith("4.")
    assert "ends at" in found[f"right to read {filled}"]["found"]
    assert "1 ledger" in found[f"right to see ledgers of {filled}"]["found"]
    workers = [name for name in found if name.startswith("executor ")]
    assert {name.partition(": ")[2].split()[0] for name in workers} == {"Python", "clock", "broker", "bookie"}


def test_without_a_topic_and_without_the_admin_rest_api(pulsar: LocalPulsar) -> None:
    answer = CliRunner().invoke(cli, ["doctor", "--service-url", pulsar.service_url, "--json"])
    found = {each["subject"]: each for each in map(json.loads, answer.output.splitlines())}
    assert found["admin REST API"]["state"] == "warning"
    assert found["bookies"]["state"] == "not asked"
    assert not [name for name in found if name.startswith("topic ")]


def test_closed_ports(filled: str, doctor: Doctor) -> None:
    port = choose_port(None, None)
    code, found = doctor(
        filled, "--service-url", f"pulsar://127.0.0.1:{port}", "--admin-url", f"http://127.0.0.1:{port}"
    )
    assert code == 1
    broker, rest = found[f"broker 127.0.0.1:{port}"], found["admin REST API"]
    assert (broker["state"], rest["state"], found[f"topic {filled}"]["state"]) == (
        "fault",
        "fault",
        "not asked",
    )
    assert found["tiered storage"]["state"] == "not asked"
    assert "service.url names its binary port" in broker["advice"]
    assert "check admin.url (port 8080 by default)" in rest["advice"]


def test_one_broker_of_two_answers(filled: str, doctor: Doctor, pulsar: LocalPulsar) -> None:
    port = choose_port(None, None)
    code, found = doctor(filled, "--service-url", f"{pulsar.service_url},127.0.0.1:{port}")
    assert code == 1
    assert found[f"broker 127.0.0.1:{port}"]["state"] == "fault"
    assert found[f"topic {filled}"]["state"] == "ok"


@pytest.mark.parametrize("name", ["persistent://public/default/nope", "persistent://public/nope/t"])
def test_a_wrong_topic_or_namespace(name: str, doctor: Doctor) -> None:
    code, found = doctor(name)
    assert code == 1
    assert found[f"topic {name}"]["state"] == "fault"
    assert "create" in found[f"topic {name}"]["advice"] or "correct" in found[f"topic {name}"]["advice"]
    assert found[f"right to read {name}"]["state"] == "not asked"


@pytest.mark.parametrize(("read_from", "state"), [("auto", "warning"), ("bookie", "fault")])
def test_a_bookie_that_cannot_be_reached(
    read_from: str, state: str, filled: str, doctor: Doctor, pulsar: LocalPulsar
) -> None:
    given = ReadOptions(service_url=pulsar.service_url, admin_url=pulsar.admin_url, topic=filled)
    with AdminClient(given) as admin:
        (bookie,) = admin.bookies.ids()
    away = f"127.0.0.1:{choose_port(None, None)}"
    addresses = json.dumps({bookie: away})
    code, found = doctor(filled, "--bookie-addresses", addresses, "--read-from", read_from)
    assert found[f"bookie {away}"]["state"] == state
    assert "open the bookies' port" in found[f"bookie {away}"]["advice"]
    assert code == (state == "fault")


@pytest.mark.parametrize(("read_from", "state"), [("auto", "warning"), ("tiered", "fault")])
def test_tiered_storage_that_cannot_be_reached(
    read_from: str, state: str, filled: str, doctor: Doctor
) -> None:
    settings = {"endpoint": f"http://127.0.0.1:{choose_port(None, None)}", "region": "us-east-1"}
    settings |= {"access_key_id": "a", "secret_access_key": "hidden away"}
    code, found = doctor(
        *(filled, "--tiered-storage-url", "s3://bucket", "--read-from", read_from),
        *("--tiered-storage-options", json.dumps(settings)),
    )
    store = found["tiered storage s3://bucket"]
    assert store["state"] == state
    assert "check tieredStorageUrl and tieredStorageOptions" in store["advice"]
    assert "hidden away" not in str(found)
    assert code == (state == "fault")


def test_tiered_storage_that_can_be_read(filled: str, doctor: Doctor, tmp_path: Path) -> None:
    code, found = doctor(filled, "--tiered-storage-url", tmp_path.as_uri())
    assert found[f"tiered storage {tmp_path.as_uri()}"]["state"] == "ok"
    assert code == 0


def test_workers_without_the_package(
    filled: str, doctor: Doctor, bare_workers: Path, bare_interpreter: Path
) -> None:
    code, found = doctor(filled, "--spark", "local[1]", PYSPARK_PYTHON=str(bare_workers))
    assert code == 1
    assert found["Python of workers"]["state"] == "ok", "this machine's own is right"
    (worker,) = [each for name, each in found.items() if name.endswith(": Python")]
    assert worker["state"] == "fault"
    assert "with no pyspark-pulsar" in worker["found"]
    assert str(bare_interpreter) in worker["found"]
    assert "set PYSPARK_PYTHON" in worker["advice"]


def test_an_interpreter_that_is_not_there(filled: str, doctor: Doctor) -> None:
    code, found = doctor(filled, "--spark", "local[1]", PYSPARK_PYTHON="/no/such/python")
    assert code == 1
    assert found["Python of workers"]["state"] == "fault"
    assert "no such program" in found["Python of workers"]["found"]
    assert "the program /no/such/python does not exist" in found["executors"]["found"]
    assert "set PYSPARK_PYTHON" in found["executors"]["advice"]


def test_a_missing_java_is_reported(filled: str, doctor: Doctor) -> None:
    code, found = doctor(filled, "--spark", "local[1]", JAVA_HOME="/no/such/java")
    assert code == 1
    assert "install a JDK 17 or later" in found["Java"]["advice"]
    assert found["Spark session"]["state"] == "fault"
