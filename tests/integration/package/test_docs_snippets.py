"""The programs of README.md and docs/ that `<!-- run -->` marks, run page by page from top to bottom, and their output.

The block of text after a program shows its output. `make docs-output` writes these blocks into the pages.
"""

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from fixtures.doc_pages import PAGES, ROOT, Snippet, snippets
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

DOCUMENTED_URL = "pulsar://localhost:6650"
DOCUMENTED_ADMIN_URL = "http://localhost:8080"
DOCUMENTED_DISK = "/data/"
# Relative to the folder in which Spark's JVM was started, which a test cannot change.
DOCUMENTED_FOLDERS = ('"checkpoints/', '"audits/')
FILTER_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
RUNNABLE = [page for page in PAGES if any(snippet.runs for snippet in snippets(page))]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_snippets_of_a_page_run(
    page: Path, pulsar: LocalPulsar, spark: SparkSession, tmp_path: Path
) -> None:
    names: dict[str, Any] = {"spark": spark}
    printed: list[tuple[Snippet, str]] = []
    try:
        for snippet in snippets(page):
            if snippet.runs:
                code = snippet.code.replace(DOCUMENTED_URL, pulsar.service_url)
                code = code.replace(DOCUMENTED_ADMIN_URL, pulsar.admin_url)
                code = code.replace(DOCUMENTED_DISK, f"{tmp_path}/")
                for folder in DOCUMENTED_FOLDERS:
                    code = code.replace(folder, f'"{tmp_path}/')
                with redirect_stdout(io.StringIO()) as output:
                    exec(compile(code, str(snippet), "exec"), names)
                text = output.getvalue().replace(pulsar.service_url, DOCUMENTED_URL)
                text = text.replace(pulsar.admin_url, DOCUMENTED_ADMIN_URL).rstrip()
                if ".explain(" not in code:  # plans contain column numbers of the session
                    printed.append((snippet, f"{text}\n" if text else ""))
    finally:
        # `register` in a page turns this on, and all tests share the session.
        spark.conf.unset(FILTER_PUSHDOWN)
    if os.environ.get("WRITE_OUTPUT"):
        _write(page, printed)
        return
    for snippet, output in printed:
        assert _lasting(snippet.output) == _lasting(output), f"{snippet}: run `make docs-output`"


# What differs from run to run: times, durations, sizes, and the ledger and entry ids of positions.
_PASSING = re.compile(
    r"\{\d+(?:, -?\d+)+\}|\d{4}-\d\d-\d\d[ T][\d:.]+Z?|\d+(?::-?\d+)+|\b\d{2,}(?:\.\d+)?\b|\[(?:[0-9A-F]{2} ?)+\]"
)


def _lasting(output: str) -> list[list[str]]:
    """Return the rows of the output, sorted, as cells without what differs from run to run."""
    lines = [line for line in output.splitlines() if line.strip("+- ")]
    return sorted([_PASSING.sub("N", cell).strip() for cell in line.split("|")] for line in lines)


def _write(page: Path, printed: list[tuple[Snippet, str]]) -> None:
    text = page.read_text()
    for snippet, output in reversed(printed):
        block = f"\n\n```text\n{output}```" if output else ""
        text = text[: snippet.end] + block + text[snippet.output_end :]
    page.write_text(text)
