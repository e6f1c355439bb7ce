"""The sources of the site, as far as a test can check them without a build; tests/docs check the built site."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fixtures.doc_pages import ROOT, prose

import pyspark_pulsar
from pyspark_pulsar.tools import standalone

DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md")}
SECTIONS = {
    "index.md",
    "start.md",
    "guides.md",
    "operate.md",
    "reference.md",
    "project.md",
    "decisions/index.md",
}
OF_THE_ROOT = {
    page: ROOT / f"{page.removesuffix('.md').upper()}.md"
    for page in ("architecture.md", "changelog.md", "contributing.md")
}
"""The documents of the repository's root that these pages show."""

_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def test_every_page_is_in_the_navigation() -> None:
    reached, waiting = set(), {"index.md"}
    while waiting:
        reached |= waiting
        waiting = set().union(*(_below(page) for page in waiting)) - reached
    assert reached == set(PAGES)


@pytest.mark.parametrize("page", sorted(set(PAGES) - SECTIONS - set(OF_THE_ROOT)))
def test_pages_lead_to_others_and_others_to_them(page: str) -> None:
    neighbours = {
        name: _linked(name)
        for name in PAGES
        if name != page and name not in SECTIONS - {"decisions/index.md"}
    }
    assert any(page in links for links in neighbours.values()), f"no page beside {page} links to it"
    if not page.startswith("decisions/"):
        end = PAGES[page].read_text().partition("\n## Where to go next\n")[2]
        assert _LINK.findall(end), f"{page}: expected links below 'Where to go next' at its end"


def test_external_links_are_whole() -> None:
    for path in [*ROOT.glob("*.md"), *PAGES.values()]:
        for link in _LINK.findall(prose(path)):
            if "://" in link:
                parts = urlsplit(link)
                assert parts.scheme == "https", f"{path}: {link}"
                assert re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", parts.netloc), f"{path}: {link}"


def test_pictures_have_a_text_and_one_style() -> None:
    shown = {}
    for path in [*ROOT.glob("*.md"), *PAGES.values()]:
        for text, link in _PICTURE.findall(path.read_text()):
            shown[(path.parent / link).resolve()] = text
    assert set(shown) == set((DOCS / "pictures").glob("*.svg"))
    assert all(len(text) > 30 for text in shown.values())
    assert len({_STYLE.findall(path.read_text())[0] for path in shown}) == 1
    css = (DOCS / "_static" / "site.css").read_text()
    for colours in re.findall(
        r"\.picture \{ (--[^}]*?);? \}", _STYLE.findall(next(iter(shown)).read_text())[0]
    ):
        assert colours in css, "the page's modes have the colours of the pictures"


def test_the_api_page_has_every_public_name() -> None:
    page = (DOCS / "api.md").read_text()
    described = set(re.findall(r"^\.\. auto\w+:: (\w+)", page, re.MULTILINE))
    assert set(pyspark_pulsar.__all__) - {"DefaultSource", "__version__"} <= described
    assert {"LocalPulsar", "fetch_server"} <= described & set(standalone.__all__)


@pytest.mark.parametrize("page", sorted(SECTIONS - {"index.md"}))
def test_a_section_describes_each_of_its_pages(page: str) -> None:
    assert _below(page)
    assert _below(page) <= _linked(page)


def _below(page: str) -> set[str]:
    """Return the pages that the tables of contents of a page name."""
    folder = PAGES[page].parent
    below: set[Path] = set()
    for tree in _TOCTREE.findall(PAGES[page].read_text()):
        for line in filter(None, tree.splitlines()):
            if not line.startswith(":"):
                found = set(folder.glob(f"{line}.md"))
                assert found, f"{page}: expected a page {line}, found none"
                below |= found
    return {path.relative_to(DOCS).as_posix() for path in below}


def _linked(page: str) -> set[str]:
    path = OF_THE_ROOT.get(page, PAGES[page])
    links = [link.partition("#")[0] for link in _LINK.findall(prose(path)) if "://" not in link]
    targets = [(path.parent / link).resolve() for link in links]
    return {target.relative_to(DOCS).as_posix() for target in targets if target.is_relative_to(DOCS)}
