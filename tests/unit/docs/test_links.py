import re
from pathlib import Path

import pytest
from fixtures.doc_pages import PAGES, ROOT, prose

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_MAKE = re.compile(r"`make ([a-z-]+)`|^make ([a-z-]+)$", re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ +(.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose(page)):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert not broken


def test_pages_of_the_site_link_only_inside_the_site() -> None:
    docs = ROOT / "docs"
    of_the_root = {
        "architecture.md",
        "changelog.md",
        "contributing.md",
    }  # the site shows that document instead
    for page in docs.rglob("*.md"):
        if page.name in of_the_root:
            continue
        for link in _LINK.findall(prose(page)):
            if "://" not in link:
                assert (page.parent / link.partition("#")[0]).resolve().is_relative_to(docs), (
                    f"{page}: {link}"
                )


def test_make_targets_that_pages_name_exist() -> None:
    rules = re.findall(r"^([a-z][a-z -]*(?:\\\n[a-z -]+)*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for rule in rules for target in rule.replace("\\\n", " ").split()}
    named = {a or b for page in PAGES for a, b in _MAKE.findall(page.read_text())}
    assert {"demo", "test"} <= named <= targets
