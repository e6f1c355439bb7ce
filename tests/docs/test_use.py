"""The site as readers use it: search, copying, colors, versions, a phone."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fixtures.doc_pages import ROOT, snippets
from playwright.sync_api import Browser, Page, expect


@pytest.fixture
def page(browser: Browser, url: str) -> Any:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800},
        permissions=["clipboard-read", "clipboard-write"],
        base_url=url,
    )
    yield context.new_page()
    context.close()


def test_search_finds_a_word_while_it_is_typed(page: Page) -> None:
    page.goto("/index.html")
    page.get_by_role("button", name="Search").first.click()
    page.keyboard.type("cryptoFailureAction", delay=10)
    found = page.locator("#pst-search-dialog a[href*='messages.html']").first
    expect(found).to_be_visible()
    found.click()
    expect(page.locator("h1")).to_contain_text("Messages: bad, chunked, encrypted, compacted")


def test_search_finds_a_word_on_its_own_page(page: Page) -> None:
    page.goto("/search.html?q=deliveryGuarantee")
    expect(page.locator("#search-results a[href*='writing.html']").first).to_be_visible()


def test_search_shows_pages_for_users_before_those_of_the_project(page: Page) -> None:
    page.goto("/search.html?q=exactly-once")
    expect(page.locator("#search-results a").first).to_have_attribute(
        "href", re.compile(r"^guarantees\.html")
    )


def test_the_copy_button_copies_the_program(page: Page) -> None:
    page.goto("/index.html")
    block = page.locator("div.highlight-python div.highlight").first
    give_up = time.monotonic() + 60
    while True:
        block.hover()
        block.locator("button.copybtn").click()
        try:
            # It shows for a moment, in which a busy machine may not look.
            expect(block.locator("button.copybtn.success")).to_be_visible(timeout=2_000)
            break
        except AssertionError:
            assert time.monotonic() < give_up, "the button shows no success"
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == snippets(ROOT / "docs" / "index.md")[0].code.strip()


def test_dark_mode_is_kept(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/index.html")
    page.locator("#pst-header button.theme-switch-button").first.click()
    page.locator("#pst-header button.theme-change-button[data-mode=dark]").first.click()
    page.goto("/segments.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    ink = page.evaluate(
        "getComputedStyle(document.querySelector('svg.picture')).getPropertyValue('--ink').trim()"
    )
    assert ink == "#e6edf3", "pictures follow the site, not the system"


def test_on_a_phone_the_menu_leads_on(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/options.html")
    page.get_by_role("button", name="Site navigation").click()
    page.locator("dialog[open] a", has_text="Guides").first.click()
    expect(page.locator("h1")).to_contain_text("Guides")
    page.get_by_role("button", name="Site navigation").click()
    page.locator("dialog[open] a", has_text="Streaming").first.click()
    expect(page.locator("h1")).to_contain_text("Streaming")


def test_versions_that_are_published_lead_to_each_other(
    site: Path, serve: Any, page: Page, tmp_path: Path
) -> None:
    older = shutil.copytree(site, tmp_path / "older")
    for built in older.rglob("*.html"):
        text = built.read_text()
        built.write_text(
            text.replace("theme_switcher_version_match = '", "theme_switcher_version_match = '0.0.1' + '")
        )
    for folder, version in ((site, "9.0.0rc1"), (site, "0.9.0"), (older, "0.0.1"), (site, "0.9.0")):
        script = [sys.executable, ROOT / "scripts" / "publish_docs.py", folder, tmp_path / "tree"]
        subprocess.run([*script, "--version", version], check=True)
    url = serve(tmp_path / "tree")
    page.goto(f"{url}/index.html")
    page.wait_for_url(f"{url}/0.9.0/index.html")
    page.goto(f"{url}/0.0.1/decisions/index.html")
    page.locator(".version-switcher__button:visible").click()
    names = page.locator(".version-switcher__menu:visible a")
    expect(names).to_have_text(["9.0.0rc1", "0.9.0 (newest)", "0.0.1"])
    names.nth(1).click()
    page.wait_for_url(f"{url}/0.9.0/decisions/index.html")
