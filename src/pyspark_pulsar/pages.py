"""Addresses of documentation pages for error messages.

A release writes the address of the documentation into the package's metadata (`scripts/package_page.py`). Without an
address, as in a clone, messages contain the titles of the pages instead.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

TITLES: Final = {
    "bookies": "Direct reads from bookies",
    "failover": "Failover to another cluster",
    "migrating": "Coming from pulsar-spark",
    "options": "Options",
    "scalable-topics": "Scalable topics",
    "schema-mapping": "Schema mapping",
    "security": "Security",
    "streaming": "Streaming",
}
"""The titles of pages that messages mention, by file name without extension."""

_PLACE: Final = re.compile(r"<([a-z-]+)>")
_URL: Final = "Documentation, "
_FIRST_PAGE: Final = "index"


def page(name: str, section: str | None = None) -> str:
    """Return the URL of a page, or a phrase with the page's title if the documentation's URL is unknown.

    Args:
        name: The page's file name without its extension. This name is a key of `TITLES`.
        section: The heading of a section of the page.

    """
    return _page(documentation_url(), name, section)


def with_pages(text: str) -> str:
    """Replace each name in angle brackets, such as `<options>`, by the address or title of its page."""
    return _PLACE.sub(lambda place: page(place[1]), text)


def _page(url: str | None, name: str, section: str | None) -> str:
    title = TITLES[name]
    if url is None:
        part = "" if section is None else f'section "{section}" of '
        return f'{part}the page "{title}" of the documentation'
    folder, _, first = url.rpartition("/")
    ending = first.removeprefix(_FIRST_PAGE) if first.startswith(_FIRST_PAGE) else ".html"
    anchor = "" if section is None else "#" + section.lower().replace(" ", "-")
    return f"{folder}/{name}{ending}{anchor}"


@lru_cache(maxsize=1)
def documentation_url() -> str | None:
    """Return the address of the documentation's first page, or None if the package's metadata lack it."""
    # The module `importlib.metadata` is slow to import, and only error messages need the address.
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("pyspark-pulsar").get_all("Project-URL") or []
    except PackageNotFoundError:
        # The package has no metadata. For example, its files were sent to a machine without being installed there.
        return None
    return next((url.removeprefix(_URL) for url in urls if url.startswith(_URL)), None)
