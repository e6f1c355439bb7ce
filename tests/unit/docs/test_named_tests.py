"""Tests that the Makefile and the pages name exist: pytest fails late for a name that has changed."""

import ast
import os
import re
import shutil
import subprocess

import pytest
from fixtures.doc_pages import ROOT

_NAMED = re.compile(r"(tests/[\w/]+\.py)(?:::(test_\w+))?")
_TARGETS = (
    "test-oldest-spark",
    "test-former-spark",
    "test-former-linkage",
    "test-newest-server",
    "test-wheel",
)


def _missing(text: str) -> list[str]:
    """Names of files and tests in the text that do not exist."""
    return sorted(
        {
            f"{path}::{test}" if test else path
            for path, test in _NAMED.findall(text)
            if not _exists(path, test)
        }
    )


def _exists(path: str, test: str) -> bool:
    file = ROOT / path
    if not (file.exists() and test):
        return file.exists()
    return any(
        isinstance(each, ast.FunctionDef) and each.name == test for each in ast.parse(file.read_text()).body
    )


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_makefile_names_tests_that_exist() -> None:
    # Inside `make test`, make would use the jobs and options of its caller.
    alone = {
        key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}
    }
    commands = [
        subprocess.run(
            ["make", "--dry-run", "--always-make", target],
            cwd=ROOT, env=alone, capture_output=True, text=True, check=True,
        ).stdout
        for target in _TARGETS
    ]  # fmt: skip
    assert all("pytest" in each for each in commands)
    assert _missing("\n".join(commands)) == []


def test_pages_name_tests_that_exist() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.yml")]
    assert {page.name: missing for page in pages if (missing := _missing(page.read_text()))} == {}


def test_a_name_that_has_changed_is_found() -> None:
    here = "tests/unit/docs/test_named_tests.py"
    assert _missing(f"{here}::test_pages_name_tests_that_exist[a] {here}") == []
    assert _missing(f"{here}::test_before {here.replace('named', 'renamed')}") == [
        f"{here}::test_before",
        "tests/unit/docs/test_renamed_tests.py",
    ]
