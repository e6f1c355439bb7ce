"""The script that finds the browser for tests/docs."""

import os
import shutil
import subprocess
from pathlib import Path

from fixtures.doc_pages import ROOT


def _run(path: Path, browser: str = "") -> subprocess.CompletedProcess[str]:
    script = [shutil.which("bash"), ROOT / "scripts" / "find_browser.sh"]
    environment = {"PATH": str(path), "PYSPARK_PULSAR_BROWSER": browser}
    return subprocess.run(script, env=environment, capture_output=True, text=True, check=False)


def test_a_missing_program_that_cannot_be_installed_has_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "id").symlink_to(shutil.which("id") or "")
    done = _run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    for way in ("apt-get install chromium", "brew install", "PYSPARK_PULSAR_BROWSER"):
        assert way in done.stderr


def test_a_named_browser_comes_first(tmp_path: Path) -> None:
    (tmp_path / "chromium").symlink_to(shutil.which("true") or "")
    named = os.path.realpath(shutil.which("false") or "")
    assert _run(tmp_path, named).stdout.strip() == named
    assert _run(tmp_path).stdout.strip() == str(tmp_path / "chromium")
