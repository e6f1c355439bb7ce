"""The site as `make docs` builds it, served on the loopback interface, and a browser that opens it."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.doc_pages import ROOT
from playwright.sync_api import Browser, expect, sync_playwright

expect.set_options(timeout=60_000)
SITE = ROOT / "site"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def end_headers(self) -> None:
        if self.path.startswith("/_static/"):
            self.send_header("Cache-Control", "max-age=600")
        super().end_headers()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly, from sources without the compiled kernel, as in a clone without Rust."""
    shutil.rmtree(SITE, ignore_errors=True)
    sources = tmp_path_factory.mktemp("sources")
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("_kernel*.so"), dirs_exist_ok=True)
    environment = os.environ | {"PYTHONPATH": str(sources)}
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", SITE]
    subprocess.run(build, cwd=ROOT, env=environment, check=True)
    generate = [sys.executable, "scripts/generate_docs.py", "--check"]
    subprocess.run(generate, cwd=ROOT, env=environment, check=True)
    return SITE


@pytest.fixture(scope="session")
def serve() -> Iterator[Any]:
    """Serves folders: call it with one for its URL, which ends without a slash."""
    servers = []

    def start(folder: Path) -> str:
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def url(site: Path, serve: Any) -> str:
    return str(serve(site))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = subprocess.run(
        ["bash", ROOT / "scripts" / "find_browser.sh"], stdout=subprocess.PIPE, check=True, text=True
    )
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield playwright.chromium.launch(executable_path=found.stdout.strip(), args=sandbox)
