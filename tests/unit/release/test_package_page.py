"""PyPI shows the README away from the repository."""

import re
import tomllib

from fixtures.doc_pages import ROOT
from fixtures.scripts import script

REPOSITORY = "https://forge.example/owner/name"
_PAGE = script("package_page")
with_absolute_links, with_urls = _PAGE.with_absolute_links, _PAGE.with_urls
LINK = re.compile(r"\]\(([^)]+)\)")


def test_each_link_of_the_readme_leads_to_a_file_at_the_tag() -> None:
    readme = (ROOT / "README.md").read_text()
    page = with_absolute_links(readme, REPOSITORY, "v1.2.3")
    before, after = LINK.findall(readme), LINK.findall(page)
    assert len(before) == len(after)
    changed = 0
    for old, new in zip(before, after, strict=True):
        if old.startswith(("https://", "#")):
            assert new == old
            continue
        changed += 1
        assert new == f"{REPOSITORY}/blob/v1.2.3/{old}"
        assert (ROOT / old.partition("#")[0]).exists(), old
    assert changed > 10
    assert LINK.sub("", page) == LINK.sub("", readme)
    assert with_absolute_links(page, REPOSITORY, "v9") == page


def test_the_page_links_to_the_repository() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text()
    changed = with_urls(pyproject, REPOSITORY, "v1.2.3")
    urls = tomllib.loads(changed)["project"].pop("urls")
    assert urls["Source"] == REPOSITORY
    assert all(url.startswith(REPOSITORY) for url in urls.values())
    assert {**tomllib.loads(changed)["project"], "urls": None} == {
        **tomllib.loads(pyproject)["project"],
        "urls": None,
    }
    assert with_urls(changed, "https://other.example", "v9") == changed
