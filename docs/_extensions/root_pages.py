"""Documents of the repository's root as pages of the site, and the list of versions that the site's menu shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"architecture": "ARCHITECTURE.md", "changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md"}
"""Page of the site to the document that it shows. In docs/ the page is one line, for readers of the repository."""

_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _show_document(app: Sphinx, page: str, source: list[str]) -> None:
    if page in PAGES:
        path = ROOT / PAGES[page]
        app.env.note_dependency(str(path))
        source[0] = _LINK.sub(lambda link: f"]({_from_docs(link[1])})", path.read_text())


def _from_docs(link: str) -> str:
    """Return a link of a document in the root as a page in docs/ writes it."""
    name, separator, anchor = link.partition("#")
    pages = {document: f"{page}.md" for page, document in PAGES.items()}
    return pages.get(name, name.removeprefix("docs/")) + separator + anchor


def _write_versions(app: Sphinx, error: Exception | None) -> None:
    """Write the list of versions with this build only. `scripts/publish_docs.py` adds the published builds."""
    if error is None and app.builder.format == "html":
        versions = [{"version": app.config.release, "name": app.config.release, "url": "/"}]
        (app.outdir / "_static" / "versions.json").write_text(json.dumps(versions))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _show_document)
    app.connect("build-finished", _write_versions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
