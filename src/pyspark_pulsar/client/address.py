"""Broker addresses: `pulsar://host:port`, and the several hosts of a service URL."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError, ProtocolError

_SCHEME = "pulsar://"
_DEFAULT_PORT = 6650
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Where to connect. `proxy_to` is the `host:port` of the broker that a proxy shall forward to."""

    host: str
    port: int
    proxy_to: str | None = None

    def __str__(self) -> str:
        direct = f"{self.host}:{self.port}"
        return f"{direct} (proxy to {self.proxy_to})" if self.proxy_to else direct


def parse_service_url(url: str) -> tuple[BrokerAddress, ...]:
    """All hosts of a service URL. Raises `OptionError`."""
    if not url.startswith(_SCHEME):
        raise OptionError(f"option 'service.url': expected {_SCHEME}host:port, got {url!r}")
    return tuple(_host_and_port(part, url) for part in url.removeprefix(_SCHEME).split(","))


def parse_broker_url(url: str, where: str) -> BrokerAddress:
    """The address in a lookup answer. Raises `ProtocolError`."""
    try:
        return parse_service_url(url)[0]
    except OptionError:
        raise ProtocolError(f"{where}: expected an address {_SCHEME}host:port, got {url!r}") from None


def _host_and_port(text: str, url: str) -> BrokerAddress:
    host, separator, port = text.strip().rpartition(":")
    if not separator or "]" in port:
        host, port = text.strip(), str(_DEFAULT_PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or not 0 < int(port) <= _MAX_PORT:
        raise OptionError(f"option 'service.url': expected {_SCHEME}host:port, got {url!r}")
    return BrokerAddress(host, int(port))
