"""Add a built site to the sites of earlier releases, in the folder that a web server serves.

    python scripts/publish_docs.py site TREE --version 0.2.0 --url https://example.com/docs

Each version has its own folder, TREE/0.2.0. The menu of versions lists all of them, also in older versions. The first
page leads to the newest version that is not a pre-release. Publishing a version again replaces the earlier site of this
version.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from packaging.version import InvalidVersion, Version

_MENU = Path("_static", "versions.json")


def publish(site: Path, tree: Path, version: str, url: str) -> None:
    """Copy a built site into the tree as this version, and update the menus.

    `url` is the URL of the tree without a slash at its end. It is empty if the tree is at the root of its host.

    Raises:
        ValueError: The site was not built, or the version is malformed.

    """
    if not (site / _MENU).is_file():
        raise ValueError(f"{site}: expected a built site with {_MENU}, got none; run make docs")
    folder = tree / str(_parse_version(version))
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(site, folder)
    _link_versions(tree, url)


def _link_versions(tree: Path, url: str) -> None:
    versions = sorted(
        (_parse_version(menu.parents[1].name) for menu in tree.glob(f"*/{_MENU}")), reverse=True
    )
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
    (tree / ".nojekyll").touch()  # without it, some hosts omit folders like _static


def _parse_version(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        raise ValueError(f"expected a version such as 0.2.0, got {version!r}; correct it") from None


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("site", type=Path)
    arguments.add_argument("tree", type=Path)
    arguments.add_argument("--version", required=True)
    arguments.add_argument("--url", default="", help="URL of the tree; default: the root of its host")
    given = arguments.parse_args()
    publish(given.site, given.tree, given.version, given.url.rstrip("/"))


if __name__ == "__main__":
    main()
