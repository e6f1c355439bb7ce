"""Every page of the site, wide and narrow, light and dark."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request

FAULTS = (Path(__file__).parent / "faults.js").read_text()
WIDTHS = (1280, 390)
NAVIGATION = "#pst-header .navbar-nav a, #pst-primary-sidebar .bd-links a"


@dataclass
class Visit:
    """Faults that one walk over all pages has found; the walk needs most of the time of these tests."""

    pages: list[str]
    faults: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    """Faults of a page: logged errors, requests to other hosts, missing files."""
    navigation: dict[str, set[str]] = field(default_factory=dict)
    """The pages to which the header's tabs and the section's list lead, by page."""


@pytest.fixture(scope="module")
def visit(site: Path, url: str, browser: Browser) -> Visit:
    names = (path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    found = Visit(sorted(name for name in names if not name.startswith("_static/")))
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    _listen(page, url, found.heard)
    widths = WIDTHS
    for name in found.pages:
        page.goto(f"{url}/{name}", wait_until="load")
        links = page.eval_on_selector_all(NAVIGATION, "links => links.map(link => link.href)")
        found.navigation[name] = {
            urlsplit(link).path.removeprefix("/") for link in links if link.startswith(url)
        }
        for width, modes in zip(widths, (("light", "dark"), ("dark", "light")), strict=True):
            page.set_viewport_size({"width": width, "height": 800})
            for mode in modes:
                page.emulate_media(color_scheme=mode)
                found.faults += [f"{name}, {mode}, {width}: {fault}" for fault in page.evaluate(FAULTS, mode)]
        widths = widths[::-1]  # the next page is opened at the width at which this one was left
    context.close()
    return found


def test_no_element_is_wider_than_its_container(visit: Visit) -> None:
    assert not visit.faults, "\n".join(visit.faults)


def test_pages_load_nothing_from_other_hosts_and_nothing_fails(visit: Visit) -> None:
    assert not visit.heard


def test_the_navigation_leads_from_the_first_page_to_every_other(visit: Visit) -> None:
    seen: set[str] = set()
    waiting = {"index.html"}
    while waiting:
        seen |= waiting
        waiting = set().union(*(visit.navigation[name] for name in waiting)) - seen
    assert set(visit.pages) - seen == {"search.html"}


def _listen(page: Page, url: str, heard: list[str]) -> None:
    def on_request(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            heard.append(f"{page.url}: asks for {request.url}")

    page.on("request", on_request)
    page.on("requestfailed", lambda request: heard.append(f"{page.url}: fails to load {request.url}"))
    page.on("pageerror", lambda error: heard.append(f"{page.url}: {error}"))
    page.on(
        "console", lambda line: heard.append(f"{page.url}: {line.text}") if line.type == "error" else None
    )
