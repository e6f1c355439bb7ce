"""Benchmarks measure the kernel that users get, and record this in their results."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from fixtures.doc_pages import ROOT
from fixtures.scripts import script

from pyspark_pulsar import _kernel

BUILD = script("../bench/kernel_build")


def test_a_result_names_the_build_of_its_kernel(tmp_path: Path) -> None:
    own = Path(_kernel.__file__)
    assert BUILD.kernel_build(tmp_path) == "make build"
    shutil.copy(own, tmp_path)
    assert BUILD.kernel_build(tmp_path) == "make wheel"
    (tmp_path / own.name).write_bytes(own.read_bytes()[:-1] + b"?")
    assert BUILD.kernel_build(tmp_path) == "make build"


def test_benchmarks_begin_with_the_kernel_of_the_wheel() -> None:
    text = (ROOT / "Makefile").read_text()
    rules = dict(re.findall(r"^(bench[a-z-]*): (.*?) ##", text, re.MULTILINE))
    assert set(rules) == {"bench", "bench-peers"}
    assert all("$(WHEEL_KERNEL)" in needed.split() for needed in rules.values())
