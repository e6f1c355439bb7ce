"""The version is defined in one place, and all copies agree with it."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version

import pytest
from click.testing import CliRunner
from fixtures.doc_pages import ROOT
from fixtures.scripts import script

import pyspark_pulsar
from pyspark_pulsar.tools.cli import cli

CARGO = tomllib.loads((ROOT / "kernel" / "Cargo.toml").read_text())["package"]["version"]
CHANGES = (ROOT / "CHANGELOG.md").read_text()
HEADINGS = re.findall(r"^## (.+)$", CHANGES, re.MULTILINE)
DATED = re.compile(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})")
FILES = {
    "kernel/Cargo.toml": '[package]\nname = "pyspark-pulsar-kernel"\nversion = "0.1.0"  # why\n\n[x]\nversion = "9"\n',
    "kernel/Cargo.lock": 'name = "a"\nversion = "0.1.0"\n\nname = "pyspark-pulsar-kernel"\nversion = "0.1.0"\n',
    "CHANGELOG.md": "# Changes\n\n## [Unreleased]\n\n- new\n\n## [0.1.0] - 2026-01-31\n",
}


def test_the_installed_package_has_the_version() -> None:
    assert version("pyspark-pulsar") == CARGO
    assert pyspark_pulsar.__version__ == CARGO
    assert CliRunner().invoke(cli, ["--version"]).output == f"pyspark-pulsar, version {CARGO}\n"


def test_pyproject_does_not_repeat_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]


def test_metadata_is_first_read_when_it_is_requested() -> None:
    """Spark imports the package in several processes of each query."""
    code = "import sys, pyspark_pulsar; print('importlib.metadata' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_the_lock_file_has_the_version() -> None:
    locked = tomllib.loads((ROOT / "kernel" / "Cargo.lock").read_text())["package"]
    assert [each["version"] for each in locked if each["name"] == "pyspark-pulsar-kernel"] == [CARGO]


def test_the_newest_changes_are_of_the_version_or_unreleased() -> None:
    dated = [DATED.fullmatch(heading) for heading in HEADINGS if heading != "[Unreleased]"]
    assert all(dated), HEADINGS
    if HEADINGS[0] == "[Unreleased]":
        assert CARGO not in [found[1] for found in dated if found], "after a release the version goes on"
    else:
        assert dated[0] is not None
        assert dated[0][1] == CARGO
    assert HEADINGS.count("[Unreleased]") <= 1
    for found in dated:
        assert found is not None
        dt.date.fromisoformat(found[2])


def test_a_release_sets_the_version_everywhere() -> None:
    changed = script("release").release_files(FILES, "0.2.0", dt.date(2026, 2, 28))
    assert changed == {
        "kernel/Cargo.toml": FILES["kernel/Cargo.toml"].replace('"0.1.0"', '"0.2.0"'),
        "kernel/Cargo.lock": 'name = "a"\nversion = "0.1.0"\n\nname = "pyspark-pulsar-kernel"\nversion = "0.2.0"\n',
        "CHANGELOG.md": "# Changes\n\n## [0.2.0] - 2026-02-28\n\n- new\n\n## [0.1.0] - 2026-01-31\n",
    }


@pytest.mark.parametrize(
    ("wanted", "changes", "says"),
    [
        ("two", FILES["CHANGELOG.md"], "expected a version of three numbers, such as 0.1.0, got 'two'"),
        ("0.2", FILES["CHANGELOG.md"], "expected a version of three numbers"),
        ("0.2.0rc1", FILES["CHANGELOG.md"], "expected a version of three numbers"),
        ("0.1.0", FILES["CHANGELOG.md"], "expected a version after 0.1.0"),
        ("0.2.0", "# Changes\n\n## [0.1.0] - 2026-01-31\n", "expected a heading [Unreleased]"),
    ],
)
def test_a_release_that_cannot_be_says_why(wanted: str, changes: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        script("release").release_files({**FILES, "CHANGELOG.md": changes}, wanted, dt.date(2026, 2, 28))


def test_a_tag_is_checked_and_has_its_changes() -> None:
    changed = script("release").release_files(FILES, "0.2.0", dt.date(2026, 2, 28))
    assert script("release").notes(changed, "v0.2.0") == "- new\n"


@pytest.mark.parametrize(
    ("tag", "says"),
    [
        ("v0.3.0", "expected the tag v0.1.0"),
        ("v0.1.0", "newest changes to be [0.1.0] with a date, got [Unreleased]"),
    ],
)
def test_a_tag_of_something_else_is_refused(tag: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        script("release").notes(FILES, tag)
