"""Messages name pages of the documentation by address, and by title where no release has written the address."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from pyspark_pulsar.pages import TITLES, _page, documentation_url, with_pages

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src" / "pyspark_pulsar"
FORGE = "https://forge.example/owner/pyspark-pulsar/blob/v0.1.0/docs/index.md"


@pytest.mark.parametrize("name", TITLES)
def test_titles_are_those_of_the_pages(name: str) -> None:
    headings = re.findall(r"^# (.+)$", (ROOT / "docs" / f"{name}.md").read_text(), re.MULTILINE)
    assert headings[0] == TITLES[name]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            FORGE,
            "https://forge.example/owner/pyspark-pulsar/blob/v0.1.0/docs/streaming.md#non-persistent-topics",
        ),
        ("https://docs.example/0.1.0/", "https://docs.example/0.1.0/streaming.html#non-persistent-topics"),
        (
            "https://docs.example/0.1.0/index.html",
            "https://docs.example/0.1.0/streaming.html#non-persistent-topics",
        ),
        (None, 'section "Non-persistent topics" of the page "Streaming" of the documentation'),
    ],
)
def test_the_address_of_a_page(url: str | None, expected: str) -> None:
    assert _page(url, "streaming", "Non-persistent topics") == expected


def test_a_page_in_a_text() -> None:
    assert documentation_url() is None, "only a release writes it"
    assert with_pages("see (<security>)") == 'see (the page "Security" of the documentation)'


def test_sections_exist() -> None:
    named = re.findall(
        r"page\(['\"]([a-z-]+)['\"], ['\"]([^'\"]+)['\"]\)",
        "".join(map(Path.read_text, SOURCES.rglob("*.py"))),
    )
    assert len(named) >= 4
    for name, section in named:
        assert f"\n## {section}\n" in (ROOT / "docs" / f"{name}.md").read_text()


def test_no_message_names_a_file_of_the_repository() -> None:
    """Docstrings may."""
    for file in SOURCES.rglob("*.py"):
        tree = ast.parse(file.read_text())
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
                assert not re.search(r"docs/[a-z-]+\.md", node.value), (file, node.value)
