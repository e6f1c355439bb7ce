"""Every page of the site, wide and narrow, light and dark."""

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Request

# Each fault in a line: what is wider than the place it has. What scrolls by itself is `pre` and signatures only.
FAULTS = """() => {
  const faults = [];
  const page = document.scrollingElement;
  if (page.scrollWidth > page.clientWidth) faults.push(`the page: ${page.scrollWidth} in ${page.clientWidth} pixels`);
  const named = (element) => `${element.tagName.toLowerCase()}.${element.className}: ${element.textContent.trim().slice(0, 60)}`;
  for (const element of document.querySelectorAll(".bd-main, .bd-main *, #pst-header *")) {
    if (element.closest("svg, .visually-hidden") || element.clientWidth === 0) continue;
    if (element.scrollWidth <= element.clientWidth + 1) continue;
    const style = getComputedStyle(element);
    const scrolls = ["auto", "scroll"].includes(style.overflowX) && element.matches("pre, dt");
    if (!scrolls && style.display !== "inline") faults.push(`${named(element)}: ${element.scrollWidth} in ${element.clientWidth} pixels`);
  }
  for (const picture of document.querySelectorAll("svg.picture")) {
    const frame = picture.getBoundingClientRect();
    if (!picture.getAttribute("aria-label")) faults.push("a picture without a text");
    for (const text of picture.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1) faults.push(`outside its picture: ${text.textContent}`);
      if (box.height < 10) faults.push(`too small in its picture: ${text.textContent}`);
    }
  }
  return faults;
}"""
# A page follows the system at once, its colours within a few frames.
SHOWN = """(mode) => {
  const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
  const brightness = (red + green + blue) / 3;
  return document.documentElement.dataset.theme === mode && (mode === "light" ? brightness > 200 : brightness < 80);
}"""
WIDTHS = (1280, 390)


def test_nothing_is_wider_than_its_place(site: Path, url: str, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    heard = _listen(page, url)
    faults = []
    for name in _pages(site):
        page.set_viewport_size({"width": WIDTHS[0], "height": 800})
        page.emulate_media(color_scheme="light")
        page.goto(f"{url}/{name}", wait_until="load")
        for mode in ("light", "dark"):
            page.emulate_media(color_scheme=mode)
            page.wait_for_function(SHOWN, arg=mode)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                faults += [f"{name}, {mode}, {width}: {fault}" for fault in page.evaluate(FAULTS)]
    context.close()
    assert not faults
    assert not heard


def test_the_navigation_leads_to_every_page(site: Path, url: str, browser: Browser) -> None:
    """From the first page, by the header's tabs and each section's list alone."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    heard = _listen(page, url)
    seen: set[str] = set()
    waiting = ["index.html"]
    while waiting:
        name = waiting.pop()
        seen.add(name)
        page.goto(f"{url}/{name}", wait_until="domcontentloaded")
        links = page.eval_on_selector_all(
            "#pst-header .navbar-nav a, #pst-primary-sidebar .bd-links a", "links => links.map(link => link.href)"
        )
        inside = {urlsplit(link).path.removeprefix("/") for link in links if link.startswith(url)}
        waiting += sorted(inside - seen - set(waiting))
    context.close()
    assert set(_pages(site)) - seen == {"search.html"}
    assert seen <= set(_pages(site))
    assert not heard


def _pages(site: Path) -> list[str]:
    names = (path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return sorted(name for name in names if not name.startswith("_static/"))


def _listen(page: Page, url: str) -> list[str]:
    """What a page may not do: log errors, ask another host, miss a file. Filled while pages are opened."""
    heard: list[str] = []

    def on_request(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            heard.append(f"{page.url}: asks for {request.url}")

    page.on("request", on_request)
    page.on("requestfailed", lambda request: heard.append(f"{page.url}: fails to load {request.url}"))
    page.on("pageerror", lambda error: heard.append(f"{page.url}: {error}"))
    page.on(
        "console", lambda line: heard.append(f"{page.url}: {line.text}") if line.type == "error" else None
    )
    return heard
