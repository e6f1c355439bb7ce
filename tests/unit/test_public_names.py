"""The public names of the package: each is found in the named module, and imported at its first use."""

from __future__ import annotations

import pydoc
import subprocess
import sys

import pytest

import pyspark_pulsar


@pytest.mark.parametrize("name", pyspark_pulsar.__all__)
def test_a_public_name_is_found(name: str) -> None:
    assert getattr(pyspark_pulsar, name).__name__.strip("_")


def test_completion_and_help_show_the_public_names() -> None:
    assert set(pyspark_pulsar.__all__) <= set(dir(pyspark_pulsar))
    page = pydoc.render_doc(pyspark_pulsar, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    assert [name for name in pyspark_pulsar.__all__ if name not in page] == []


def test_listing_the_names_imports_nothing() -> None:
    """Spark looks into each installed package of such a name, in several processes of every query."""
    program = (
        "import sys, pyspark_pulsar; dir(pyspark_pulsar); print(*({'pyarrow', 'pyspark'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
