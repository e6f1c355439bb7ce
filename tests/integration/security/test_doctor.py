"""`pyspark-pulsar doctor` against a server that requires authentication."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from fixtures.secured_pulsar import ADMIN, PRODUCER, STRANGER, WORKER, SecuredPulsar

from pyspark_pulsar.tools.cli import cli


@pytest.fixture
def existing_topic(secured: SecuredPulsar, topic: str) -> str:
    secured.request("PUT", topic.replace("://", "/"))
    return topic


def doctor(topic: str, options: dict[str, str], *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    flags = [f"--option={key}={value}" for key, value in options.items() if key != "service.url"]
    given = ["doctor", topic, "--service-url", options["service.url"], "--json", *flags, *arguments]
    answer = CliRunner().invoke(cli, given)
    findings = [json.loads(line) for line in answer.stdout.splitlines()]
    return answer.exit_code, {each["subject"]: each for each in findings}


def state(found: dict[str, dict[str, Any]], beginning: str) -> str:
    (finding,) = [each for name, each in found.items() if name.startswith(beginning)]
    return str(finding["state"])


def test_doctor_reports_a_refused_token(secured: SecuredPulsar, existing_topic: str) -> None:
    options = secured.options(WORKER, admin=True) | {"pulsar.client.authParams": "token:abc.def.ghi"}
    code, found = doctor(existing_topic, options)
    assert code == 1
    for subject in ("broker ", "admin REST API"):
        assert state(found, subject) == "fault"
        (advice,) = [each["advice"] for name, each in found.items() if name.startswith(subject)]
        assert "pulsar.client.authParams" in advice
    # The brokers answered, with a refusal.
    assert found[f"topic {existing_topic}"]["found"] == "no broker could be reached"
    assert "abc.def" not in str(found)


def test_doctor_reports_an_expired_token(secured: SecuredPulsar, existing_topic: str) -> None:
    ended = {"pulsar.client.authParams": f"token:{secured.token(WORKER, seconds=-60)}"}
    code, found = doctor(existing_topic, secured.options(WORKER) | ended)
    assert code == 1
    (broker,) = [each for name, each in found.items() if name.startswith("broker ")]
    assert "the token expired at " in broker["found"]


def test_doctor_reports_an_untrusted_certificate(secured: SecuredPulsar, existing_topic: str) -> None:
    options = secured.options(WORKER, tls=True)
    del options["pulsar.client.tlsTrustCertsFilePath"]
    code, found = doctor(existing_topic, options)
    assert code == 1
    (broker,) = [each for name, each in found.items() if name.startswith("broker ")]
    assert "tlsTrustCertsFilePath" in broker["advice"] + broker["found"]


@pytest.mark.parametrize(
    ("role", "read", "write"),
    [(ADMIN, "ok", "ok"), (WORKER, "ok", "ok"), (PRODUCER, "fault", "ok"), (STRANGER, None, None)],
)
def test_doctor_reports_missing_rights(
    role: str, read: str | None, write: str | None, secured: SecuredPulsar, existing_topic: str
) -> None:
    code, found = doctor(existing_topic, secured.options(role, admin=True), "--write")
    assert state(found, "broker ") == "ok"
    if read is None:
        assert "fault" in {each["state"] for name, each in found.items() if existing_topic in name}
    else:
        assert (state(found, "right to read"), state(found, "right to write")) == (read, write)
    assert code == (role in {PRODUCER, STRANGER})
    listing = state(found, "right to list bookies")
    assert listing == ("ok" if role == ADMIN else "warning")
