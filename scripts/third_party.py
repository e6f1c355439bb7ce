"""Writes what a wheel must say of others' work: THIRD-PARTY.txt and requirements/python.cdx.json.

THIRD-PARTY.txt has the licences of every crate that is linked into the kernel, on any platform that has wheels.
requirements/python.cdx.json is a CycloneDX document of the Python packages that the package asks for. What the kernel is
made of stands in a second document, which maturin writes into the wheel.

Run it as `python scripts/third_party.py` after a change of dependencies. It needs cargo, and the crates' sources, which
`make build` fetches. Raises `LicenceMissing` for a crate without a licence that is accepted here, or without its text.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
NOTICES = ROOT / "THIRD-PARTY.txt"
PYTHON_SBOM = ROOT / "requirements" / "python.cdx.json"

PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin")
ACCEPTED = frozenset(
    {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "MIT", "Unlicense", "Zlib"}
)
"""Licences that may be linked into what is given away under Apache-2.0, if their texts go along."""

_KERNEL = "pyspark-pulsar-kernel"
_TEXT = re.compile(r"(?i)(licen[cs]e|copying|notice|unlicense|copyright)([-.].*)?")
# Sources in C that crates bring along have licences of their own.
_BROUGHT_ALONG = {"zstd-sys": ("zstd/LICENSE",)}
_HEAD = """\
Third-party licences
====================

The compiled kernel (pyspark_pulsar/_kernel.abi3.so) contains the works below. Where a licence says "OR", the work is used
under Apache-2.0 if that is one of them. The texts follow, each once.

Written by scripts/third_party.py; a test fails when it is stale.
"""
_STANDARD_LIBRARY = "Rust's standard library and the crates inside it, The Rust Project Developers: MIT OR Apache-2.0"
_RULE = "-" * 100


class LicenceMissing(Exception):
    """A crate that nobody may give away like this, or whose text is missing."""


@dataclass(frozen=True, order=True)
class Crate:
    """A crate that is linked in, and the texts that came with it by file name."""

    name: str
    version: str
    licence: str
    texts: tuple[tuple[str, str], ...]


def linked_crates() -> list[Crate]:
    """All that the extension module links, the kernel itself aside; build scripts and procedural macros are not linked."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--features", "python"]
    command += ["--manifest-path", str(ROOT / "kernel" / "Cargo.toml")]
    command += [word for platform in PLATFORMS for word in ("--filter-platform", platform)]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    metadata = json.loads(shown.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    (kernel,) = (key for key, package in packages.items() if package["name"] == _KERNEL)
    linked, waiting = set(), [kernel]
    while waiting:
        key = waiting.pop()
        is_macro = any("proc-macro" in target["kind"] for target in packages[key]["targets"])
        if key not in linked and not is_macro:
            linked.add(key)
            waiting += [
                needed["pkg"]
                for needed in nodes[key]["deps"]
                if any(kind["kind"] is None for kind in needed["dep_kinds"])
            ]
    return sorted(_crate(packages[key]) for key in linked - {kernel})


def _crate(package: dict[str, Any]) -> Crate:
    name, licence = package["name"], (package["license"] or "").replace("/", " OR ")
    refuse_licence(name, licence)
    folder = Path(package["manifest_path"]).parent
    files = [file for file in folder.iterdir() if file.is_file() and _TEXT.fullmatch(file.name)]
    files += [folder / file for file in _BROUGHT_ALONG.get(name, ())]
    if not files:
        raise LicenceMissing(
            f"{name} has no text of its licence: expected a file LICENSE or COPYING in {folder}, got none; ask its "
            f"authors for it, or do without the crate"
        )
    texts = ((str(file.relative_to(folder)), file.read_text(encoding="utf-8")) for file in files)
    return Crate(name, package["version"], licence, tuple(sorted(texts)))


def refuse_licence(name: str, licence: str) -> None:
    """Raises `LicenceMissing` unless each part between "AND" offers an accepted licence between "OR"."""
    parts = licence.replace("(", "").replace(")", "").split(" AND ")
    if not all(ACCEPTED & set(part.split(" OR ")) for part in parts):
        raise LicenceMissing(
            f"{name} has the licence {licence or 'none'}: expected one of {', '.join(sorted(ACCEPTED))}; do without the "
            f"crate, or decide that this licence may go into wheels (ACCEPTED in scripts/third_party.py)"
        )


def notices() -> str:
    """The text of THIRD-PARTY.txt."""
    crates = linked_crates()
    holders: dict[str, list[str]] = defaultdict(list)
    for crate in crates:
        for file, text in crate.texts:
            holders[_tidied(text)].append(f"{crate.name} {crate.version} ({file})")
    lines = [_HEAD, *(f"{crate.name} {crate.version}: {crate.licence}" for crate in crates), _STANDARD_LIBRARY, ""]
    for text, names in sorted(holders.items(), key=lambda item: item[1]):
        lines += [_RULE, *names, _RULE, "", text, ""]
    return "\n".join(lines)


def _tidied(text: str) -> str:
    """The same text has ends of lines, tabs and spaces of several kinds."""
    lines = [line.expandtabs().rstrip() for line in text.replace("\r", "").split("\n")]
    return "\n".join(lines).strip("\n")


def python_sbom() -> str:
    """What `pip` brings along with the package, as a CycloneDX document. It names ranges: which versions are there is
    known in an environment alone, so the components are external (CycloneDX 1.7)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    required = [_component(text, "required") for text in project["dependencies"]]
    optional = [_component(text, "optional") for extra in sorted(extras) for text in extras[extra]]
    own = {"type": "library", "bom-ref": project["name"], "name": project["name"]}
    components = required + optional
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "version": 1,
        "metadata": {"component": own | {"purl": f"pkg:pypi/{project['name']}"}},
        "components": components,
        "dependencies": [{"ref": project["name"], "dependsOn": [each["bom-ref"] for each in components]}],
    }
    return json.dumps(document, indent=2) + "\n"


def _component(text: str, scope: str) -> dict[str, Any]:
    requirement = Requirement(text)
    bounds = sorted(requirement.specifier, key=lambda bound: (bound.operator != ">=", str(bound)))
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{requirement.name}",
        "name": requirement.name,
        "scope": scope,
        "purl": f"pkg:pypi/{requirement.name}",
        "isExternal": True,
        "versionRange": "vers:pypi/" + "|".join(f"{bound.operator}{bound.version}" for bound in bounds),
    }


def written() -> dict[Path, str]:
    """The files: path to text."""
    return {NOTICES: notices(), PYTHON_SBOM: python_sbom()}


def main() -> int:
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
