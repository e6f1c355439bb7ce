"""The published files: wheels are checked for faults, and the source distribution suffices for a build."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT
from integration.package.conftest import TOOLS

Content = dict[str, bytes]
NOT_OPTIMISED = "profile.release.package.pyspark-pulsar-kernel.opt-level=0"


def without(name: str) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        (found,) = (each for each in content if each.endswith(name))
        del content[found]

    return change


def added(name: str, data: bytes = b"") -> Callable[[Content], None]:
    return lambda content: content.update({name: data})


def naming_this_machine(content: Content) -> None:
    content["pyspark_pulsar/errors.py"] += f"# {ROOT}/src".encode()


def with_another_crate(content: Content) -> None:
    (name,) = (each for each in content if each.endswith("THIRD-PARTY.txt"))
    content[name] = b"unknown 1.0.0: MIT\n" + content[name]


def not_stripped(content: Content) -> None:
    content["pyspark_pulsar/_kernel.abi3.so"] += b".symtab\0"


CASES: list[tuple[Callable[[Content], None], str]] = [
    (without(".jar"), "expected pyspark_pulsar/jars/pyspark-pulsar-catalog.jar inside, got none"),
    (without("licenses/NOTICE"), "licenses/NOTICE inside, got none"),
    (without("sbom.cdx.json"), "sboms/sbom.cdx.json inside, got none"),
    (without("py.typed"), "expected pyspark_pulsar/py.typed inside, got none"),
    (
        without("default_costs.json"),
        "expected pyspark_pulsar/tools/sizing/default_costs.json inside, got none",
    ),
    (added("tests/test_a.py"), "expected no tests/test_a.py inside"),
    (added("pyspark_pulsar/tests/test_a.py"), "expected no pyspark_pulsar/tests/test_a.py inside"),
    (
        added("pyspark_pulsar/_kernel.cpython-311.so"),
        "expected no pyspark_pulsar/_kernel.cpython-311.so inside",
    ),
    (naming_this_machine, "expected no path of this machine"),
    (with_another_crate, "expected unknown 1.0.0 in the bill of materials"),
    (not_stripped, "expected a stripped kernel"),
]


@pytest.fixture(scope="module")
def found(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the findings about the wheel for each of the changes. One process checks all of them."""
    with zipfile.ZipFile(wheel) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    changed = []
    for change, _ in CASES:
        copy = dict(content)
        change(copy)
        changed.append(tmp_path_factory.mktemp("changed") / wheel.name)
        with zipfile.ZipFile(changed[-1], "w") as archive:
            for name, data in copy.items():
                archive.writestr(name, data)
    code = "import sys, check_wheel, pathlib; [print(check_wheel.faults(pathlib.Path(name))) for name in sys.argv[1:]]"
    shown = subprocess.run(
        [TOOLS, "-c", code, *changed], env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return shown.stdout.splitlines()


@pytest.mark.parametrize("number", range(len(CASES)), ids=[says for _, says in CASES])
def test_a_wheel_that_is_not_right(number: int, found: list[str]) -> None:
    assert CASES[number][1] in found[number]


def test_a_wheel_can_be_built_from_the_source_distribution(tmp_path: Path) -> None:
    """The source distribution is complete. The kernel is compiled without optimization, since nothing is
    measured.
    """
    variables = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    made = subprocess.run(
        [TOOLS, "-m", "build", "--quiet", "--sdist", "--no-isolation", "--skip-dependency-check", "--outdir", tmp_path,
         ROOT],
        env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        assert not [name for name in packed.getnames() if "/tests/" in name and "/kernel/" not in name]
        packed.extractall(tmp_path, filter="data")
    (source,) = tmp_path.glob("pyspark_pulsar-*/")
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir",
         tmp_path / "built", "--config-settings", f"build-args=--config {NOT_OPTIMISED}", source],
        env=variables, capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (tmp_path / "built").glob("*.whl")
    with zipfile.ZipFile(io.BytesIO(wheel.read_bytes())) as content:
        names = content.namelist()
    for part in (
        "_kernel.abi3.so",
        "jars/pyspark-pulsar-catalog.jar",
        "licenses/THIRD-PARTY.txt",
        "sboms/sbom.cdx.json",
    ):
        assert [name for name in names if name.endswith(part)], part
