"""Write the results of `make test-servers` into docs/compatibility.md: servers, Spark, Java, Python, failures.

Run the script as `python scripts/server_matrix.py`, after `make test-servers` has changed its file of results.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark_pulsar.tools.standalone import SERVER_VERSIONS, ServerLibraries, server_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
RESULTS = ROOT / "tests" / "integration" / "servers" / "results.json"

_MATRIX = re.compile(r"(?<=<!-- matrix -->\n).*?(?=<!-- /matrix -->)", re.DOTALL)
_PASSED = "passed"


def pages() -> dict[Path, str]:
    """Return the page with the matrix between its marks."""
    runs: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    lines = [
        "| Pulsar | Installed from | Spark | Java | Python | Checks | What failed |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [line for version in SERVER_VERSIONS for line in _rows(version, runs)]
    matrix = "\n".join([*lines, ""])
    return {PAGE: _MATRIX.sub(lambda _: matrix, PAGE.read_text(encoding="utf-8"), count=1)}


def _rows(version: str, runs: list[dict[str, Any]]) -> Iterator[str]:
    origin = "libraries" if isinstance(server_of(version), ServerLibraries) else "distribution"
    of_version = [each for each in runs if each["pulsar"] == version]
    if not of_version:
        yield f"| {version} | {origin} | | | | not run yet | |"
    for run in sorted(of_version, key=lambda each: str(each["spark"])):
        failed = {name: reason for name, reason in run["checks"].items() if reason != _PASSED}
        count = f"{len(run['checks']) - len(failed)} of {len(run['checks'])}"
        failures = "; ".join(f"{name}: {_cell(reason)}" for name, reason in failed.items())
        java = run["java"].partition(".")[0]
        cells = [version, origin, run["spark"], java, run["python"], count, failures]
        yield f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> None:
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
