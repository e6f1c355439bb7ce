"""Report what is wrong with wheels before they are published: `python scripts/check_wheel.py WHEEL...`.

The exit code is 1 if any wheel has a fault.

The checks examine tags, required files, forbidden files, paths of the build machine, and debugging symbols. A wheel
must contain every file of the package's source, the kernel, the jar and the licenses. The program auditwheel reports
the C library that a wheel for Linux needs. The program abi3audit reports whether the kernel uses only Python's stable
interface.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PACKAGE = "pyspark_pulsar"
_NAME = re.compile(rf"{_PACKAGE}-(?P<version>[^-]+)-cp311-abi3-(?P<platform>.+)\.whl")
_BUILT = (f"{_PACKAGE}/_kernel.abi3.so", f"{_PACKAGE}/jars/pyspark-pulsar-catalog.jar")
_LICENSES = ("licenses/LICENSE", "licenses/NOTICE", "licenses/THIRD-PARTY.txt")
_BILL = "sboms/sbom.cdx.json"
_FOREIGN = re.compile(r"(^|/)(tests?|__pycache__|kernel|jvm|bench)/|\.(pyc|rs|java)$")
# The sections that `strip` removes.
_DEBUGGING = (b".symtab\x00", b".debug_info\x00")
_OLDEST_GLIBC = (2, 17)


def main() -> int:
    found = {name: [*faults(Path(name)), *refused_by_auditors(Path(name))] for name in sys.argv[1:]}
    if not found:
        print(__doc__)
        return 2
    for name, wrong in found.items():
        print("\n".join([f"{name}: {'; '.join(wrong) or 'good'}"]))
    return int(any(found.values()))


def faults(wheel: Path) -> list[str]:
    """Return the faults in the name and the content of a wheel; empty if the wheel has no fault."""
    name = _NAME.fullmatch(wheel.name)
    if name is None:
        return [f"expected a name pyspark_pulsar-VERSION-cp311-abi3-PLATFORM.whl, got {wheel.name}"]
    with zipfile.ZipFile(wheel) as archive:
        content = {entry: archive.read(entry) for entry in archive.namelist() if not entry.endswith("/")}
    described = f"{_PACKAGE}-{name['version']}.dist-info"
    return [
        *_wrong_version(name["version"]),
        *_wrong_files(content, described),
        *_wrong_bills(content, described),
        *_paths_of_this_machine(content),
        *_symbols(content),
    ]


def _wrong_version(version: str) -> Iterator[str]:
    source = tomllib.loads((ROOT / "kernel" / "Cargo.toml").read_text())["package"]["version"]
    if version != source:
        yield f"expected version {source} of kernel/Cargo.toml, got {version}"


def _wrong_files(content: Iterable[str], described: str) -> Iterator[str]:
    expected = {*_BUILT, *source_files(), *(f"{described}/{name}" for name in (*_LICENSES, _BILL))}
    yield from (f"expected {name} inside, got none" for name in sorted(expected - set(content)))
    for name in sorted(content):
        kernel = name.endswith((".so", ".dylib", ".pyd")) and name not in expected
        if kernel or _FOREIGN.search(name) or not name.startswith((f"{_PACKAGE}/", f"{described}/")):
            yield f"expected no {name} inside"


def source_files() -> set[str]:
    """Return the paths in a wheel of the package's files in this clone. Files that a build created are omitted."""
    source = ROOT / "src"
    return {
        str(file.relative_to(source))
        for file in (source / _PACKAGE).rglob("*")
        if file.is_file() and file.suffix not in (".pyc", ".so", ".jar")
    }


def _wrong_bills(content: dict[str, bytes], described: str) -> Iterator[str]:
    """Yield crates that have a license in the wheel, but are missing in the bill of materials."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    bill, licenses = (content.get(f"{described}/{name}") for name in (_BILL, _LICENSES[-1]))
    if bill is None or licenses is None:
        return
    wrong = JsonStrictValidator(SchemaVersion.V1_7).validate_str(bill.decode())
    if wrong is not None:
        yield f"{_BILL}: expected CycloneDX 1.7, got {wrong}"
    listed = {(each["name"], each.get("version")) for each in json.loads(bill)["components"]}
    heads = licenses.decode().split("-" * 100, 1)[0]
    linked = set(re.findall(r"^(\S+) (\d\S*): ", heads, re.MULTILINE))
    if not linked:
        yield "expected crates in THIRD-PARTY.txt, got none"
    yield from (
        f"expected {name} {version} in the bill of materials" for name, version in sorted(linked - listed)
    )


def _paths_of_this_machine(content: dict[str, bytes]) -> Iterator[str]:
    places = {str(ROOT), str(Path.home())}
    places |= {
        os.environ[name] for name in ("CARGO_HOME", "CARGO_TARGET_DIR", "TMPDIR") if os.environ.get(name)
    }
    for name, data in content.items():
        for place in sorted(places):
            at = data.find(f"{place}/".encode())
            if at >= 0:
                shown = data[at : at + 80].split(b"\x00")[0].decode(errors="replace")
                yield f"expected no path of this machine, got {shown} in {name}"


def _symbols(content: dict[str, bytes]) -> Iterator[str]:
    kernel = content.get(f"{_PACKAGE}/_kernel.abi3.so", b"")
    if kernel.startswith(b"\x7fELF"):
        yield from (
            f"expected a stripped kernel, got one with {section[:-1].decode()}"
            for section in _DEBUGGING
            if section in kernel
        )


def refused_by_auditors(wheel: Path) -> list[str]:
    """Return the faults that abi3audit reports, and for Linux also the faults that auditwheel reports."""
    wrong = []
    audit = _run("abi3audit", "--strict", "--report", str(wheel))
    if audit.returncode:
        wrong.append(f"abi3audit: {audit.stdout}{audit.stderr}")
    if "linux" in wheel.name:
        shown = _run("auditwheel", "show", str(wheel))
        policy = re.search(r"manylinux_(\d+)_(\d+)_", shown.stdout.partition("consistent with")[2])
        if policy is None or (int(policy[1]), int(policy[2])) > _OLDEST_GLIBC:
            wrong.append(f"auditwheel: expected manylinux_2_17 or older, got {shown.stdout}{shown.stderr}")
    return wrong


def _run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
