"""The messages that docs/troubleshooting.md quotes exist in this package, in Spark, or in Python in Spark."""

import ast
import re
import zipfile
from functools import cache
from pathlib import Path

import pyspark
import pytest
from fixtures.doc_pages import ROOT

from pyspark_pulsar import errors

PAGE = ROOT / "docs" / "troubleshooting.md"

# In org.apache.spark.api.python.PythonWorkerException and BasePythonRunner.
OF_SPARKS_JVM = {"Python worker exited unexpectedly"}
# Settings, formats and modes that a cell names without quoting an error.
WORDS = re.compile(r"[a-z]+[A-Za-z.]*(=[a-z-]+|\(\.\.\., [a-z]+=\"[a-z]+\"\))?|PYTHON[A-Z]+|[a-z]+\(.*\)")

_ROW = re.compile(r"^\| (?P<cell>.+?) \| .+ \| .+ \|$", re.MULTILINE)
_QUOTED = re.compile(r"`([^`]+)`")
_CONDITION = re.compile(r"[A-Z]+(_[A-Z]+)+")
_CONTINUED = re.compile(r"\\\n\s*")


def _quotes() -> list[str]:
    """The quoted texts of first columns, without headings and what is no text of an error."""
    tables = PAGE.read_text().partition("## Startup errors")[2]
    cells = [row["cell"] for row in _ROW.finditer(tables) if row["cell"] != "Symptom"]
    found = [quote for cell in cells for quote in _QUOTED.findall(cell)]
    return [quote for quote in found if not WORDS.fullmatch(quote)]


@cache
def _message_texts() -> str:
    """Each text of the package's Python, pieces of f-strings apart, and the sources of kernel and jar, by lines."""
    modules = sorted((ROOT / "src" / "pyspark_pulsar").rglob("*.py"))
    nodes = [node for path in modules for node in ast.walk(ast.parse(path.read_text()))]
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for folder, suffix in ((ROOT / "kernel" / "src", "*.rs"), (ROOT / "jvm", "*.java")):
        texts += [_CONTINUED.sub("", path.read_text()) for path in sorted(folder.rglob(suffix))]
    return "\n".join(texts)


@cache
def _sparks_conditions() -> str:
    folder = Path(pyspark.__path__[0])
    (jar,) = (folder / "jars").glob("spark-common-utils_*.jar")
    with zipfile.ZipFile(jar) as archive:
        of_jvm = archive.read("error/error-conditions.json").decode()
    return of_jvm + (folder / "errors" / "error-conditions.json").read_text()


@pytest.mark.parametrize("quote", _quotes())
def test_a_quoted_text_exists(quote: str) -> None:
    if _CONDITION.fullmatch(quote):
        assert f'"{quote}"' in _sparks_conditions()
    elif quote.isidentifier() and quote[0].isupper():
        assert issubclass(getattr(errors, quote), errors.PulsarError)
    elif quote not in OF_SPARKS_JVM:
        for fragment in quote.split("..."):
            assert fragment.strip() in _message_texts() + _sparks_conditions(), fragment


def test_the_page_quotes_many_errors_and_the_check_sees_wrong_ones() -> None:
    assert len(_quotes()) > 35
    assert "expected a frame of Pulsar's binary protocol" in _message_texts()
    assert "expected a frame of Kafka's binary protocol" not in _message_texts()
    assert '"STREAM_IS_TIRED"' not in _sparks_conditions()
