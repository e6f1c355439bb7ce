import importlib.util
import re
import sys
from dataclasses import MISSING, fields
from types import ModuleType

import pytest
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


def test_the_generated_pages_agree_with_the_code() -> None:
    for page, text in _generator("generate_docs").pages().items():
        assert page.read_text() == text, f"{page} is stale; run scripts/generate_docs.py"


def test_the_charts_show_the_results() -> None:
    for chart, text in _generator("generate_charts").charts().items():
        assert chart.read_text() == text, f"{chart} is stale; run scripts/generate_charts.py"


def test_the_matrix_agrees_with_the_checks() -> None:
    for page, text in _generator("server_matrix").pages().items():
        assert page.read_text() == text, f"{page} is stale; run scripts/server_matrix.py"


OPTIONS = {**option_fields(ReadOptions), **option_fields(WriteOptions)}
_OPTION = re.compile(
    r"^### `(?P<key>[^`]+)`\n\n(?P<meaning>.+)\n\n- Value: (?P<value>.+)\n- Default: (?P<default>.+)\n",
    re.MULTILINE,
)


def _options_page() -> list[re.Match[str]]:
    return list(_OPTION.finditer((ROOT / "docs" / "options.md").read_text()))


def test_the_options_page_has_a_heading_for_every_option() -> None:
    options = [
        *option_fields(ReadOptions).values(),
        *(
            option
            for name, option in option_fields(WriteOptions).items()
            if name not in option_fields(ReadOptions)
        ),
        option_fields(WriteOptions)["topic"],
    ]
    assert sorted(shown["key"] for shown in _options_page()) == sorted(option.key for option in options)


def test_the_options_page_shows_defaults_that_the_options_accept() -> None:
    options = {option.key: option for option in OPTIONS.values()}
    shown = {found["key"]: found["default"] for found in _options_page()}
    defaults = {
        key: text.split("`")[1] for key, text in shown.items() if not options[key].unset and "`" in text
    }
    assert len(defaults) > 20
    assert defaults["failOnDataLoss"] == "true"
    assert shown["pollTimeoutMs"] == "`120000` (2 minutes)"
    assert shown["maxBytesPerPartition"] == "`67108864` (64 MiB)"
    for key, text in defaults.items():
        options[key].parse(text)


@pytest.mark.parametrize("scope", [ReadOptions, WriteOptions])
def test_an_option_without_a_default_value_has_its_default_in_words(
    scope: type[ReadOptions | WriteOptions],
) -> None:
    for field in fields(scope):
        has_value = field.default is not MISSING and field.default is not None and field.default != ()
        is_required = field.default is MISSING
        assert bool(option_fields(scope)[field.name].unset) == (not has_value and not is_required), field.name


def test_the_options_page_shows_a_number_a_choice_or_an_example_that_the_option_accepts() -> None:
    options = {option.key: option for option in OPTIONS.values()}
    for shown in _options_page():
        assert "whole number" in shown["value"] or "`" in shown["value"], shown["key"]
        if " such as `" in shown["value"]:
            options[shown["key"]].parse(shown["value"].split("such as `")[1].partition("`")[0])
