import importlib.util
import re
import sys
from types import ModuleType

from fixtures.doc_pages import ROOT

from pyspark_pulsar.options import ReadOptions, WriteOptions, option_fields


def _generator(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_generated_pages_are_what_the_code_says() -> None:
    for page, text in _generator("generate_docs").pages().items():
        assert page.read_text() == text, f"{page} is stale; run scripts/generate_docs.py"


def test_the_charts_are_what_the_results_say() -> None:
    for chart, text in _generator("generate_charts").charts().items():
        assert chart.read_text() == text, f"{chart} is stale; run scripts/generate_charts.py"


def test_the_matrix_is_what_the_checks_found() -> None:
    for page, text in _generator("server_matrix").pages().items():
        assert page.read_text() == text, f"{page} is stale; run scripts/server_matrix.py"


def test_the_options_page_has_a_row_for_every_option() -> None:
    rows = [
        line for line in (ROOT / "docs" / "options.md").read_text().splitlines() if line.startswith("| `")
    ]
    options = {
        option.key for scope in (ReadOptions, WriteOptions) for option in option_fields(scope).values()
    }
    assert {row.split("`")[1] for row in rows} == options


def test_defaults_of_the_options_page_are_texts_that_the_options_take() -> None:
    row = re.compile(r"^\| `([^`]+)`[^|]* \| `([^`]+)` \|", re.MULTILINE)
    options = {
        option.key: option
        for scope in (ReadOptions, WriteOptions)
        for option in option_fields(scope).values()
    }
    shown = row.findall((ROOT / "docs" / "options.md").read_text())
    assert len(shown) > 20
    assert ("failOnDataLoss", "true") in shown
    for key, text in shown:
        options[key].parse(text)
        assert text not in ("True", "False", "()"), key
