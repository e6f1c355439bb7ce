"""The commands' own options; what they show is tested beside this, and on a cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.inspect.segments import Survey
from pyspark_pulsar.session.checkpoints import FILE_MANAGER_CLASS, FILE_SYSTEM_CLASS
from pyspark_pulsar.session.configure import _redaction
from pyspark_pulsar.tools.cli import cli, main
from pyspark_pulsar.tools.cli.read_options import parse_arguments


@pytest.mark.parametrize("command", ["segments", "plan"])
def test_help_names_the_options_of_spark(command: str) -> None:
    text = CliRunner().invoke(cli, [command, "--help"]).output
    for flag in ("--service-url", "--admin-url", "--starting-timestamp", "--min-partitions", "--read-from"):
        assert flag in text


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from pyspark_pulsar.tools.cli import cli; "
        "CliRunner().invoke(cli, ['plan', '--help']); CliRunner().invoke(cli, ['catalog', 'conf', '--help']); "
        "print([name for name in ('pyspark', 'pyarrow', 'rich') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_arguments_become_read_options() -> None:
    options = parse_arguments(
        ("a", "b"), ("mode=PERMISSIVE", "columns=x"), {"service_url": "pulsar://h:1", "min_partitions": "3"}
    )
    assert options.topics == ("a", "b")
    assert (options.min_partitions, options.mode, options.columns) == (3, "PERMISSIVE", ("x",))


@pytest.mark.parametrize("command", ["segments", "plan"])
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "TOPIC"),
        (["t"], "--service-url"),
        (["t", "--service-url", "pulsar://h:1", "--option", "x"], "KEY=VALUE"),
        (
            ["t", "--service-url", "pulsar://h:1", "--option", "service.url=pulsar://i:1"],
            "is set twice; remove one of them",
        ),
    ],
)
def test_a_wrong_call(command: str, arguments: list[str], text: str) -> None:
    result = CliRunner().invoke(cli, [command, *arguments])
    assert result.exit_code == 2
    assert text in result.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--starting-timestamp", "6", "--ending-timestamp", "5"], "is after 'endingTimestamp'"),
        (["--ending-offsets", "earliest"], "expected latest"),
        (["--starting-offsets", "first"], "expected earliest or latest"),
        (["--read-from", "bookie"], "admin.url"),
    ],
)
def test_a_plan_refuses_what_a_read_refuses(arguments: list[str], text: str) -> None:
    result = CliRunner().invoke(cli, ["plan", "t", "--service-url", "pulsar://h.invalid:1", *arguments])
    assert isinstance(result.exception, OptionError)
    assert text in str(result.exception)


def test_a_page_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pyspark_pulsar.inspect.segments.survey", lambda _: Survey(()))
    page = tmp_path / "no folder" / "page.html"
    result = CliRunner().invoke(
        cli, ["segments", "t", "--service-url", "pulsar://h.invalid:1", "--html", str(page)]
    )
    assert result.exit_code == 2
    assert "No such file" in result.output


def test_an_error_of_ours_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pyspark-pulsar", "segments", "t", "--service-url", "pulsar://h:1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("Error: option 'admin.url' is missing")


def test_resolving_transactions_needs_a_topic_or_a_journal() -> None:
    result = CliRunner().invoke(cli, ["transactions", "resolve", "--service-url", "pulsar://localhost:1"])
    assert result.exit_code == 2
    assert "Missing argument 'TOPIC', or option '--journal'" in result.output


@pytest.fixture
def jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "catalog.jar"
    monkeypatch.setattr("pyspark_pulsar.session.configure.catalog_jar", lambda: path)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    return path


def test_the_settings_of_a_session_with_the_catalog(jar: Path) -> None:
    arguments = ["--service-url", "pulsar://h:1", "--catalog", "p", "--python", "/py"]
    arguments += ["--checkpoints", "default"]
    arguments += ["--option", "pulsar.client.authPluginClassName=token"]
    arguments += ["--option", "pulsar.client.authParams=token:a\\b"]
    result = CliRunner().invoke(cli, ["catalog", "conf", *arguments])
    assert result.exit_code == 0, result.output
    assert dict(line.split(" ", 1) for line in result.output.splitlines()) == {
        "spark.jars": str(jar),
        "spark.sql.extensions": "org.pysparkpulsar.catalog.PulsarExtensions",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": "/tmp",
        "spark.pyspark.python": "/py",
        "spark.redaction.regex": _redaction(None),
        "spark.hadoop.fs.pulsar+checkpoint.impl": FILE_SYSTEM_CLASS,
        "spark.hadoop.fs.pulsar+checkpoint.impl.disable.cache": "true",
        "spark.hadoop.fs.pulsar+checkpoint.catalog": "p",
        "spark.sql.streaming.checkpointFileManagerClass": FILE_MANAGER_CLASS,
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        "spark.sql.catalog.p.python": "/py",
        "spark.sql.catalog.p": "org.pysparkpulsar.catalog.PulsarCatalog",
        "spark.sql.catalog.p.service.url": "pulsar://h:1",
        "spark.sql.catalog.p.pulsar.client.authPluginClassName": "token",
        "spark.sql.catalog.p.pulsar.client.authParams": "token:a\\\\b",
    }
    assert CliRunner().invoke(cli, ["catalog", "jar"]).output.strip() == str(jar)
    elsewhere = CliRunner().invoke(cli, ["catalog", "conf", *arguments, "--jar", "local:///c.jar"]).output
    assert elsewhere == result.output.replace(str(jar), "local:///c.jar")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "--service-url"),
        (["--service-url", "pulsar://h:1", "--option", "x"], "KEY=VALUE"),
        (
            ["--service-url", "pulsar://h:1", "--option", "mode=a", "--option", "mode=b"],
            "is set twice; remove one of them",
        ),
    ],
)
def test_a_wrong_call_for_settings(arguments: list[str], text: str, jar: Path) -> None:
    result = CliRunner().invoke(cli, ["catalog", "conf", *arguments])
    assert result.exit_code == 2
    assert text in result.output


def test_the_settings_of_a_session_print(jar: Path) -> None:
    token = "key:a\\b\x1b[0m\n\u202e\U000e0001"
    arguments = ["--service-url", "pulsar://h:1", "--option", f"pulsar.client.listenerName={token}"]
    result = CliRunner().invoke(cli, ["catalog", "conf", *arguments])
    (line,) = [line for line in result.output.splitlines() if "listenerName" in line]
    assert line.endswith(r" key:a\\b\u001b[0m\u000a\u202e\udb40\udc01")


def _lists() -> list[list[str]]:
    groups = [name for name, command in cli.commands.items() if isinstance(command, click.Group)]
    return [[], *([name] for name in groups)]


@pytest.mark.parametrize("path", _lists(), ids=lambda path: " ".join(path) or "all")
def test_a_list_of_commands_describes_each_command(path: list[str]) -> None:
    """Click cuts text that is longer than a screen of 80 columns, and ends it with dots."""
    _, _, commands = CliRunner().invoke(cli, [*path, "--help"]).output.partition("Commands:\n")
    lines = commands.splitlines()
    assert lines
    assert not [line for line in lines if line.endswith("...")]
