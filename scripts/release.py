"""Set the version of the package, and date its changes: `python scripts/release.py VERSION`.

docs/releasing.md has all steps of a release. `--check TAG` checks that the steps were done for a tag, and prints the
changes.

Only kernel/Cargo.toml defines the version. kernel/Cargo.lock repeats it. The heading of the newest changes becomes that
version and today's date (UTC).
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
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")  # valid for both Cargo and pip
_DATED = re.compile(r"^## \[(\d\S*)\] - \d{4}-\d{2}-\d{2}$", re.MULTILINE)


def release_files(files: dict[str, str], version: str, today: dt.date) -> dict[str, str]:
    """Return the text of each changed file, by its path in the repository. Raises ValueError with the reason."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"expected a version of three numbers, such as 0.1.0, got {version!r}; correct it")
    wanted = Version(version)
    changes = files["CHANGELOG.md"]
    if _UNRELEASED not in changes:
        raise ValueError(
            "CHANGELOG.md: expected a heading [Unreleased] with the new changes, got none; add it, or release nothing"
        )
    previous = [Version(found) for found in _DATED.findall(changes)]
    if previous and wanted <= max(previous):
        raise ValueError(
            f"expected a version after {max(previous)}, which CHANGELOG.md has, got {version}; choose a "
            f"later version"
        )
    cargo = r'(?m)^(name = "pyspark-pulsar-kernel"\nversion = )"[^"]+"'
    return {
        "kernel/Cargo.toml": re.sub(cargo, rf'\1"{version}"', files["kernel/Cargo.toml"], count=1),
        "kernel/Cargo.lock": re.sub(cargo, rf'\1"{version}"', files["kernel/Cargo.lock"], count=1),
        "CHANGELOG.md": changes.replace(_UNRELEASED, f"## [{version}] - {today:%Y-%m-%d}\n", 1),
    }


def notes(files: dict[str, str], tag: str) -> str:
    """Return the changes of the tagged version, without their heading.

    Raises ValueError if the tag, kernel/Cargo.toml and the newest changes do not have the same version.
    """
    version = tomllib.loads(files["kernel/Cargo.toml"])["package"]["version"]
    if tag != f"v{version}":
        raise ValueError(
            f"expected the tag v{version}, because kernel/Cargo.toml has that version, got {tag!r}; tag again"
        )
    heading, _, rest = files["CHANGELOG.md"].partition("\n## ")[2].partition("\n")
    if not heading.startswith(f"[{version}] - "):
        raise ValueError(
            f"CHANGELOG.md: expected the newest changes to be [{version}] with a date, got {heading}; run "
            f"scripts/release.py {version}"
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
                for name, text in release_files(files, version, dt.datetime.now(dt.UTC).date()).items():
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
