"""The doctor's findings about versions, clocks and workers, and its table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from click import unstyle
from click.testing import CliRunner

from pyspark_pulsar.client.admin.cluster_parts import BrokerVersion
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.spark.worker_probe import Interpreter, WorkerReport
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.doctor import examination
from pyspark_pulsar.tools.doctor.cluster_findings import clock, server, skew
from pyspark_pulsar.tools.doctor.executors import check_worker, first_line
from pyspark_pulsar.tools.doctor.finding import Finding, check
from pyspark_pulsar.tools.doctor.installation import within
from pyspark_pulsar.tools.doctor.storage import tiered_storage

REPORT = WorkerReport(
    "h", "/p", "3.11.7", "1.0", "", 105.0, {"b:6650": "", "k:3181": ""}, Interpreter("3.11.2", "1.0")
)


def raising(text: str) -> str:
    raise ConnectionFailed(text)


def test_what_an_error_says_to_do_is_the_advice() -> None:
    found = check("broker", lambda: raising("no answer; nor a second; check the port"))
    assert found == Finding("broker", "fault", "no answer; nor a second", "check the port")
    assert check("x", lambda: raising("no answer"), "warning", "wait") == Finding(
        "x", "warning", "no answer", "wait"
    )


@pytest.mark.parametrize(
    ("installed", "wanted", "fits"),
    [
        ("4.3.0", "<4.4,>=4.2", True),
        ("4.2.0", "<4.4,>=4.2", True),
        ("4.4.0", "<4.4,>=4.2", False),
        ("4.1.9", "<4.4,>=4.2", False),
        ("26.0.1", "<27,>=18", True),
        ("27.0.0", "<27,>=18", False),
        ("6.31.1", ">=6.31.1", True),
        ("1.0", "", True),
    ],
)
def test_versions_are_within_bounds(installed: str, wanted: str, fits: bool) -> None:
    assert within(installed, wanted) is fits


def test_versions_of_pulsar() -> None:
    assert server(BrokerVersion("4.0.8", None)).state == "ok"
    assert server(BrokerVersion("3.0.7", None)).state == "ok"
    assert server(BrokerVersion("2.11.4", None)).state == "warning"


def test_unknown_tiered_storage_is_reported_as_not_checked() -> None:
    options = ReadOptions(service_url="pulsar://h:1", topic="t")
    topic = TopicPartition(TopicName.parse("t"), -1)
    for partitions, text in (((), "no topic is known"), ((topic,), "without the admin REST API")):
        (found,) = tiered_storage(options, None, partitions)
        assert found.state == "not asked"
        assert text in found.found


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (100, None),
        (94.5, None),
        (106, None),
        (80, "19 s behind"),
        (121.5, "20 s ahead of"),
        (-3500, "3599 s behind"),
    ],
)
def test_clocks(told: float, text: str | None) -> None:
    """HTTP cuts times to seconds, and the answer arrived between 100 and 101.5."""
    found = clock(datetime.fromtimestamp(told, UTC), 100.0, 101.5)
    assert found.state == ("ok" if text is None else "warning")
    assert text is None or text in found.found
    assert clock(None, 0, 0).state == "not asked"
    assert skew("c", 110.0, 100.0, 101.0, "the executor's").state == "warning"


def test_workers() -> None:
    def states(**changes: Any) -> list[str]:
        return [each.state for each in check_worker(replace(REPORT, **changes), 100.0, 110.0, 1)]

    assert states() == ["ok"] * 4
    assert states(package="") == ["fault", "ok", "ok", "ok"]
    assert states(package="0.9") == ["fault", "ok", "ok", "ok"]
    assert states(python="3.12.1") == ["fault", "ok", "ok", "ok"]
    assert states(kernel="wrong ELF class") == ["fault", "ok", "ok", "ok"]
    assert states(time=30.0) == ["ok", "warning", "ok", "ok"]
    assert states(reached={"b:6650": "refused", "k:3181": ""}) == ["ok", "ok", "fault", "ok"]
    assert states(reached={"b:6650": "", "k:3181": "refused"}) == ["ok", "ok", "ok", "warning"]
    assert states(reached={}) == ["ok", "ok", "not asked"]


def test_of_pages_of_spark_the_first_line_is_shown() -> None:
    assert first_line(ValueError("\n what is wrong \n at a.b.c\n at d")) == "what is wrong"
    assert first_line(ValueError()) == "ValueError"
    assert len(first_line(ValueError("x" * 1000))) == 300


@pytest.mark.parametrize(("columns", "is_wide"), [("80", False), ("120", False), ("140", True)])
def test_the_table_fits_the_screen(columns: str, is_wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(*_: Any, **__: Any) -> Iterator[Finding]:
        yield Finding("broker \x1b[31m", "fault", "no answer " * 9, "check the port " * 9)
        yield Finding("Python", "ok", "3.11")

    monkeypatch.setattr(examination, "examine", examine)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    answer = CliRunner().invoke(cli, ["doctor", "--service-url", "pulsar://h:1"])
    assert answer.exit_code == 1, answer.output
    text = unstyle(answer.output)
    lines = text.splitlines()
    assert max(map(len, lines)) <= int(columns)
    head = next(line for line in lines if "found" in line)
    assert ("what to do" in head) is is_wide
    assert ("What to do:" in text) is not is_wide
    assert "check the port" in text
    assert "1 fault, 0 warnings" in text
    assert "\\x1b[31m" in text
