"""The forge's workflows: what they may do is little, what they run is named by commit, and zizmor finds nothing."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT
from integration.package.conftest import TOOLS

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
USES = re.compile(r"^ *(?:- )?uses: (?P<what>\S+)(?P<comment> #.*)?$", re.MULTILINE)


def test_zizmor_finds_nothing() -> None:
    done = subprocess.run(
        [TOOLS.parent / "zizmor", "--offline", "--no-progress", *WORKFLOWS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_commit(workflow: Path) -> None:
    text = workflow.read_text()
    used = list(USES.finditer(text))
    assert used
    for each in used:
        if not each["what"].startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each["what"]), each[0]
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", each["comment"] or ""), each[0]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_no_job_has_unneeded_permissions(workflow: Path) -> None:
    text = workflow.read_text()
    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)
    granted = set(re.findall(r"^ {6}([\w-]+): write", text, re.MULTILINE))
    assert granted == ({"attestations", "contents", "id-token"} if workflow.name == "release.yml" else set())


def test_each_program_that_is_run_exists() -> None:
    targets = set(
        re.findall(r"^([a-z][a-z0-9-]*)(?: [a-z-]+)*:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    run = {target for path in WORKFLOWS for target in re.findall(r"run: make ([a-z0-9-]+)", path.read_text())}
    assert {"wheel", "test-wheel", "sdist", "check-release", "lint-workflows"} == run <= targets
