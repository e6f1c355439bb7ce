"""Virtual environments without pip's downloads: packages of the one that runs the tests are linked into them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

OF_SPARK = frozenset({"pyspark", "py4j"})


def make_environment(folder: Path) -> Path:
    """An empty one; returns its folder of packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    (site,) = folder.glob("lib/python*/site-packages")
    return site


def link_requirements(
    site: Path,
    of: Distribution,
    *,
    extras: frozenset[str] = frozenset(),
    without: frozenset[str] = frozenset(),
) -> None:
    """Link everything that `of` requires, and nothing else. PySpark gets a folder of its own, so tests can
    add files.
    """
    for package in _requirements(of, extras | {""}, set(without)):
        tops = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        for top in tops:
            source, place = Path(str(package.locate_file(top))), site / top
            if top == "pyspark":
                place.mkdir()
                for part in source.iterdir():
                    (place / part.name).symlink_to(part)
            elif not place.exists():
                place.symlink_to(source)


def _requirements(of: Distribution, extras: frozenset[str], seen: set[str]) -> Iterator[Distribution]:
    for text in of.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        needed = marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)
        if needed and requirement.name not in seen:
            seen.add(requirement.name)
            package = distribution(requirement.name)
            yield package
            yield from _requirements(package, frozenset({"", *requirement.extras}), seen)
