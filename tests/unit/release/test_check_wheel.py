"""The contents that a wheel needs: everything that the package reads while it runs, and the licenses."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.scripts import script

from pyspark_pulsar.tools.monitoring import shipped_files
from pyspark_pulsar.tools.sizing import costs
from pyspark_pulsar.tools.standalone import distribution

CHECK = script("check_wheel")
DESCRIBED = "pyspark_pulsar-1.0.0.dist-info"
BUILT = ("_kernel.abi3.so", "jars/pyspark-pulsar-catalog.jar")
LICENCES = ("licenses/LICENSE", "licenses/NOTICE", "licenses/THIRD-PARTY.txt", "sboms/sbom.cdx.json")
PACKAGE = Path(costs.__file__).parents[2]


def in_wheel(path: Path) -> str:
    return str(path.relative_to(PACKAGE.parent))


def read_while_it_runs() -> list[str]:
    shipped = Path(shipped_files.__file__).parent / "shipped"
    pinned = Path(distribution.__file__).parent / "pinned"
    files = [*shipped.iterdir(), *pinned.iterdir(), PACKAGE / "tools" / "sizing" / "default_costs.json"]
    return [in_wheel(file) for file in files if file.is_file()]


def whole() -> set[str]:
    made = {f"pyspark_pulsar/{name}" for name in BUILT} | {f"{DESCRIBED}/{name}" for name in LICENCES}
    return made | CHECK.source_files() | {f"{DESCRIBED}/METADATA"}


def wrong(content: set[str]) -> list[str]:
    return list(CHECK._wrong_files(content, DESCRIBED))


def test_the_source_distribution_is_complete_and_builds() -> None:
    assert wrong(whole()) == []
    assert len(read_while_it_runs()) >= 6
    assert "pyspark_pulsar/datasource.py" in whole()


@pytest.mark.parametrize(
    "name",
    [
        *read_while_it_runs(),
        *(f"pyspark_pulsar/{name}" for name in (*BUILT, "py.typed", "_kernel.pyi")),
        *(f"{DESCRIBED}/{name}" for name in LICENCES),
    ],
)
def test_missing_files_are_named(name: str) -> None:
    assert wrong(whole() - {name}) == [f"expected {name} inside, got none"]


@pytest.mark.parametrize("name", ["tests/test_a.py", "pyspark_pulsar/tests/a.py", "pyspark_pulsar/a.pyc"])
def test_unexpected_files_are_named(name: str) -> None:
    assert wrong(whole() | {name}) == [f"expected no {name} inside"]
