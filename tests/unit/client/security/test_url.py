"""Broker addresses."""

import pytest

from pyspark_pulsar.client.security.url import BrokerAddress, parse_broker_url, parse_service_url
from pyspark_pulsar.errors import OptionError, ProtocolError


def test_several_hosts_and_default_port() -> None:
    assert parse_service_url("pulsar://a:1,b,[::1]:7") == (
        BrokerAddress("a", 1),
        BrokerAddress("b", 6650),
        BrokerAddress("::1", 7),
    )


@pytest.mark.parametrize(
    "url", ["http://a:1", "pulsar://", "pulsar://a:0", "pulsar://a:70000", "pulsar://a:b"]
)
def test_refused(url: str) -> None:
    with pytest.raises(OptionError, match=r"service\.url"):
        parse_service_url(url)
    with pytest.raises(ProtocolError, match="looking up t"):
        parse_broker_url(url, "looking up t")
