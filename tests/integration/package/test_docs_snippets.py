"""Runs what README.md and docs/ mark with `<!-- run -->`, page by page, as a reader would from top to bottom."""

from pathlib import Path
from typing import Any

import pytest
from fixtures.doc_pages import PAGES, ROOT, snippets
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
    try:
        for snippet in snippets(page):
            if snippet.runs:
                code = snippet.code.replace(DOCUMENTED_URL, pulsar.service_url)
                code = code.replace(DOCUMENTED_ADMIN_URL, pulsar.admin_url)
                code = code.replace(DOCUMENTED_DISK, f"{tmp_path}/")
                for folder in DOCUMENTED_FOLDERS:
                    code = code.replace(folder, f'"{tmp_path}/')
                exec(compile(code, str(snippet), "exec"), names)
    finally:
        # `register` in a page turns it on, and the session is that of all tests.
        spark.conf.unset(FILTER_PUSHDOWN)
