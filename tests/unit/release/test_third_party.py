"""The list of third-party work in a wheel: everything that is linked into it and that pip installs with it."""

from __future__ import annotations

import json
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT
from fixtures.scripts import script
from packaging.requirements import Requirement

THIRD_PARTY = script("third_party")


def test_the_files_agree_with_the_dependencies() -> None:
    for path, text in THIRD_PARTY.files().items():
        assert path.read_text() == text, f"{path} is stale; run make third-party"


def test_every_crate_of_the_kernel_is_listed() -> None:
    """The crates that kernel/Cargo.toml names, found by another way than the script's."""
    cargo = tomllib.loads((ROOT / "kernel" / "Cargo.toml").read_text())
    named = set(cargo["dependencies"])
    assert named <= {crate.name for crate in THIRD_PARTY.linked_crates()}


def test_all_dependencies_are_in_the_bill_of_materials() -> None:
    bill = json.loads((ROOT / "requirements" / "sbom.cdx.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    listed = {
        each["name"]: each.get("versionRange", "") for each in bill["components"] if each.get("isExternal")
    }
    assert listed.keys() == {Requirement(text).name for text in asked}
    assert listed["pyspark"] == "vers:pypi/>=4.1|<4.4"


@pytest.mark.parametrize("spdx", ["MIT", "MIT OR GPL-3.0", "Apache-2.0 AND MIT", "(MIT OR GPL-3.0) AND Zlib"])
def test_an_allowed_license_is_accepted(spdx: str) -> None:
    THIRD_PARTY.refuse_license("crate", spdx)


@pytest.mark.parametrize("spdx", ["", "GPL-3.0", "MIT AND GPL-3.0"])
def test_a_license_that_may_not(spdx: str) -> None:
    with pytest.raises(THIRD_PARTY.LicenseMissing, match=f"crate has the license {spdx or 'none'}"):
        THIRD_PARTY.refuse_license("crate", spdx)


def test_a_crate_without_the_text_of_its_license(tmp_path: Path) -> None:
    package = {
        "name": "bare",
        "version": "1.0.0",
        "license": "MIT",
        "manifest_path": str(tmp_path / "Cargo.toml"),
    }
    with pytest.raises(THIRD_PARTY.LicenseMissing, match="bare has no text of its license"):
        THIRD_PARTY._crate(package)
    (tmp_path / "LICENSE").write_text("Permission is hereby granted")
    assert THIRD_PARTY._crate(package).texts == (("LICENSE", "Permission is hereby granted"),)
