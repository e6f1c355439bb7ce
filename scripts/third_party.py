"""Write the files about third-party software that a wheel must contain: licenses and bill of materials.

THIRD-PARTY.txt has the licenses of every crate that is linked into the kernel, on any platform that has wheels. The
file requirements/sbom.cdx.json is the bill of materials, a CycloneDX document. The bill lists those crates, and the
Python packages that pip installs with this package. A bill by maturin would also contain paths of the machine, a time,
and crates that run only during the build.

Run the script as `python scripts/third_party.py` after a change of dependencies. It needs cargo, and the crates'
sources, which `make build` downloads. It raises `LicenseMissing` for a crate without an accepted license, or without
its text.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
NOTICES = ROOT / "THIRD-PARTY.txt"
BILL = ROOT / "requirements" / "sbom.cdx.json"

PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin")
ACCEPTED = frozenset({"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "MIT", "Unlicense", "Zlib"})
"""Licenses of works that may be linked into a work under Apache-2.0, if their texts are included."""

_KERNEL = "pyspark-pulsar-kernel"
_TEXT = re.compile(r"(?i)(licen[cs]e|copying|notice|unlicense|copyright)([-.].*)?")
# Sources in C that crates contain have their own licenses.
_BROUGHT_ALONG = {"zstd-sys": ("zstd/LICENSE",)}
_HEAD = """\
Third-party licenses
====================

The compiled kernel (pyspark_pulsar/_kernel.abi3.so) contains the works below. Where a license says "OR", the work is
used under Apache-2.0 if that is one of them. The texts follow, each once.

