"""Sets the version of the package, and dates its changes: `python scripts/release.py VERSION`.

docs/releasing.md has all steps. `--check TAG` sees that all this was done for a tag, and prints the changes.

The version stands in kernel/Cargo.toml alone. kernel/Cargo.lock repeats it, and the heading of the newest changes
becomes that version and today's date (UTC).
"""

from __future__ import annotations

import datetime as dt
import re
import sys
import tomllib
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
_UNRELEASED = "## [Unreleased]\n"
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")  # as Cargo and pip both take it
_DATED = re.compile(r"^## \[(\d\S*)\] - \d{4}-\d{2}-\d{2}$", re.MULTILINE)


def released(files: dict[str, str], version: str, today: dt.date) -> dict[str, str]:
    """What the files become: path below the repository to text. Raises ValueError, and says what is wrong."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"expected a version of three numbers, as 0.1.0, got {version!r}")
    wanted = Version(version)
    changes = files["CHANGELOG.md"]
    if _UNRELEASED not in changes:
        raise ValueError(
            "CHANGELOG.md: expected a heading [Unreleased] with what is new, got none; nothing is to be released"
        )
    former = [Version(found) for found in _DATED.findall(changes)]
    if former and wanted <= max(former):
        raise ValueError(f"expected a version after {max(former)}, which CHANGELOG.md has, got {version}")
    cargo = r'(?m)^(name = "pyspark-pulsar-kernel"\nversion = )"[^"]+"'
    return {
        "kernel/Cargo.toml": re.sub(cargo, rf'\1"{version}"', files["kernel/Cargo.toml"], count=1),
        "kernel/Cargo.lock": re.sub(cargo, rf'\1"{version}"', files["kernel/Cargo.lock"], count=1),
        "CHANGELOG.md": changes.replace(_UNRELEASED, f"## [{version}] - {today:%Y-%m-%d}\n", 1),
    }


def notes(files: dict[str, str], tag: str) -> str:
    """The changes of the version that is tagged, without their heading. Raises ValueError where the tag,
    kernel/Cargo.toml and the newest changes are not of one version."""
    version = tomllib.loads(files["kernel/Cargo.toml"])["package"]["version"]
    if tag != f"v{version}":
        raise ValueError(f"expected the tag v{version}, as kernel/Cargo.toml has that version, got {tag!r}")
    heading, _, rest = files["CHANGELOG.md"].partition("\n## ")[2].partition("\n")
    if not heading.startswith(f"[{version}] - "):
        raise ValueError(
            f"CHANGELOG.md: expected the newest changes to be [{version}] with a date, got {heading}"
        )
    return rest.partition("\n## ")[0].strip() + "\n"


def main() -> int:
    names = ("kernel/Cargo.toml", "kernel/Cargo.lock", "CHANGELOG.md")
    files = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    try:
        match sys.argv[1:]:
            case ["--check", tag]:
                print(notes(files, tag), end="")
            case [version]:
                for name, text in released(files, version, dt.datetime.now(dt.UTC).date()).items():
                    (ROOT / name).write_text(text, encoding="utf-8")
                    print(name)
            case _:
                print(__doc__)
                return 2
    except ValueError as wrong:
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
