"""Each recipe of the cookbook is listed, run by CI, and contains its expected output."""

import re

import pytest
from fixtures.doc_pages import ROOT

_DOCS = ROOT / "docs"
_RECIPE = re.compile(r"^## (?P<title>.+?)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_RUNS = re.compile(r"^<!-- run -->\n```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_NO_RECIPES = {"Choose a writer", "Where to go next"}
# These recipes have tests of their own, which check the results.
_COMMANDS = {"<!-- run: cron -->": "tests/integration/package/test_cron.py"}

RECIPES = [
    (page.name, recipe["title"], recipe["text"])
    for page in sorted(_DOCS.glob("cookbook-*.md"))
    for recipe in _RECIPE.finditer(page.read_text())
    if recipe["title"] not in _NO_RECIPES
]


@pytest.mark.parametrize(("page", "title", "text"), RECIPES, ids=[title for _, title, _ in RECIPES])
def test_a_recipe_is_listed_and_run_with_its_results(page: str, title: str, text: str) -> None:
    anchor = re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-")
    assert f"({page}#{anchor})" in (_DOCS / "cookbook.md").read_text()
    commands = [test for mark, test in _COMMANDS.items() if mark in text]
    if commands:
        assert all((ROOT / test).exists() for test in commands)
    else:
        assert any(re.search(r"^assert ", run["code"], re.MULTILINE) for run in _RUNS.finditer(text))


def test_there_are_many_recipes() -> None:
    assert len(RECIPES) >= 14
