"""Check the English of files: `python scripts/english PATH...`. Without a path, all files in git are checked.

docs/style.md has the rules. Each line of the output names a file, a line, the rule, and what to write instead.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from passages import SUFFIXES, Passage, passages
from rules import Finding, Rules

# Other projects wrote the text of generated files and licenses.
_OTHERS = ("_pb2.py", "_pb2.pyi", "THIRD-PARTY.txt")


def main(arguments: list[str]) -> int:
    rules = Rules.load(Path(__file__).parent)
    findings = [finding for passage in _passages(arguments) for finding in rules.check(passage)]
    for finding in sorted(findings, key=_location):
        print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.advice}")
    if findings:
        print(
            f"{len(findings)} {'finding' if len(findings) == 1 else 'findings'}; docs/style.md explains the rules",
            file=sys.stderr,
        )
    return 1 if findings else 0


def _location(finding: Finding) -> tuple[str, int]:
    return finding.path, finding.line


def _passages(paths: list[str]) -> Iterator[Passage]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    for name in listed.stdout.splitlines():
        path = Path(name)
        if path.suffix in SUFFIXES and not name.endswith(_OTHERS) and path.exists():
            yield from passages(name, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
