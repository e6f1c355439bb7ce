"""Runs what README.md and docs/ mark with `<!-- run -->`, page by page, as a reader would from top to bottom."""

from pathlib import Path
from typing import Any

import pytest
from fixtures.doc_pages import PAGES, ROOT, snippets
from pyspark.sql import SparkSession

from pyspark_pulsar.standalone import LocalPulsar

DOCUMENTED_URL = "pulsar://localhost:6650"
# Relative to the folder in which Spark's JVM was started, which a test cannot change.
DOCUMENTED_CHECKPOINTS = '"checkpoints/'
RUNNABLE = [page for page in PAGES if any(snippet.runs for snippet in snippets(page))]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_snippets_of_a_page_run(
    page: Path, pulsar: LocalPulsar, spark: SparkSession, tmp_path: Path
) -> None:
    names: dict[str, Any] = {"spark": spark}
    for snippet in snippets(page):
        if snippet.runs:
            code = snippet.code.replace(DOCUMENTED_URL, pulsar.service_url)
            code = code.replace(DOCUMENTED_CHECKPOINTS, f'"{tmp_path}/')
            exec(compile(code, str(snippet), "exec"), names)
