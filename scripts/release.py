"""Sets the version of the package, and dates its changes: `python scripts/release.py VERSION`. docs/releasing.md has all steps.

The version stands in kernel/Cargo.toml alone. kernel/Cargo.lock repeats it, and the heading of the newest changes becomes
that version and today's date (UTC).
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
_UNRELEASED = "## [Unreleased]\n"
_DATED = re.compile(r"^## \[(\d\S*)\] - \d{4}-\d{2}-\d{2}$", re.MULTILINE)


def released(files: dict[str, str], version: str, today: dt.date) -> dict[str, str]:
    """What the files become: path below the repository to text. Raises ValueError, and says what is wrong."""
    try:
        wanted = Version(version)
    except InvalidVersion:
        raise ValueError(f"expected a version such as 0.1.0, got {version!r}") from None
    if str(wanted) != version or len(wanted.release) != 3 or not re.fullmatch(r"[\d.]+", version):
        raise ValueError(f"expected a version of three numbers, as Cargo and pip both take it, got {version!r}")
    changes = files["CHANGELOG.md"]
    if _UNRELEASED not in changes:
        raise ValueError("CHANGELOG.md: expected a heading [Unreleased] with what is new, got none; nothing is to be released")
    former = [Version(found) for found in _DATED.findall(changes)]
    if former and wanted <= max(former):
        raise ValueError(f"expected a version after {max(former)}, which CHANGELOG.md has, got {version}")
    cargo = r'(?m)^(name = "pyspark-pulsar-kernel"\nversion = )"[^"]+"'
    return {
        "kernel/Cargo.toml": re.sub(cargo, rf'\1"{version}"', files["kernel/Cargo.toml"], count=1),
        "kernel/Cargo.lock": re.sub(cargo, rf'\1"{version}"', files["kernel/Cargo.lock"], count=1),
        "CHANGELOG.md": changes.replace(_UNRELEASED, f"## [{version}] - {today:%Y-%m-%d}\n", 1),
    }


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    names = ("kernel/Cargo.toml", "kernel/Cargo.lock", "CHANGELOG.md")
    files = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    try:
        changed = released(files, sys.argv[1], dt.datetime.now(dt.UTC).date())
    except ValueError as wrong:
        print(wrong, file=sys.stderr)
        return 1
    for name, text in changed.items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
