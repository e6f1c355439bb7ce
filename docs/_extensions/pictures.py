"""SVG pictures as a part of their page, so that they follow its light and dark mode.

A page writes `![text](pictures/name.svg)`, as anywhere; the text is the alternative for who cannot see it.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

_TITLE = re.compile(r"\s*<title>.*?</title>")
"""Browsers show it as a tooltip on all of the picture; in a page the text of the link is better."""


def _put_into_page(app: Sphinx, doctree: nodes.document, _page: str) -> None:
    if app.builder.format != "html":
        return
    for image in list(doctree.findall(nodes.image)):
        path = Path(app.srcdir) / image["uri"]
        if path.suffix == ".svg" and path.is_file():
            svg = _TITLE.sub("", path.read_text(), count=1)
            alternative = escape(image.get("alt", ""))
            figure = svg.replace("<svg ", f'<svg role="img" aria-label="{alternative}" ', 1)
            image.replace_self(nodes.raw("", f'<span class="picture-frame">{figure}</span>', format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", _put_into_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