Written by scripts/third_party.py; a test fails when it is stale.
"""
_STANDARD_LIBRARY = (
    "Rust's standard library and the crates inside it, The Rust Project Developers: MIT OR Apache-2.0"
)
_RULE = "-" * 100


class LicenseMissing(Exception):
    """An error for a crate whose license is not accepted, or whose text is missing."""


@dataclass(frozen=True, order=True)
class Crate:
    """A linked crate.

    `texts` are its license texts with their file names. `needs` are the package URLs of its dependencies.
    """

    name: str
    version: str
    spdx: str
    texts: tuple[tuple[str, str], ...]
    needs: tuple[str, ...] = ()

    @property
    def purl(self) -> str:
        return f"pkg:cargo/{self.name}@{self.version}"


def linked_crates() -> list[Crate]:
    """Return all crates that the extension module links, except the kernel. Build scripts and macros are not linked."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--features", "python"]
    command += ["--manifest-path", str(ROOT / "kernel" / "Cargo.toml")]
    command += [word for platform in PLATFORMS for word in ("--filter-platform", platform)]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    metadata = json.loads(shown.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    (kernel,) = (key for key, package in packages.items() if package["name"] == _KERNEL)
    linked: dict[str, list[str]] = {}
    waiting = [kernel]
    while waiting:
        key = waiting.pop()
        if key not in linked:
            needed = [
                each["pkg"]
                for each in nodes[key]["deps"]
                if any(kind["kind"] is None for kind in each["dep_kinds"])
            ]
            linked[key] = [each for each in needed if not _is_macro(packages[each])]
            waiting += linked[key]
    purls = {key: f"pkg:cargo/{packages[key]['name']}@{packages[key]['version']}" for key in linked}
    del purls[kernel]
    return sorted(
        replace(_crate(packages[key]), needs=tuple(sorted(purls[each] for each in linked[key])))
        for key in purls
    )


def _is_macro(package: dict[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def _crate(package: dict[str, Any]) -> Crate:
    """Return a crate without its dependencies. Raises `LicenseMissing`."""
    name, spdx = package["name"], (package["license"] or "").replace("/", " OR ")
    refuse_license(name, spdx)
    folder = Path(package["manifest_path"]).parent
    files = [file for file in folder.iterdir() if file.is_file() and _TEXT.fullmatch(file.name)]
    files += [folder / file for file in _BROUGHT_ALONG.get(name, ())]
    if not files:
        raise LicenseMissing(
            f"{name} has no text of its license: expected a file LICENSE or COPYING in {folder}, got none; request "
            f"the text from its authors, or remove the crate"
        )
    texts = ((str(file.relative_to(folder)), file.read_text(encoding="utf-8")) for file in files)
    return Crate(name, package["version"], spdx, tuple(sorted(texts)))


def refuse_license(name: str, spdx: str) -> None:
    """Raise `LicenseMissing`, unless each part between "AND" offers an accepted license between "OR"."""
    parts = spdx.replace("(", "").replace(")", "").split(" AND ")
    if not all(ACCEPTED & set(part.split(" OR ")) for part in parts):
        raise LicenseMissing(
            f"{name} has the license {spdx or 'none'}: expected one of {', '.join(sorted(ACCEPTED))}; remove the "
            f"crate, or decide that this license may be in wheels (ACCEPTED in scripts/third_party.py)"
        )


def notices(crates: list[Crate]) -> str:
    """Return the text of THIRD-PARTY.txt."""
    holders: dict[str, list[str]] = defaultdict(list)
    for crate in crates:
        for file, text in crate.texts:
            holders[_normalize(text)].append(f"{crate.name} {crate.version} ({file})")
    lines = [
        _HEAD,
        *(f"{crate.name} {crate.version}: {crate.spdx}" for crate in crates),
        _STANDARD_LIBRARY,
        "",
    ]
    for text, names in sorted(holders.items(), key=lambda item: item[1]):
        lines += [_RULE, *names, _RULE, "", text, ""]
    return "\n".join(lines)


def _normalize(text: str) -> str:
    """Normalize line ends, tabs and spaces, so that equal license texts are equal."""
    lines = [line.expandtabs().rstrip() for line in text.replace("\r", "").split("\n")]
    return "\n".join(lines).strip("\n")


def bill(crates: list[Crate]) -> str:
    """Return the bill of materials: linked crates, and packages that `pip` installs with this package.

    For packages, only ranges of versions are known. Such components are external (CycloneDX 1.7).
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    packages = [_package(text, "required") for text in project["dependencies"]]
    packages += [_package(text, "optional") for extra in sorted(extras) for text in extras[extra]]
    locked = tomllib.loads((ROOT / "kernel" / "Cargo.lock").read_text())["package"]
    sums = {(each["name"], each["version"]): each.get("checksum", "") for each in locked}
    linked = [_linked(crate, sums[crate.name, crate.version]) for crate in crates]
    own = {"type": "library", "bom-ref": project["name"], "name": project["name"]}
    needs = {project["name"]: [each["bom-ref"] for each in (*packages, *linked)]}
    needs |= {crate.purl: list(crate.needs) for crate in crates}
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "version": 1,
        "metadata": {"component": own | {"purl": f"pkg:pypi/{project['name']}"}},
        "components": packages + linked,
        "dependencies": [{"ref": ref, "dependsOn": refs} for ref, refs in needs.items()],
    }
    return json.dumps(document, indent=1) + "\n"


def _linked(crate: Crate, checksum: str) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": crate.purl,
        "name": crate.name,
        "version": crate.version,
        "scope": "required",
        "hashes": [{"alg": "SHA-256", "content": checksum}],
        "licenses": [{"expression": crate.spdx}],
        "purl": crate.purl,
    }
    brought = re.fullmatch(r".+\+zstd\.(.+)", crate.version)
    if brought is not None:
        purl = f"pkg:generic/zstd@{brought[1]}"
        component["components"] = [
            {"type": "library", "bom-ref": purl, "name": "zstd", "version": brought[1], "purl": purl}
        ]
    return component


def _package(text: str, scope: str) -> dict[str, Any]:
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


def files() -> dict[Path, str]:
    """Return the text of each file, by the path of the file."""
    crates = linked_crates()
    return {NOTICES: notices(crates), BILL: bill(crates)}


def main() -> int:
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
