"""The catalog in SQL and from DataFrames, in a classic session and over Connect: scripts and Spark's expected
answers.

`GOLDEN=write pytest tests/integration/catalog/test_catalog_sql.py -k classic` writes the answers again.
Read the difference before you commit it.
"""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyspark_pulsar.tools.standalone import LocalPulsar

FOLDER = Path(__file__).parent / "sql"
SCRIPTS = sorted(FOLDER.glob("*.sql"))
PROGRAM = Path(__file__).parents[2] / "programs" / "run_sql.py"
CONNECT = Path(__file__).parents[3] / ".venv" / "connect"


@pytest.mark.parametrize("mode", ["classic", "connect"])
def test_scripts(mode: str, pulsar: LocalPulsar, tmp_path: Path) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    if mode == "connect":
        assert CONNECT.is_dir(), f"expected what Spark Connect needs in {CONNECT}; make test puts it there"
        environment["PYTHONPATH"] = str(CONNECT)
    command = [sys.executable, PROGRAM, mode, pulsar.service_url, pulsar.admin_url, tmp_path, *SCRIPTS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    if os.environ.get("GOLDEN") == "write":
        for script in SCRIPTS:
            answers = script.with_suffix(".out")
            answers.write_text((tmp_path / answers.name).read_text())
    different = [line for script in SCRIPTS for line in difference(script.with_suffix(".out"), tmp_path)]
    assert not different, "\n".join(different[:80])
    numbers = [[number, "ab"[(number + 1) % 2]] for number in range(1, 9)]
    assert json.loads((tmp_path / "frames.json").read_text()) == {
        # Made without a format, by a batch and by a stream.
        "watched": [True, True, True],
        "unsaid": [[1, "a"], [2, "b"]],
        "changes": [[1, "insert"], [2, "insert"]],
        "columns": ["id", "name"],
        "numbers": [[number, name, name if number in (3, 4) else None] for number, name in numbers],
        "history": [[1], [2], [3], [4]],
        # One stream reads all rows, and the other reads the rows after the boundary once more.
        "copies": sorted([*numbers, *numbers[4:]]),
        "filtered": [[7], [8]],
        "tables": ["changes", "copies", "numbers", "unsaid", "unsaid_too"],
        "exists": [True, False],
        "tiered": [[1, "a"], [2, "b"]],
        "tiered_and_behind": [[1, "a"], [2, "b"], [3, "c"]],
        "scans": [True, True],
    }


def difference(expected: Path, folder: Path) -> list[str]:
    found = (folder / expected.name).read_text().splitlines()
    wanted = expected.read_text().splitlines()
    return list(difflib.unified_diff(wanted, found, str(expected.name), "found", lineterm="", n=4))
