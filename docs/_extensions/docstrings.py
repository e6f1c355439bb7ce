"""Links in docstrings: on the site, `docs/NAME.md` links to the page NAME."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

_PAGE = re.compile(r"docs/([a-z-]+)\.md")


def _link_pages(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    lines[:] = [_PAGE.sub(r":doc:`\1`", line) for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _link_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
