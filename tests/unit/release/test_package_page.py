"""PyPI shows the README away from the repository."""

import re
import tomllib

from fixtures.doc_pages import ROOT
from fixtures.scripts import script

REPOSITORY = "https://forge.example/owner/name"
_PAGE = script("package_page")
package_page, with_urls = _PAGE.page, _PAGE.with_urls
LINK = re.compile(r"\]\(([^)]+)\)")


def test_each_link_of_the_readme_leads_to_a_file_at_the_tag() -> None:
    readme = (ROOT / "README.md").read_text()
    page = package_page(readme, REPOSITORY, "v1.2.3")
    before, after = LINK.findall(readme), LINK.findall(page)
    assert len(before) == len(after)
    changed = 0
    for old, new in zip(before, after, strict=True):
        if old.startswith(("https://", "#")):
            assert new == old
            continue
        changed += 1
        kind = "raw" if old.endswith(".svg") else "blob"  # a page for readers of the file is no picture
        assert new == f"{REPOSITORY}/{kind}/v1.2.3/{old}"
        assert (ROOT / old.partition("#")[0]).exists(), old
    assert changed > 10
    assert "\npip install pyspark-pulsar\n" in page
    assert "clone" not in page
    assert package_page(page, REPOSITORY, "v9") == page


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
