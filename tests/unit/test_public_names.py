"""The names that the package shows are found where it says they are: each is imported when it is first used."""

from __future__ import annotations

import pytest

import pyspark_pulsar


@pytest.mark.parametrize("name", pyspark_pulsar.__all__)
def test_a_public_name_is_found(name: str) -> None:
    assert getattr(pyspark_pulsar, name).__name__.strip("_")
