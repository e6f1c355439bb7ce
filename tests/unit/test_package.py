from __future__ import annotations

import pytest

import pyspark_pulsar


@pytest.mark.parametrize("name", pyspark_pulsar.__all__)
def test_what_the_package_offers_is_there(name: str) -> None:
    assert getattr(pyspark_pulsar, name) is not None


def test_a_name_that_it_does_not_offer() -> None:
    with pytest.raises(AttributeError, match="no attribute 'reader'"):
        pyspark_pulsar.reader  # noqa: B018 -- the access is what fails
