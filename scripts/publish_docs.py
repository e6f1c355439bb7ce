"""Puts a built site beside those of earlier releases, in the tree that a web server serves.

    python scripts/publish_docs.py site TREE --version 0.2.0 --url https://example.com/docs

Each version has a folder of its own, TREE/0.2.0. The menu of versions, also that of the older ones, lists all of them,
and the tree's first page leads to the newest that is no pre-release. Publishing a version again replaces it.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from packaging.version import InvalidVersion, Version

_MENU = Path("_static", "versions.json")


def publish(site: Path, tree: Path, version: str, url: str) -> None:
    """`url` is where the tree is served, without a slash at its end; empty for the root of its host.

    Raises `ValueError` for a site that was not built, or a version that is none.
    """
    if not (site / _MENU).is_file():
        raise ValueError(f"{site}: expected a built site with {_MENU}, got none; run make docs")
    folder = tree / str(_parsed(version))
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(site, folder)
    _link_versions(tree, url)


def _link_versions(tree: Path, url: str) -> None:
    versions = sorted((_parsed(menu.parents[1].name) for menu in tree.glob(f"*/{_MENU}")), reverse=True)
    newest = next((version for version in versions if not version.is_prerelease), versions[0])
    entries = [
        {
            "version": str(version),
            "name": f"{version} (newest)" if version == newest else str(version),
            "url": f"{url}/{version}/",
            "preferred": version == newest,
        }
        for version in versions
    ]
    for version in versions:
        (tree / str(version) / _MENU).write_text(json.dumps(entries))
    (tree / "index.html").write_text(
        f'<!doctype html><title>pyspark-pulsar</title><meta http-equiv="refresh" content="0; url={newest}/index.html">'
        f'<a href="{newest}/index.html">pyspark-pulsar {newest}</a>\n'
    )
    (tree / ".nojekyll").touch()  # some hosts leave out folders like _static without it


def _parsed(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        raise ValueError(f"expected a version such as 0.2.0, got {version!r}") from None


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("site", type=Path)
    arguments.add_argument("tree", type=Path)
    arguments.add_argument("--version", required=True)
    arguments.add_argument(
        "--url", default="", help="where the tree is served; default: the root of its host"
    )
    given = arguments.parse_args()
    publish(given.site, given.tree, given.version, given.url.rstrip("/"))


if __name__ == "__main__":
    main()
