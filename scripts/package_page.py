"""Makes README.md fit for the package's page on PyPI, which shows it away from the repository.

    python scripts/package_page.py https://forge.example/owner/pyspark-pulsar v0.1.0

Links to files of the repository become links to those files as they are at the tag, and the page gets links to the
repository (`[project.urls]` of pyproject.toml). Both files are changed where they lie: the release workflow does it
before it builds, as only there the repository's address is known. A second run changes nothing.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")
"""A link or picture of Markdown whose target is a file of the repository."""
_FROM_A_CLONE: Final = re.compile(r"<!-- clone -->.*?<!-- /clone -->\n", re.DOTALL)


def page(readme: str, repository: str, tag: str) -> str:
    """Return the README with absolute links, and with the installation from PyPI.

    Args:
        readme: The text of README.md.
        tag: The tag of the release, such as `v0.1.0`.
        repository: The URL of the repository, without a slash at its end.

    """
    released = _FROM_A_CLONE.sub("", readme).replace("\npip install .\n", "\npip install pyspark-pulsar\n")
    return _LINK.sub(
        lambda link: f"{link[1]}[{link[2]}]({repository}/{'raw' if link[1] else 'blob'}/{tag}/{link[3]})", released
    )


def with_urls(pyproject: str, repository: str, tag: str) -> str:
    """Unchanged where there are some."""
    if "[project.urls]" in pyproject:
        return pyproject
    table = (
        f"[project.urls]\n"
        f'Source = "{repository}"\n'
        f'Documentation = "{repository}/blob/{tag}/docs/index.md"\n'
        f'Changelog = "{repository}/blob/{tag}/CHANGELOG.md"\n'
    )
    return f"{pyproject.rstrip()}\n\n{table}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", help="URL of its page on the forge")
    parser.add_argument("tag")
    given = parser.parse_args()
    repository = given.repository.rstrip("/")
    for name, changed in (("README.md", page), ("pyproject.toml", with_urls)):
        path = ROOT / name
        path.write_text(changed(path.read_text(), repository, given.tag))


if __name__ == "__main__":
    main()
