"""Twenty searches of users, and the page that each expects among the first two results."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

QUERIES = {
    "startingOffsets": "options.html",
    "avro": "schema-mapping.html",
    "checkpoint": "checkpoints.html",
    "token authentication": "security.html",
    "spark connect": "deployment.html",
    "exactly once": "guarantees.html",
    "deduplication": "writing.html",
    "time travel": "catalog.html",
    "bookies": "bookies.html",
    "iceberg": "columns.html",
    "dead letter": "cookbook-streams.html",
    "kubernetes": "kubernetes.html",
    "prometheus": "operations.html",
    "maxBytesPerTrigger": "options.html",
    "protobuf": "schema-mapping.html",
    "kafka": "coming-from-kafka.html",
    "failover": "failover.html",
    "DataLossError": "errors.html",
    "encryption": "messages.html",
    "install": "quickstart.html",
}


@pytest.fixture(scope="module")
def page(browser: Browser, url: str) -> Any:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, base_url=url)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(("query", "expected"), QUERIES.items())
def test_the_right_page_is_among_the_first_two(page: Page, query: str, expected: str) -> None:
    page.goto(f"/search.html?q={query}")
    expect(page.locator("#search-results .search-summary")).to_contain_text("found")
    links = page.locator("#search-results ul.search li > a").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    pages = list(dict.fromkeys(link.partition("#")[0].partition("?")[0] for link in links))
    assert expected in pages[:2], pages[:5]
