"""The versions in docs/compatibility.md agree with pyproject.toml and the local server."""

import json
import re
import tomllib

from fixtures.doc_pages import ROOT

from pyspark_pulsar.tools.standalone import (
    NEWEST_VERSION,
    PULSAR_SERVER,
    SERVER_VERSIONS,
    ServerLibraries,
    server_of,
)

PAGE = (ROOT / "docs" / "compatibility.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIRED = dict(re.match(r"([a-z]+)(.*)", text).groups() for text in PROJECT["dependencies"])


def _row(name: str) -> str:
    (row,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", PAGE, re.MULTILINE)
    return str(row)


def test_versions_agree_with_the_requirements() -> None:
    assert REQUIRED["pyspark"] == ">=4.1,<4.4"
    assert "tested" in _row("4.3")
    assert "tested" in _row("4.2")
    assert "tested" in _row("4.1")
    assert PROJECT["requires-python"] == ">=3.11"
    assert _row("Python").startswith(" 3.11 or later")
    assert REQUIRED["pyarrow"] == ">=18,<27"
    assert _row("PyArrow") == " 18 to 26 "
    assert REQUIRED["protobuf"] == ">=6.31.1,<8"
    assert _row("protobuf") == " 6.31.1 or a later 6.x, or 7.x "


def test_the_tested_server_is_the_one_that_tests_fetch() -> None:
    text = " ".join(PAGE.split())
    assert f"All integration tests run against servers of Pulsar {PULSAR_SERVER.version}:" in text
    assert f"makes these checks against {NEWEST_VERSION}, and `make test-servers`" in text


def test_each_version_that_can_be_had_is_in_the_matrix() -> None:
    runs = json.loads((ROOT / "tests" / "integration" / "servers" / "results.json").read_text())
    assert {run["pulsar"] for run in runs} <= set(SERVER_VERSIONS)
    assert {len(run["checks"]) for run in runs} == {10}
    matrix = PAGE.split("<!-- matrix -->")[1].split("<!-- /matrix -->")[0]
    shown = re.findall(r"^\| (\d[^ ]+) \|", matrix, re.MULTILINE)
    assert list(dict.fromkeys(shown)) == list(SERVER_VERSIONS)


def test_the_default_and_the_newest_version_passed_all_checks() -> None:
    runs = json.loads((ROOT / "tests" / "integration" / "servers" / "results.json").read_text())
    for version in (PULSAR_SERVER.version, NEWEST_VERSION):
        checks = [run["checks"] for run in runs if run["pulsar"] == version]
        assert checks
        assert {outcome for run in checks for outcome in run.values()} == {"passed"}


def test_the_local_servers_page_lists_the_versions() -> None:
    page = (ROOT / "docs" / "local-pulsar.md").read_text()
    rows = re.findall(r"^\| (\d[^ ]+) \| (distribution|libraries) \|", page, re.MULTILINE)
    kinds = {True: "libraries", False: "distribution"}
    assert rows == [
        (version, kinds[isinstance(server_of(version), ServerLibraries)]) for version in SERVER_VERSIONS
    ]
