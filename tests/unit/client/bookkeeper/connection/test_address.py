"""Tests of bookies' addresses."""

import pytest

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress, bookie_address
from pyspark_pulsar.errors import OptionError


def test_an_id_is_an_address_unless_it_is_mapped() -> None:
    assert bookie_address("10.0.0.1:3181", {}) == BookieAddress("10.0.0.1", 3181)
    assert bookie_address("[::1]:3181", {}) == BookieAddress("::1", 3181)
    mapping = {"bookie-a": "h:1", "10.0.0.1:3181": "localhost:2"}
    assert bookie_address("bookie-a", mapping) == BookieAddress("h", 1)
    assert bookie_address("10.0.0.1:3181", mapping) == BookieAddress("localhost", 2)


@pytest.mark.parametrize("bookie", ["bookie-a", "", ":3181", "a:b", "a:0", "a:70000", "a:٣"])
def test_an_id_that_is_no_address_names_the_option(bookie: str) -> None:
    with pytest.raises(OptionError, match=r"set the option bookieAddresses"):
        bookie_address(bookie, {"other": "h:1"})


def test_a_mapping_to_no_address() -> None:
    with pytest.raises(
        OptionError, match=r"option 'bookieAddresses': expected host:port for bookie 'a', got 'h'"
    ):
        bookie_address("a", {"a": "h"})
